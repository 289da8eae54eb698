"""The paper's claims, by the cells of a run and by small runs of the library."""

from kerhrm.files import write_text
from kerhrm_paper.claims.check import evaluate
from kerhrm_paper.runs.job import job

with job(snakemake):
    claims = evaluate(snakemake.input.scores, snakemake.params.preset)
    content = claims.to_csv(index=False, float_format="%.6g")
    write_text(snakemake.output[0], content)
