"""Environment inference for invariant learning."""

from kerhrm.config.methods import EIIL
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.eiil import train_eiil
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    tried, files = snakemake.params.options, snakemake.input
    options = [EIIL(**o) for o in tried]
    hidden, device = snakemake.params.hidden, snakemake.params.device
    outputs = train_candidates(train_eiil, options, files, hidden, device)
    outputs.save(snakemake.output[0], options=tried)
