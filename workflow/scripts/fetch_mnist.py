"""Find the raw MNIST files (folder, cache, mirrors) or their stand-in."""

from kerhrm.data.mnist import load_mnist
from kerhrm.workflow.job import job

with job(snakemake):
    digits = load_mnist(snakemake.params.raw_dir, snakemake.params.on_missing)
    digits.save(snakemake.output[0])
