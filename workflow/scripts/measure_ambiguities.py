"""What each choice that the paper leaves open changes, as CSV and as a forest plot."""

from pathlib import Path

from kerhrm.config.ambiguities import load_catalogue
from kerhrm.jobs.job import job
from kerhrm.reporting.ambiguities import effects, forest, read_study
from kerhrm.reporting.style import save_figure
from kerhrm.storage.arrays import write_text

with job(snakemake):
    catalogue = load_catalogue(Path(snakemake.input.catalogue))
    found = effects(catalogue, read_study(snakemake.input.scores))
    write_text(snakemake.output.csv, found.to_csv(index=False))
    figure = forest(found, catalogue, snakemake.params.preset)
    save_figure(figure, snakemake.output.png.removesuffix(".png"))
