"""A table as CSV, Markdown and LaTeX."""

from kerhrm.arrays import write_text
from kerhrm.reporting.layout import to_latex, to_markdown
from kerhrm.reporting.paper import load
from kerhrm.reporting.tables import build_table, read_scores, title
from kerhrm.workflow.job import job

with job(snakemake):
    scores = read_scores(snakemake.input.scores)
    name, preset = snakemake.wildcards.table, snakemake.params.preset
    paper = load(snakemake.input.paper)
    table = build_table(scores, name, preset, paper, snakemake.params.resamples)
    heading = title(snakemake.params.title, preset, table["data_source"])
    write_text(snakemake.output.csv, table.to_csv(index=False))
    write_text(snakemake.output.md, to_markdown(table, heading))
    write_text(snakemake.output.tex, to_latex(table, heading))
