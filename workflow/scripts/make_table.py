"""A table as CSV, Markdown, LaTeX and HTML, and its methods against each other."""

from pathlib import Path

from kerhrm.files import write_text
from kerhrm_paper.evaluation.comparisons import compare
from kerhrm_paper.evaluation.tables import load_paper_values, make_table, notice
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.tables import write
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    run, name = Run(run_folder(snakemake.log[0])), snakemake.wildcards.table
    scores, params = run.scores(name), snakemake.params
    cells = make_table(
        scores, name, params.mark, load_paper_values(snakemake.input.paper_values)
    )
    write_text(snakemake.output.csv, cells.to_csv(index=False))
    write_text(snakemake.output.comparisons, compare(scores).to_csv(index=False))
    title = ": ".join(filter(None, (params.title, notice(cells, params.mark))))
    write(run.cells(name), Path(snakemake.output.csv).with_suffix(""), title)
