"""Heterogeneous risk minimisation."""

from kerhrm.config.methods import HRM
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.hrm import train_hrm
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    tried, files = snakemake.params.options, snakemake.input
    options = [HRM(**o) for o in tried]
    hidden, device = snakemake.params.hidden, snakemake.params.device
    outputs = train_candidates(train_hrm, options, files, hidden, device)
    outputs.save(snakemake.output[0], options=tried)
