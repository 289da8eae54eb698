"""A table as CSV, Markdown and LaTeX."""

from kerhrm.jobs.job import job
from kerhrm.reporting.layout import to_latex, to_markdown
from kerhrm.reporting.paper import load
from kerhrm.reporting.tables import build_table, full_title, read_scores
from kerhrm.storage.arrays import write_text

with job(snakemake):
    scores, paper = read_scores(snakemake.input.scores), load(snakemake.input.paper)
    preset, resamples = snakemake.params.preset, snakemake.params.resamples
    table = build_table(scores, snakemake.wildcards.table, preset, paper, resamples)
    heading = full_title(snakemake.params.title, table, preset)
    write_text(snakemake.output.csv, table.to_csv(index=False))
    write_text(snakemake.output.md, to_markdown(table, heading))
    write_text(snakemake.output.tex, to_latex(table, heading))
