"""The perfect invariant model of Colored MNIST."""

from kerhrm.config.methods import ERM
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.references import train_grayscale
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    tried, files = snakemake.params.options, snakemake.input
    options = [ERM(**o) for o in tried]
    hidden, device = snakemake.params.hidden, snakemake.params.device
    outputs = train_candidates(train_grayscale, options, files, hidden, device)
    outputs.save(snakemake.output[0], options=tried)
