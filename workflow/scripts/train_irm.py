"""Invariant risk minimisation, with environment labels."""

from kerhrm.config.methods import IRM
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.irm import train_irm
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    tried, files = snakemake.params.options, snakemake.input
    options = [IRM(**o) for o in tried]
    hidden, device = snakemake.params.hidden, snakemake.params.device
    outputs = train_candidates(train_irm, options, files, hidden, device)
    outputs.save(snakemake.output[0], options=tried)
