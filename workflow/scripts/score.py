"""Scores of all predictions of a setting, on test points, too."""

from kerhrm.arrays import write_text
from kerhrm.reporting.scores import score_setting
from kerhrm.workflow.job import job

with job(snakemake):
    scores = score_setting(
        snakemake.params.setting,
        snakemake.input.predictions,
        snakemake.input.candidates,
        snakemake.input,
        protocol=snakemake.params.protocol,
        data=snakemake.params.data,
    )
    write_text(snakemake.output[0], scores.to_csv(index=False))
