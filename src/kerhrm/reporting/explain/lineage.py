"""Jobs of a run, what each has read and written, and what stands behind a file.

A run's folder has a note of every job (:mod:`kerhrm.jobs.lost`), its log and its benchmark; a
published run has all of that in one file, :data:`JOBS`.  Paths are below the run's folder; those
of files outside of it are as the workflow had them.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from kerhrm.costs.benchmarks import FOLDER, benchmarks, notes
from kerhrm.errors import KerhrmError
from kerhrm.reporting.provenance import sha256

JOBS = "jobs.json"  #: of a published run
#: where Snakemake notes the parameters of the job that made a file, and how
_NOTES, _CODE = Path(".snakemake", "metadata"), re.compile(r"'([0-9a-f]{16})'")


@dataclass(frozen=True)
class Job:
    """One job of a run."""

    rule: str
    place: str  #: what it is of: ``classification/r2=0.70/2``
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    began: str = ""  #: local time, by its log
    seconds: float | None = None  #: of wall time, start-up included
    memory_mb: float | None = None  #: at most
    code: tuple[str, ...] = ()  #: fingerprints of what it ran, which Snakemake has noted


@dataclass(frozen=True)
class Hashed:
    """Content of a file: SHA-256 and size in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True)
class Records:
    """Jobs, and hashes of their files: those at hand, or those that were published."""

    jobs: Sequence[Job]
    folder: Path | None = None  #: of the run, whose files are hashed when they are asked for
    stored: dict[str, Hashed] = field(default_factory=dict)

    @classmethod
    def of_run(cls, run: Path, checkout: Path = Path()) -> Self:
        """Read a run's notes, logs and benchmarks, and Snakemake's notes in the checkout."""
        costs = benchmarks(run / FOLDER)
        jobs = []
        for (rule, *place), note in notes(run).items():
            log = Path(note["log"][0])
            own = str(Path(*log.parts[: log.parts.index("logs")]))
            cost = costs.get((rule, *place))
            jobs.append(
                Job(
                    rule,
                    "/".join(place),
                    tuple(_below(own, file) for file in note["inputs"]),
                    tuple(_below(own, file) for file in note["outputs"]),
                    _began(run / log.relative_to(own)),
                    cost.s if cost else None,
                    cost.memory_mb if cost else None,
                    _code(checkout / _NOTES, note["outputs"][:1]),
                )
            )
        return cls(jobs, run)

    @classmethod
    def read(cls, path: Path) -> Self:
        """What :meth:`write` wrote; KerhrmError if it holds something else."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            jobs = [_job(told) for told in content["jobs"]]
            stored = {name: Hashed(**facts) for name, facts in content["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise KerhrmError(f"{path} holds no jobs of a run ({error!r})", "restore it") from error
        return cls(jobs, None, stored)

    def as_text(self, jobs: Sequence[Job]) -> str:
        """Some of the jobs and the hashes of their outputs, as JSON."""
        files = sorted({file for job in jobs for file in (*job.inputs, *job.outputs)})
        hashes = {file: asdict(found) for file in files if (found := self.hashed(file))}
        content = {"jobs": [asdict(job) for job in jobs], "files": hashes}
        return json.dumps(content, indent=0) + "\n"

    def hashed(self, file: str) -> Hashed | None:
        """Hash and size of a file; None of one that is not there."""
        if self.folder is None:
            return self.stored.get(file)
        path = self.folder / file
        return Hashed(sha256(path), path.stat().st_size) if path.is_file() else None

    def behind(
        self, files: Iterable[str], counts: Callable[[Job, str], bool] = lambda job, file: True
    ) -> list[Job]:
        """Jobs that files were made by, from raw data on; each after those that it builds on.

        ``counts``: whether an input of a job is followed.
        """
        makers = {file: job for job in self.jobs for file in job.outputs}
        seen: set[Job] = set()

        def walk(file: str) -> Iterator[Job]:
            job = makers.get(file)
            if job is None or job in seen:
                return
            seen.add(job)
            for other in job.inputs:
                if counts(job, other):
                    yield from walk(other)
            yield job

        return [job for file in files for job in walk(file)]


def _job(told: Mapping[str, Any]) -> Job:
    facts: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
    return Job(**facts)


def _below(folder: str, file: str) -> str:
    return file.removeprefix(f"{folder}/")


def _began(log: Path) -> str:
    """Time of the first line of a job's log: ``2026-01-31 12:00:00``."""
    try:
        with log.open(encoding="utf-8") as lines:
            found = re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", lines.readline())
    except OSError:
        return ""
    return found[0] if found else ""


def _code(folder: Path, outputs: Sequence[str]) -> tuple[str, ...]:
    """Fingerprints among the parameters that Snakemake has noted of a job; none if it has not."""
    for output in outputs:
        name = base64.urlsafe_b64encode(output.encode()).decode()
        try:
            noted = json.loads((folder / name).read_text(encoding="utf-8"))["params"]
            return tuple(found[1] for told in noted if (found := _CODE.fullmatch(told)))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return ()
