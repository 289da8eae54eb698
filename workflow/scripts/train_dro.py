"""Distributionally robust optimisation."""

from kerhrm.config.methods import DRO
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.dro import train_dro
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    tried, files = snakemake.params.options, snakemake.input
    options = [DRO(**o) for o in tried]
    hidden, device = snakemake.params.hidden, snakemake.params.device
    outputs = train_candidates(train_dro, options, files, hidden, device)
    outputs.save(snakemake.output[0], options=tried)
