"""A table as CSV, Markdown, LaTeX and HTML, and its methods against each other."""

from pathlib import Path

from kerhrm.files import write_text
from kerhrm_paper.evaluation.comparisons import compare
from kerhrm_paper.evaluation.tables import load_paper_values, make_table, notice
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.tables import write
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    params = snakemake.params
    files = snakemake.output
    folder = run_folder(snakemake.log[0])
    run = Run(folder)
    name = snakemake.wildcards.table
    scores = run.scores(name)
    paper = load_paper_values(snakemake.input.paper_values)
    cells = make_table(scores, name, params.mark, paper)
    text = cells.to_csv(index=False)
    write_text(files.csv, text)
    comparisons = compare(scores)
    text = comparisons.to_csv(index=False)
    write_text(files.comparisons, text)
    title = params.title
    difference = notice(cells, params.mark)
    if difference:
        title = f"{title}: {difference}" if title else difference
    stem = Path(files.csv).with_suffix("")
    write(cells, stem, title)
