"""What is fixed before the fresh seeds are looked at, and whether it still is.

``docs/freeze.md`` explains it.
"""

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.config.files import read
from kerhrm.config.fresh import FROZEN, PRESET, SPREAD, Further, preset, sections_of
from kerhrm.config.names import folder_of
from kerhrm.config.presets import DEVELOPMENT, FRESH
from kerhrm.config.resolve import resolve
from kerhrm.data.registry import DATA_SETS, RAW
from kerhrm.errors import KerhrmError
from kerhrm.jobs.fingerprint import fingerprint, sources
from kerhrm.methods.registry import METHODS
from kerhrm.reporting.tables import headline, is_stand_in, read_scores, results_of
from kerhrm.scoring.statistics import summarise
from kerhrm.scoring.verdicts import CRITERIA
from kerhrm.storage.arrays import write_text

WORDS = ("title", "about", "notebook")  #: keys of an experiment that change no number
#: rooms of the package that only report: scripts that use them make no scores
REPORTING = ("kerhrm.reporting", "kerhrm.claims")
#: options that came after the freeze, at the values at which they change nothing
LATER = {"weight_decay": 0.0}
#: code that judges scores, which is frozen, too
JUDGES = ("kerhrm.scoring.comparisons", "kerhrm.scoring.verdicts")
VERSIONS = ("envs/requirements.lock", "envs/torch.txt")
PARTS = ("src", "workflow", "config", "envs")  #: of a checkout that are frozen
HEAD = "# Written by `kerhrm freeze`; docs/freeze.md explains it.\n"


@dataclass(frozen=True)
class Frozen:
    """Hashes of what was fixed, and which methods have further seeds."""

    configuration: str  #: of the headline, without seeds
    fresh: str  #: of the headline at the preset ``fresh``, with seeds
    code: str  #: of everything between raw data and verdicts
    python: str  #: minor version, on which the hash of code depends
    versions: str  #: of the files that pin the packages
    commit: str | None  #: that was checked out
    further: Further

    def departures(self, checkout: Path) -> list[str]:
        """Names of the hashes that a checkout no longer has.

        That of code can be compared on the same minor version of Python alone.
        """
        now = _now(checkout)
        same = now["python"] == self.python
        names = ["configuration", "fresh", *(["code"] if same else []), "versions"]
        return [name for name in names if now[name] != getattr(self, name)]

    def check_run(self, config: Mapping[str, Any], checkout: Path) -> None:
        """Refuse a run of another configuration than the frozen one, or of other code.

        ``config`` is the run's, at one of the two presets; a :class:`KerhrmError` tells.
        """
        with_seeds = config["preset"] == FRESH
        found = digest(config["experiments"], seeds=with_seeds)
        if found != (self.fresh if with_seeds else self.configuration):
            raise KerhrmError("the run's configuration is not the frozen one", CURE)
        if "code" in self.departures(checkout):
            raise KerhrmError("the code is not the frozen one", CURE)


CURE = "freeze anew and run again, or go back to what was frozen"


def stored(checkout: Path) -> Frozen | None:
    """What a checkout has frozen, if anything."""
    path = checkout / FROZEN
    return Frozen(**read(path).content) if path.exists() else None


def freeze(run: Path, checkout: Path) -> Frozen:
    """Fix the headline, after a run on the development seeds: writes the two files of it.

    ``config/frozen.yaml`` has the hashes, ``config/presets/fresh.yaml`` the fresh seeds.

    Raises
    ------
    KerhrmError
        If the run was not made at preset ``paper`` from the configuration at hand, is not
        complete, or used stand-in data; nothing is written then.
    """
    config = resolve({"preset": DEVELOPMENT}, checkout / "config")
    plain = config.plain()["experiments"]
    if not (run / "config.yaml").exists():
        raise KerhrmError(f"{run} has no config.yaml", "run the workflow first")
    ran = read(run / "config.yaml").content
    if ran["preset"] != DEVELOPMENT:
        raise KerhrmError(f"{run} is no run at preset {DEVELOPMENT}", "run without preset=...")
    if digest(ran["experiments"], seeds=True) != digest(plain, seeds=True):
        raise KerhrmError(f"{run} is of another configuration", "run the workflow again")
    further = spreading(run, plain)
    revision = commit(checkout)
    write_text(checkout / PRESET, preset(config.experiments, further))
    found = Frozen(**_now(checkout), commit=revision, further=further)
    text = yaml.safe_dump(asdict(found), sort_keys=False, default_flow_style=None, width=99)
    write_text(checkout / FROZEN, HEAD + text)
    return found


def digest(experiments: Mapping[str, Any], *, seeds: bool) -> str:
    """SHA-256 of the experiments of `all`, as a resolved configuration has them.

    Of canonical JSON, without titles and texts, without sections of methods that a setting
    does not run and without :data:`LATER`; ``seeds``: whether with those of the tables.
    """
    left_out = WORDS if seeds else (*WORDS, "seeds")
    counted = {
        name: {k: v for k, v in one.items() if k not in left_out}
        | {"settings": {label: _used(s) for label, s in one["settings"].items()}}
        for name, one in experiments.items()
        if one["in_all"]
    }
    text = json.dumps(counted, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def without_later(section: Any) -> Any:
    """Of a resolved configuration or a part of it: without :data:`LATER`, at any depth."""
    if not isinstance(section, Mapping):
        return section
    return {k: without_later(v) for k, v in section.items() if k not in LATER or v != LATER[k]}


def _used(setting: Mapping[str, Any]) -> dict[str, Any]:
    sections = sections_of(setting["run"])
    methods = {name: without_later(o) for name, o in setting["methods"].items() if name in sections}
    return {**setting, "methods": methods}


def code_digest(checkout: Path) -> str:
    """SHA-256 of all code from raw data to verdicts, as :mod:`kerhrm.jobs.fingerprint` sees it.

    That is of the workflow's scripts that use nothing of :data:`REPORTING`, with all methods, data
    sets and penalties, and of :data:`JUDGES`.
    """
    entries = {
        *(entry for method in METHODS.values() for entry in method.entries),
        *(e for d in DATA_SETS.values() for e in (d.entry, d.truths) if e),
        *RAW.values(),
        *PENALTIES.values(),
        *JUDGES,
    }
    entries = {entry for entry in entries if entry.startswith("kerhrm.")}  # not other packages'
    scripts = sorted((checkout / "workflow" / "scripts").glob("*.py"))
    parts = [f"{s.stem} {fingerprint(s, *sorted(entries))}" for s in scripts if not _reports(s)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _reports(script: Path) -> bool:
    rooms = {".".join(path.with_suffix("").parts[-3:-1]) for path in sources(script)}
    return not rooms.isdisjoint(REPORTING)


def spreading(run: Path, experiments: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Methods of `all` with a result that spreads widely, by experiment and setting.

    That is by a standard deviation over seeds (ddof = 1) above
    :data:`~kerhrm.config.fresh.SPREAD` margins of the verdicts; settings without one are left out.
    Results are the metrics of :data:`kerhrm.reporting.tables.RESULTS`, in the units of the tables,
    of what each method's own rule has chosen; one of several periods or iterations suffices.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for name, experiment in experiments.items():
        for label in experiment["settings"] if experiment["in_all"] else ():
            path = run / name / folder_of(label) / "scores.csv"
            if not path.exists():
                raise KerhrmError(f"there is no {path}", "run the workflow first")
            if methods := _spreading(read_scores([path]), path):
                found.setdefault(name, {})[label] = methods
    return found


def _spreading(scores: pd.DataFrame, path: Path) -> list[str]:
    if any(map(is_stand_in, scores["data_source"])):
        raise KerhrmError(f"{path} holds stand-in data", "give the raw files, see the README")
    own = headline(scores[scores["metric"].isin(results_of(scores))])
    wide = set()
    for (_, method, metric), values in own.groupby(["setting", "method", "metric"])["value"]:
        found = summarise(values)
        if found["std"] > SPREAD * CRITERIA[str(metric)].margin(found["mean"]):
            wide.add(method)
    return [m for m, method in METHODS.items() if wide & {row.title for row in method.rows}]


def _now(checkout: Path) -> dict[str, str]:
    def configured(name: str, seeds: bool) -> str:
        config = resolve({"preset": name}, checkout / "config")
        return digest(config.plain()["experiments"], seeds=seeds)

    pinned = "".join((checkout / name).read_text(encoding="utf-8") for name in VERSIONS)
    return {
        "configuration": configured(DEVELOPMENT, False),
        "fresh": configured(FRESH, True),
        "code": code_digest(checkout),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "versions": hashlib.sha256(pinned.encode()).hexdigest(),
    }


def commit(checkout: Path) -> str | None:
    """Hash of the commit at hand, with a note of changes that it lacks; none outside of git."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(checkout), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", *PARTS)
        return git("rev-parse", "HEAD") + (" and changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None
