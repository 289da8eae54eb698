"""What a page is made from: a run's folder, ``results/<preset>``, or the committed one."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.config.files import read
from kerhrm.config.fresh import FROZEN
from kerhrm.config.presets import FULL
from kerhrm.costs.benchmarks import measured
from kerhrm.costs.reference import VERSIONS
from kerhrm.reporting.development import FILE as DIFFERENCE
from kerhrm.reporting.development import read_differences
from kerhrm.reporting.explain.cells import read_config
from kerhrm.reporting.provenance import provenance
from kerhrm.reporting.publication import APPENDIX
from kerhrm.reporting.published import Published, gathered, load
from kerhrm.reporting.tables import is_stand_in

#: what tells a cell from others, in tables and in scores
CELL = ["setting", "method", "metric", "selection"]
SCORES = [*CELL, "table", "seed", "value"]
CHOICES = ["table", "setting", "seed", "k", "alpha", "iteration", "lambda", "p"]


@dataclass(frozen=True)
class Sources:
    """A folder of results, and the checkout whose documents and studies belong to it."""

    folder: Path
    checkout: Path
    results: Published
    #: table's name to its file
    files: Mapping[str, Path]
    #: files that were read, in this order
    seen: list[Path] = field(default_factory=list)

    @property
    def is_told(self) -> bool:
        """Whether there are sentences for it: of the paper's sizes, on the data themselves."""
        stand_in = any(map(is_stand_in, self.results.cells["data_source"]))
        return self.results.config["preset"] in FULL and not stand_in

    @cached_property
    def experiments(self) -> dict[str, Any]:
        """Resolved experiments, those of studies that lie in folders of their own, too."""
        paths = [self.folder / "config.yaml", *sorted(self.folder.glob("*/config.yaml"))]
        found: dict[str, Any] = {}
        for path in paths:
            if path.exists() and path.parent.name != APPENDIX:
                found = read_config(path)["experiments"] | found
        return found

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Values per seed, columns :data:`SCORES`; empty where no scores are kept."""
        return self._by_experiment("scores", SCORES)

    @cached_property
    def choices(self) -> pd.DataFrame:
        """What KerHRM has chosen in every seed, columns :data:`CHOICES`."""
        return self._by_experiment("choices", CHOICES)

    def _by_experiment(self, kind: str, columns: list[str]) -> pd.DataFrame:
        parts = [pd.DataFrame(columns=columns)]
        for path in sorted(self.folder.rglob(f"{kind}/*.csv*")):
            name = path.name.partition(".csv")[0]
            if APPENDIX not in path.relative_to(self.folder).parts and name in self.experiments:
                frame = pd.read_csv(self.note(path), low_memory=False)
                parts.append(frame.assign(table=self.experiments[name]["table"])[columns])
        return pd.concat([p for p in parts if len(p)] or parts, ignore_index=True)

    def first(self, *names: str) -> Path | None:
        """The first of some files below the folder that is there."""
        found = (self.folder / name for name in names)
        return next((self.note(path) for path in found if path.is_file()), None)

    def kept(self, name: str) -> Path | None:
        """A file of the checkout, as ``docs/scale.md``, if it is there."""
        path = self.checkout / name
        return self.note(path) if path.is_file() else None

    def figures(self) -> dict[str, Path]:
        """Pictures by name."""
        found = sorted(self.folder.glob("figures/*.png")) + sorted(self.folder.glob("*/*.png"))
        return {path.stem: path for path in found}

    @cached_property
    def ambiguities(self) -> Path | None:
        """Effects of open choices."""
        return self.first("ambiguities.csv", "ambiguities/ambiguities.csv")

    @cached_property
    def differences(self) -> pd.DataFrame | None:
        """Fresh seeds less development seeds."""
        path = self.first(f"{APPENDIX}/{DIFFERENCE}")
        return read_differences(path) if path else None

    @cached_property
    def frozen(self) -> dict[str, Any]:
        """Hashes that were written before the fresh seeds were looked at."""
        path = self.kept(FROZEN.as_posix())
        return dict(read(path).content) if path else {}

    def note(self, path: Path) -> Path:
        """Remember that a file was read."""
        if path not in self.seen:
            self.seen.append(path)
        return path

    def hashes(self) -> Iterator[tuple[Path, str]]:
        """SHA-256 of every file that was read."""
        for path in self.seen:
            yield path, hashlib.sha256(path.read_bytes()).hexdigest()


def sources(folder: Path, checkout: Path) -> Sources:
    """What lies in a folder, a run's or the committed one, which has ``versions.json``."""
    committed = (folder / VERSIONS).exists()
    results = load(folder) if committed else of_run(folder)
    results = replace(results, cells=results.cells.dropna(subset="table"))  # not of effects
    tables = set(results.cells["table"])
    paths = [p for p in sorted(folder.glob("*/*.csv")) if p.stem in tables]
    files = {p.stem: p for p in paths if p.parent.name in ("tables", p.stem)}
    found = Sources(folder, checkout, results, files)
    for path in (folder / "config.yaml", *files.values()):
        found.note(path)
    found.first("claims.csv", "claims/claims.csv")
    return found


def of_run(run: Path) -> Published:
    """A run's folder as :func:`kerhrm.reporting.published.load` gives the committed one."""
    return gathered(
        sorted(run.glob("tables/*.csv")),
        run / "claims.csv",
        config=read_config(run / "config.yaml"),
        versions=provenance(),
        jobs=measured(run),
    )
