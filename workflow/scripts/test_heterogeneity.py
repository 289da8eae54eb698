"""Whether regression data hold environments at all, seed by seed."""

from kerhrm_paper.runs.heterogeneity import write_heterogeneity
from kerhrm_paper.runs.job import job

with job(snakemake) as checkpoint:
    write_heterogeneity(
        files=snakemake.input,
        params=snakemake.params,
        output=snakemake.output[0],
        checkpoint=checkpoint,
    )
