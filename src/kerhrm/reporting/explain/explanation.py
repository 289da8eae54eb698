"""All that is known of one number of a table."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.config.names import folder_of
from kerhrm.costs.reference import VERSIONS
from kerhrm.errors import KerhrmError
from kerhrm.reporting.explain.cells import Shelf, cell_of, shelf_of
from kerhrm.reporting.explain.lineage import JOBS, Hashed, Job, Records
from kerhrm.reporting.explain.options import Chosen, chosen
from kerhrm.reporting.provenance import MADE_WITH, device, made_with, provenance
from kerhrm.reporting.tables import read_table
from kerhrm.scoring.metrics import mark
from kerhrm.storage.arrays import load_arrays

#: rows whose seeds' choices ``choices/<experiment>.csv`` holds
STEPS = ("kerhrm-ntf", "kerhrm-network")
#: protocols whose tables have the experiment's own settings
WHOLE = ("accuracy", "mean_error")
DATA = ("train", "validation", "test_inputs", "test_labels")


@dataclass(frozen=True)
class Explanation:
    """A cell and what made it; what is not at hand is empty, and ``lacking`` says why."""

    folder: str  #: of the run, or of what was published of it
    command: str  #: that makes the table again
    cell: dict[str, Any]
    seeds: list[dict[str, Any]]  #: seed, value, and what was chosen in it
    chosen: Chosen
    jobs: list[Job]  #: from raw data to the table
    files: dict[str, Hashed | None]  #: that it was made from
    data: dict[str, Any]  #: options of the data set
    configuration: dict[str, Any]  #: of the experiment, without settings
    is_run: bool  #: whether ``made_with`` is of the checkout at hand; else it was noted
    made_with: dict[str, Any]
    device: str
    lacking: list[str]


def explain(
    run: Path, table: str, setting: str, method: str, metric: str, *,
    rule: str | None = None, checkout: Path = Path(),
) -> Explanation:  # fmt: skip
    """Collect what a folder and a checkout know of a cell.

    ``run`` is ``results/<preset>``, or ``results/reference``, which has fewer files.

    Raises
    ------
    KerhrmError
        If there is no such cell; it tells the nearest names.
    """
    shelf = shelf_of(run, table)
    cell = cell_of(shelf, setting, method, metric, rule)
    seeds = _seeds(shelf, cell)
    places = _places(shelf, setting)
    scored = {row["experiment"] for row in seeds}
    places = {n: label for n, label in places.items() if n in scored} or places
    name = next(iter(places), None)
    if name is None:
        raise KerhrmError(f"{shelf.folder}/config.yaml has no {setting} of {table}", "restore it")
    experiment, label = shelf.experiments[name], places[name]
    tuned = Path(shelf.config.get("tuned") or checkout / "config" / "tuned")
    found = chosen(shelf.config["experiments"], name, label, cell, tuned)
    records = _records(shelf, checkout)
    jobs = _jobs(records, shelf, places, found)
    if found.stem in STEPS:
        seeds = _with_choices(seeds, shelf, places, jobs)
    facts, packages = _made_with(shelf, checkout)
    return Explanation(
        folder=str(shelf.folder),
        command=shelf.command(),
        cell=cell,
        seeds=seeds,
        chosen=found,
        jobs=jobs,
        files={file: records.hashed(file) for file in _shown(jobs, found)},
        data=experiment["settings"][label]["data"],
        configuration={k: v for k, v in experiment.items() if k not in ("settings", "about")},
        is_run=shelf.is_run,
        made_with=facts,
        device=device(shelf.config, packages),
        lacking=_lacking(shelf, seeds, jobs),
    )


def as_json(found: Explanation) -> str:
    """All of it; numbers that are not finite are null."""
    return json.dumps(_plain(found), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _places(shelf: Shelf, setting: str) -> dict[str, str]:
    """By experiment the setting that a table's belongs to; one of many periods has its mark."""
    found = {}
    for name, experiment in shelf.experiments.items():
        labels = list(experiment["settings"])
        same = [label for label in labels if mark(label) == mark(setting)]
        if setting in labels or (same and experiment.get("protocol") not in WHOLE):
            found[name] = setting if setting in labels else same[0]
    return found


def _seeds(shelf: Shelf, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Values of a cell by seed, from the scores of every experiment that the table shows."""
    rows = []
    for name in shelf.experiments:
        path = shelf.folder / "scores" / f"{name}.csv"
        if not path.exists():
            continue
        scores = read_table(path)
        for key in ("setting", "method", "metric", "selection"):
            scores = scores[scores[key] == cell[key]]
        own = scores[["seed", "value", "reason"]].to_dict("records")
        rows += [{"experiment": name, **{str(k): v for k, v in row.items()}} for row in own]
    return rows


def _with_choices(
    seeds: Sequence[dict[str, Any]], shelf: Shelf, places: Mapping[str, str], jobs: Sequence[Job]
) -> list[dict[str, Any]]:
    """Seeds with what KerHRM's rule has chosen in each, and the scores that it compared."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, label in places.items():
        path = shelf.folder / "choices" / f"{name}.csv"
        choices = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["setting"])
        choices = choices[choices["setting"] == label].dropna(axis=1, how="all")
        for row in choices.to_dict("records"):
            told = {str(k): v for k, v in row.items() if k not in ("setting", "seed")}
            found[name, str(row["seed"])] = told
    scores = _iteration_scores(shelf, jobs)
    rows = [dict(row, **found.get((row["experiment"], str(row["seed"])), {})) for row in seeds]
    if len(scores) == len(rows):
        rows = [dict(row, iteration_scores=own) for row, own in zip(rows, scores, strict=True)]
    return rows


def _iteration_scores(shelf: Shelf, jobs: Sequence[Job]) -> list[list[float]]:
    """By seed the score of the direction of every iteration, where the files are at hand."""
    rows: list[list[float]] = []
    for job in (job for job in jobs if job.rule == "predict_ntf"):  # one for each experiment
        paths = [shelf.folder / f for f in job.inputs if Path(f).name == "theta.npz"]
        if not all(path.exists() for path in paths):
            return []
        columns = []
        for path in paths:
            arrays, _ = load_arrays(path)
            scored = zip(arrays["score"], arrays["chosen"], strict=True)
            columns.append([float(scores[i]) for scores, i in scored])
        rows += map(list, zip(*columns, strict=True))
    return rows


def _records(shelf: Shelf, checkout: Path) -> Records:
    if shelf.is_run:
        return Records.of_run(shelf.folder, checkout)
    path = shelf.folder / JOBS
    return Records.read(path) if path.exists() else Records([])


def _jobs(records: Records, shelf: Shelf, places: Mapping[str, str], found: Chosen) -> list[Job]:
    """Jobs behind a cell, without those of other rows and settings."""
    own = {f"{name}/{folder_of(label)}/scores.csv" for name, label in places.items()}
    scored = {f"scores/{name}.csv" for name in places}

    def counts(job: Job, file: str) -> bool:
        if job.rule == "summarise":
            return file in scored
        if job.rule == "collect_scores":
            return file in own
        return job.rule != "score" or "/predictions/" not in file or Path(file).stem == found.stem

    return records.behind([f"tables/{shelf.table.stem}.csv"], counts)


def _shown(jobs: Sequence[Job], found: Chosen) -> list[str]:
    """Files of a cell's jobs that stay, and that a reader may want to compare."""
    kept = []
    for job in jobs:
        for file in job.outputs:
            path = Path(file)
            data = path.parent.name == "data" and path.stem in DATA
            ours = path.parent.name == "predictions" and path.stem == found.stem
            if data or ours or path.parent.name in ("raw", "networks", "scores", "tables"):
                kept += [] if path.suffix in (".md", ".tex") else [file]
            elif path.name in ("scores.csv", "direction.npz"):
                kept.append(file)
    return [file for file in kept if "-comparisons" not in file]


def _made_with(shelf: Shelf, checkout: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Hashes of code and locks, and versions of packages: of now, or as they were published."""
    if shelf.is_run:
        return made_with(checkout), provenance()["packages"]
    facts = json.loads((shelf.folder / VERSIONS).read_text(encoding="utf-8"))
    return facts.get(MADE_WITH, {}), facts["packages"]


def _lacking(shelf: Shelf, seeds: Sequence[Any], jobs: Sequence[Job]) -> list[str]:
    """What a folder does not hold."""
    found = [] if seeds else ["the scores of every seed"]
    found += [] if jobs else ["its jobs, their times and the hashes of their files"]
    if not shelf.is_run:
        found += ["data, features, predictions and networks themselves"]
    return found
