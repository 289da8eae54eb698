"""A table as CSV, Markdown and LaTeX, and its methods against each other."""

from kerhrm.jobs.job import job
from kerhrm.reporting.layout import to_latex, to_markdown
from kerhrm.reporting.paper import load
from kerhrm.reporting.tables import build_table, full_title, read_scores, results_of
from kerhrm.scoring.comparisons import compare_methods
from kerhrm.storage.arrays import write_text

with job(snakemake):
    scores, paper = read_scores(snakemake.input.scores), load(snakemake.input.paper)
    preset = snakemake.params.preset
    table = build_table(scores, snakemake.wildcards.table, preset, paper)
    heading = full_title(snakemake.params.title, table, preset)
    write_text(snakemake.output.csv, table.to_csv(index=False))
    write_text(snakemake.output.md, to_markdown(table, heading))
    write_text(snakemake.output.tex, to_latex(table, heading))
    compared = compare_methods(scores, results_of(scores))
    write_text(snakemake.output.comparisons, compared.to_csv(index=False))
