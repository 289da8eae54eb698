"""What each choice that the paper leaves open changes."""

from kerhrm.files import write_text
from kerhrm_paper.evaluation.choices import measure
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    run, params = Run(run_folder(snakemake.log[0])), snakemake.params
    effects = measure(
        {name: run.scores(name) for name in params.tables}, params.contrasts
    )
    write_text(snakemake.output[0], effects.to_csv(index=False))
