"""A study: its units of work, their summaries, and its figures."""

from pathlib import Path

from kerhrm.entries import load_entry
from kerhrm.files import write_text
from kerhrm_paper.reporting.figures import save_png, style
from kerhrm_paper.runs.job import job
from kerhrm_paper.studies.study import stand_in

with job(snakemake) as checkpoint:
    params = snakemake.params
    study = load_entry(params.study)
    files = dict(snakemake.input.items())
    with style():
        tables, figures = study.run(
            files,
            checkpoint,
            few=params.few,
            stand_in=stand_in(files),
        )
    for path in map(Path, snakemake.output):
        if path.suffix == ".csv":
            write_text(path, tables[path.stem].to_csv(index=False))
        else:
            save_png(figures[path.stem], path)
