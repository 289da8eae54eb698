"""A table as CSV, Markdown and LaTeX, and its methods against each other."""

from kerhrm.jobs.job import job
from kerhrm.reporting.latex import to_latex
from kerhrm.reporting.layout import to_markdown
from kerhrm.reporting.paper import load
from kerhrm.reporting.tables import build_table, full_title, notice, read_scores, results_of
from kerhrm.scoring.comparisons import compare_methods
from kerhrm.storage.arrays import write_text

with job(snakemake):
    scores, paper = read_scores(snakemake.input.scores), load(snakemake.input.paper)
    preset = snakemake.params.preset
    table = build_table(scores, snakemake.wildcards.table, preset, paper)
    title = snakemake.params.title
    heading, caption = full_title(title, table, preset), f"{title} {notice(table, preset)}".strip()
    write_text(snakemake.output.csv, table.to_csv(index=False))
    write_text(snakemake.output.md, to_markdown(table, heading))
    write_text(snakemake.output.tex, to_latex(table, caption))
    compared = compare_methods(scores, results_of(scores))
    write_text(snakemake.output.comparisons, compared.to_csv(index=False))
