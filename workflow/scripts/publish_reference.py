"""This run's tables become the committed ones of its seeds, and the README's if published."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting import development
from kerhrm.reporting.publication import publish

with job(snakemake):
    run, checkout = Path(snakemake.input.checked).parent, Path(snakemake.params.checkout)
    reference = Path(snakemake.params.reference)
    publish(run, checkout, reference=reference, readme=checkout / "README.md")
    development.write(reference, checkout / development.PAGE)
