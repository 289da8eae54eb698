"""What a run leaves in the repository, once it is asked to."""

import contextlib
import json
import os
import platform
import re
from collections.abc import Collection, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import yaml

from kerhrm.config.files import read
from kerhrm.config.presets import DEVELOPMENT, FRESH, FULL
from kerhrm.config.schema import Config
from kerhrm.costs.benchmarks import as_text, measured, sized
from kerhrm.costs.rate import gemm_rate
from kerhrm.costs.reference import FILE, RATE, VERSIONS
from kerhrm.costs.sizes import size_of
from kerhrm.errors import KerhrmError
from kerhrm.reporting import results_page
from kerhrm.reporting.freeze import stored
from kerhrm.reporting.readme import COMPARISONS, sections, with_sections
from kerhrm.reporting.tables import is_stand_in, read_table
from kerhrm.reporting.verify import RUNS
from kerhrm.storage.arrays import atomic, write_text

DISTRIBUTION = "kerhrm"
FOLDERS = ("tables", "figures")
APPENDIX = RUNS[1]  #: folder of the development tables, below the reference


def publish(run: Path, checkout: Path, *, reference: Path, readme: Path) -> None:
    """Make a run, ``results/<preset>``, the one that others are compared with, and the README's.

    Tables, figures and the resolved configuration of `all` replace those in ``reference``, what
    made them and how long its jobs took is noted, and the README's measured sections and
    ``docs/results.md`` are written.
    Once ``checkout`` has frozen them that is a run at preset ``fresh``; one at preset ``paper``
    then goes to ``reference/development``, without figures, costs and README.

    Raises
    ------
    KerhrmError
        If the run is not complete, used stand-in data, was at another preset or is not what
        was frozen, or if the README lacks a section; nothing is written then.
    """
    frozen = stored(checkout)
    config = _config_of(run, *FOLDERS, presets=FULL if frozen else (DEVELOPMENT,))
    config["experiments"] = {n: e for n, e in config["experiments"].items() if e["in_all"]}
    tables = {e["table"] for e in config["experiments"].values()}
    _refuse_stand_ins(_cells(run, tables))
    if frozen:
        frozen.check_run(config, checkout)
    copies = {*tables, *(f"{table}{COMPARISONS}" for table in tables)}
    if frozen and config["preset"] == DEVELOPMENT:
        folder = reference / APPENDIX
        _replace(run / "tables", folder / "tables", copies)
        _note(folder, config)
        return
    link = os.path.relpath(reference / "tables", readme.parent)
    parts = sections(run, config["experiments"], link) | {results_page.SECTION: ""}
    text = with_sections(readme.read_text(encoding="utf-8"), parts)
    for name in FOLDERS:
        _replace(run / name, reference / name, copies)
    experiments = Config.model_validate(config).experiments
    costs = sized(measured(run), lambda key: size_of(key, experiments))
    write_text(reference / FILE, as_text(costs))
    _note(reference, config)
    write_text(readme, text)
    results_page.write(reference, checkout)


def publish_apart(run: Path, folder: Path, table: str) -> None:
    """Make the committed one of a table that is not in `all`; it has a folder of its own.

    Raises
    ------
    KerhrmError
        As :func:`publish`.
    """
    config = _config_of(run, "tables")
    shown = {n: e for n, e in config["experiments"].items() if e["table"] == table}
    _refuse_stand_ins(_cells(run, {table}))
    for name in FOLDERS:
        _copy(run / name, folder, {table, f"{table}{COMPARISONS}"})
    _note(folder, config | {"experiments": shown})


def publish_study(run: Path, folder: Path, study: str) -> None:
    """Make the committed one of a study: its effects, ``study``.csv, and their figure.

    Raises
    ------
    KerhrmError
        As :func:`publish`.
    """
    config = _config_of(run, f"{study}.csv", presets=FULL)
    shown = {n: e for n, e in config["experiments"].items() if n.startswith(f"{study}_")}
    _refuse_stand_ins([run / f"{study}.csv"])
    for source in (run, run / "figures"):
        _copy(source, folder, {study})
    _note(folder, config | {"experiments": shown})


def _refuse_stand_ins(cells: Iterable[Path]) -> None:
    for path in cells:
        if any(map(is_stand_in, read_table(path)["data_source"])):
            raise KerhrmError(f"{path} holds stand-in data", "give the raw files, see the README")


def _cells(run: Path, tables: Collection[str]) -> list[Path]:
    return [path for path in sorted(run.glob("tables/*.csv")) if path.stem in tables]


def _note(folder: Path, config: dict[str, Any]) -> None:
    """Write what made a folder's files: configuration, versions, and the machine's speed."""
    write_text(folder / "config.yaml", yaml.safe_dump(config, sort_keys=False))
    facts = provenance() | {RATE: round(gemm_rate(), 1)}
    write_text(folder / VERSIONS, json.dumps(facts, indent=2) + "\n")


def publish_tuned(run: Path, tuned: Path) -> None:
    """Make the choices of a run of `tune` those that other runs use.

    Raises
    ------
    KerhrmError
        If the search is missing or was not at preset ``paper``.
    """
    _config_of(run, "tuned")
    _copy(run / "tuned", tuned)


def provenance() -> dict[str, Any]:
    """Interpreter, machine, and installed versions of this package and of what it requires."""
    required = [r for r in requires(DISTRIBUTION) or [] if 'extra == "dev"' not in r]
    names = sorted((re.split(r"[^\w.-]", r, maxsplit=1)[0] for r in required), key=str.lower)
    packages = {}
    for name in (DISTRIBUTION, *names):
        with contextlib.suppress(PackageNotFoundError):
            packages[name] = version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "packages": packages,
    }


def _config_of(run: Path, *names: str, presets: Sequence[str] = (DEVELOPMENT,)) -> dict[str, Any]:
    """The configuration of a run at one of these presets that has ``names``."""
    for name in ("config.yaml", *names):
        if not (run / name).exists():
            raise KerhrmError(f"{run} has no {name}", "run the workflow first")
    config = read(run / "config.yaml").content
    if config["preset"] not in presets:
        cure = (
            "run `kerhrm freeze` first" if config["preset"] == FRESH else "run without preset=..."
        )
        raise KerhrmError(f"{run} is no run at preset {' or '.join(presets)}", cure)
    return config


def _replace(source: Path, target: Path, stems: Collection[str]) -> None:
    """Copy a folder's files with these ``stems``; others that are in ``target`` go."""
    copied = _copy(source, target, stems)
    for path in {*target.glob("*")} - copied:
        path.unlink()


def _copy(source: Path, target: Path, stems: Collection[str] | None = None) -> set[Path]:
    """Copy a folder's files, each of which is whole at any time; hidden ones are jobs' own.

    All of them, or those with one of these ``stems``.
    """
    files = {
        target / path.name: path
        for path in source.glob("[!.]*")
        if stems is None or path.stem in stems
    }
    for copy, path in files.items():
        with atomic(copy) as handle:
            handle.write(path.read_bytes())
    return set(files)
