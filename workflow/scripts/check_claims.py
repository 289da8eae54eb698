"""The paper's claims, by the cells of a run and by small runs of the library."""

from kerhrm.files import write_text
from kerhrm_paper.claims.check import evaluate
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    claims = evaluate(run_folder(snakemake.log[0]), snakemake.params.preset)
    write_text(snakemake.output[0], claims.to_csv(index=False, float_format="%.6g"))
