"""Linear least squares on the raw inputs."""

from kerhrm.config.methods import LeastSquares
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.references import train_least_squares
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    tried, files = snakemake.params.options, snakemake.input
    options = [LeastSquares(**o) for o in tried]
    hidden, device = snakemake.params.hidden, snakemake.params.device
    outputs = train_candidates(train_least_squares, options, files, hidden, device)
    outputs.save(snakemake.output[0], options=tried)
