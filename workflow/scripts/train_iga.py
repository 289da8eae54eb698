"""Inter-gradient alignment, with environment labels."""

from kerhrm.config.methods import IGA
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.iga import train_iga
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    tried, files = snakemake.params.options, snakemake.input
    options = [IGA(**o) for o in tried]
    hidden, device = snakemake.params.hidden, snakemake.params.device
    outputs = train_candidates(train_iga, options, files, hidden, device)
    outputs.save(snakemake.output[0], options=tried)
