"""Scores of all predictions of a setting: here, and only here, test labels are read."""

from kerhrm.arrays import write_text
from kerhrm.reporting.scores import score_setting
from kerhrm.workflow.job import job

with job(snakemake):
    scores = score_setting(
        snakemake.wildcards.setting,
        snakemake.input.predictions,
        snakemake.input.candidates,
        labels={n: snakemake.input[n] for n in ("train", "validation", "test_labels")},
    )
    write_text(snakemake.output[0], scores.to_csv(index=False))
