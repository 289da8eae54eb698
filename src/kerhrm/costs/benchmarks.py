"""What jobs have cost: seconds, memory and disk, as a run leaves them and as they are published."""

import csv
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm.jobs.lost import MADE

#: path below ``benchmarks/``: ``("learn_direction", "houses", "houses", "1")``
Key = tuple[str, ...]
FOLDER = "benchmarks"  # in a run's folder


@dataclass(frozen=True)
class Cost:
    """Of one job; None is not known."""

    s: float  #: seconds of wall time, start-up included
    memory_mb: float | None = None  #: at most
    disk_mb: float | None = None  #: of the outputs that stay
    size: float | None = None  #: see :mod:`kerhrm.costs.sizes`


def measured(run: str | os.PathLike[str]) -> dict[Key, Cost]:
    """Costs of the jobs of a run, from Snakemake's benchmarks and the jobs' notes."""
    disk = _disk(Path(run))
    times = benchmarks(Path(run, FOLDER)).items()
    return {key: Cost(cost.s, cost.memory_mb, disk.get(key)) for key, cost in times}


def benchmarks(folder: Path) -> dict[Key, Cost]:
    """Seconds and memory of jobs, from the folder of Snakemake's benchmarks."""
    found = {}
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        key = Path(str(path.relative_to(folder)).removesuffix(".tsv")).parts
        memory = [mb for row in rows if (mb := _number(row.get("max_rss")))]
        seconds = sum(float(row["s"]) for row in rows)
        found[key] = Cost(seconds, max(memory, default=None))
    return found


def notes(run: Path) -> dict[Key, dict[str, list[str]]]:
    """What every job has read and written: ``inputs`` and ``outputs``."""
    found = {}
    for path in sorted((run / MADE).glob("*.json")):
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
            place = Path(*note["log"][:1]).parts
        except (OSError, ValueError, KeyError, TypeError):  # damaged, or older than logs
            continue
        if "logs" in place:
            *folders, name = place[place.index("logs") + 1 :]
            found[(*folders, name.removesuffix(".log"))] = note
    return found


def _number(text: str | None) -> float | None:
    """A number, or None: of a job that has ended too soon Snakemake knows no memory."""
    try:
        return float(text or "")
    except ValueError:
        return None


def _disk(run: Path) -> dict[Key, float]:
    return {
        key: sum(os.path.getsize(f) for f in note["outputs"] if os.path.isfile(f)) / 1e6
        for key, note in notes(run).items()
    }


COLUMNS = ("rule", "experiment", "place", *(field.name for field in fields(Cost)))


def as_text(costs: Mapping[Key, Cost]) -> str:
    """Costs as tab-separated text; :func:`published` reads it."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, cost in costs.items():
        numbers = ("" if value is None else f"{value:.4g}" for value in astuple(cost))
        experiment = key[1] if len(key) > 2 else ""
        writer.writerow((key[0], experiment, "/".join(key[1:]), *numbers))
    return file.getvalue()


def published(path: str | os.PathLike[str]) -> dict[Key, Cost]:
    """Costs that :func:`as_text` has written; none where there is no such file.

    Raises
    ------
    KerhrmError
        If it holds something else.
    """
    if not os.path.exists(path):
        return {}

    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        return {
            (row["rule"], *filter(None, row["place"].split("/"))): Cost(
                float(row["s"]), *(_number(row.get(name)) for name in COLUMNS[4:])
            )
            for row in rows
        }
    except (KeyError, ValueError, csv.Error) as error:
        raise KerhrmError(f"{path} holds no costs of jobs ({error!r})", "restore it") from error


def sized(costs: Mapping[Key, Cost], size: Callable[[Key], float | None]) -> dict[Key, Cost]:
    """The same costs, each with the size of its job."""
    return {k: Cost(c.s, c.memory_mb, c.disk_mb, size(k)) for k, c in costs.items()}
