"""The lowest and the highest mean over constants that the paper does not print."""

from kerhrm.files import write_text
from kerhrm_paper.config.endpoints import load_endpoints
from kerhrm_paper.evaluation.bands import bands
from kerhrm_paper.evaluation.tables import load_paper_values
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    folder = run_folder(snakemake.log[0])
    run = Run(folder)
    found = bands(
        scores={name: run.scores(name) for name in snakemake.params.tables},
        spec=load_endpoints(snakemake.input.endpoints),
        paper=load_paper_values(snakemake.input.paper_values),
        mark=snakemake.params.mark,
    )
    text = found.to_csv(index=False)
    write_text(snakemake.output[0], text)
