"""What each choice that the paper leaves open changes."""

from kerhrm.files import write_text
from kerhrm_paper.evaluation.choices import measure
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    folder = run_folder(snakemake.log[0])
    run = Run(folder)
    scores = {name: run.scores(name) for name in snakemake.params.tables}
    effects = measure(scores, snakemake.params.contrasts)
    text = effects.to_csv(index=False)
    write_text(snakemake.output[0], text)
