"""What the paper says, checked on the scores of a run and on small runs of the library."""

from kerhrm.claims.registry import check_claims
from kerhrm.jobs.job import job
from kerhrm.storage.arrays import write_text

with job(snakemake):
    found = check_claims(snakemake.input.scores, snakemake.params.preset)
    write_text(snakemake.output[0], found.to_csv(index=False, float_format="%.6g"))
