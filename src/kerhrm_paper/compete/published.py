"""Scores of the other learners, where they are published for the same seeds."""

from collections.abc import Collection
from pathlib import Path

from kerhrm_paper.compete.configuration import seeds
from kerhrm_paper.compete.ranks import Fits
from kerhrm_paper.config.config import Config
from kerhrm_paper.reporting.run import Run


def published_scores(
    preset: str, tables: Collection[str], reference: Path
) -> tuple[dict[str, Path], dict[str, str]]:
    """Files of the published scores by table, and why there are none for the others.

    A table's count if they are of the same preset, and have all seeds that a method
    has on each of its data.
    """
    run = Run(reference)
    files: dict[str, Path] = {}
    reasons: dict[str, str] = {}
    for name in tables:
        path = reference / "scores" / f"{name}.csv.gz"
        if not path.is_file():
            reasons[name] = "its scores are not published"
        elif run.preset(name) != preset:
            reasons[name] = f"its scores are published for preset {run.preset(name)}"
        else:
            files[name] = path
    scores = {name: run.scores(name) for name in files}
    if not files:
        return files, reasons
    for name, data, wanted in seeds(preset, list(files)):
        of_table = scores[name]
        is_of_data = of_table["data"] == data
        known = of_table.loc[is_of_data, "seed"]
        names = set(map(str, known))
        if not names.issuperset(map(str, wanted)):
            reasons[name] = f"its scores are published for other seeds on {data}"
            files.pop(name, None)
    return files, reasons


def published_fits(config: Config, run: Run, preset: str) -> list[Fits]:
    """The fits that the published costs are of.

    Those of all tables of the preset, as a job trains what several of them show.  A
    learner of today's configuration without a published row was not trained then.

    Parameters
    ----------
    config : Config
        Of the preset.
    run : Run
        What is published.
    preset : str
        Tables of others do not count.
    """
    fits = []
    for name, view in config.tables.items():
        is_published = run.has(f"scores/{name}.csv.gz")
        if not is_published or run.preset(name) != preset:
            continue
        scores = run.scores(name)
        known = set(zip(scores["data"], scores["learner"], strict=True))
        for row in view.rows:
            if (row.data, row.learner) not in known:
                continue
            n_seeds = config.learner(row.data, row.learner).n_seeds
            of_row = Fits(row.data, row.learner, row.trained, n_seeds)
            fits.append(of_row)
    return fits
