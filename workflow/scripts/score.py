"""Scores of all predictions of a setting, on test points, too."""

from kerhrm.jobs.job import job
from kerhrm.scoring.scores import score_setting
from kerhrm.storage.arrays import write_text

with job(snakemake):
    params = snakemake.params
    scores = score_setting(
        params.setting,
        snakemake.input,
        protocol=params.protocol,
        seeds=params.replicates,
        data=params.data,
        shown=params.shown,
        bounds=params.bounds,
    )
    write_text(snakemake.output[0], scores.to_csv(index=False))
