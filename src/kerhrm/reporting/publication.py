"""What a run leaves in the repository, once it is asked to."""

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from kerhrm.reporting.explain.lineage import JOBS, Records
from kerhrm.reporting.freeze import stored
from kerhrm.reporting.provenance import MADE_WITH, made_with, provenance
from kerhrm.reporting.readme import COMPARISONS, sections, written
from kerhrm.reporting.tables import is_stand_in, read_table
from kerhrm.reporting.variants import SUFFIX
from kerhrm.reporting.verify import RUNS
from kerhrm.storage.arrays import atomic, write_text

FOLDERS = ("tables", "figures")
#: of a run, with a file for every experiment
BY_EXPERIMENT = ("scores", "choices", "restarts")
NOTEBOOKS = "notebooks"
APPENDIX = RUNS[1]  #: folder of the development tables, below the reference


def publish(run: Path, checkout: Path, *, reference: Path) -> None:
    """Make a run, ``results/<preset>``, the one that others are compared with, and the pages'.

    Tables, figures, executed notebooks, the scores of every seed with what was chosen in it, and
    the resolved configuration of `all` replace those in ``reference``; what made them, by which
    jobs and how long those took is noted, and the pages' measured sections and ``docs/results.md``
    are written.
    Once ``checkout`` has frozen them that is a run at preset ``fresh``; one at preset ``paper``
    then goes to ``reference/development``, tables alone.

    Raises
    ------
    KerhrmError
        If the run is not complete, used stand-in data, was at another preset or is not what
        was frozen, or if a page lacks a section; nothing is written then.
    """
    frozen = stored(checkout)
    config = _config_of(run, *FOLDERS, presets=FULL if frozen else (DEVELOPMENT,))
    config["experiments"] = {n: e for n, e in config["experiments"].items() if e["in_all"]}
    tables = {e["table"] for e in config["experiments"].values()}
    _refuse_stand_ins(_cells(run, tables))
    if frozen:
        frozen.check_run(config, checkout)
    copies = _stems(tables)
    if frozen and config["preset"] == DEVELOPMENT:
        folder = reference / APPENDIX
        _replace(run / "tables", folder / "tables", copies)
        _note(folder, config, checkout)
        return
    _refuse_gaps(run, config["experiments"])
    link = os.path.relpath(reference / "tables", checkout / "docs")
    parts = sections(run, config["experiments"], link) | {results_page.SECTION: ""}
    pages = written(checkout, parts)
    for name in FOLDERS:
        _replace(run / name, reference / name, copies)
    _replace(run / NOTEBOOKS, reference / NOTEBOOKS, tables)
    for name in BY_EXPERIMENT:
        _replace(run / name, reference / name, config["experiments"])
    _note_costs(run, reference, config)
    _note(reference, config, checkout)
    _note_jobs(run, reference, tables, checkout)
    for path, text in pages.items():
        write_text(path, text)
    results_page.write(reference, checkout)


def publish_apart(
    run: Path,
    folder: Path,
    table: str,
    checkout: Path = Path(),
    *,
    today: Mapping[str, Any] | None = None,
) -> None:
    """Make the committed one of a table that is not in `all`; it has a folder of its own.

    Beside the table lie its notebook and, in folders, scores and choices of every seed.

    Raises
    ------
    KerhrmError
        As :func:`publish`; or if the run's configuration is not that of ``today``, all experiments
        as they are configured now.
    """
    config = _config_of(run, "tables")
    shown = _shown(run, config, today, lambda _, e: e["table"] == table)
    _refuse_stand_ins(_cells(run, {table}))
    _refuse_gaps(run, shown)
    for name in (*FOLDERS, NOTEBOOKS):
        _copy(run / name, folder, _stems({table}))
    for name in BY_EXPERIMENT:
        _replace(run / name, folder / name, shown)
    config["experiments"] = shown
    _note_costs(run, folder, config)
    _note(folder, config, checkout)
    _note_jobs(run, folder, {table}, checkout)


def publish_study(
    run: Path,
    folder: Path,
    study: str,
    checkout: Path = Path(),
    *,
    today: Mapping[str, Any] | None = None,
) -> None:
    """Make the committed one of a study: its effects, ``study``.csv, and their figure.

    Raises
    ------
    KerhrmError
        As :func:`publish_apart`.
    """
    config = _config_of(run, f"{study}.csv", presets=FULL)
    shown = _shown(run, config, today, lambda name, _: name.startswith(f"{study}_"))
    _refuse_stand_ins([run / f"{study}.csv"])
    for source in (run, run / "figures"):
        _copy(source, folder, {study})
    _note(folder, config | {"experiments": shown}, checkout)


def _refuse_stand_ins(cells: Iterable[Path]) -> None:
    for path in cells:
        if any(map(is_stand_in, read_table(path)["data_source"])):
            raise KerhrmError(f"{path} holds stand-in data", "give the raw files, see the README")


def _shown(
    run: Path,
    config: Mapping[str, Any],
    today: Mapping[str, Any] | None,
    wanted: Callable[[str, Mapping[str, Any]], bool],
) -> dict[str, Any]:
    """Experiments of a run's configuration that are ``wanted``, once they are those of ``today``.

    A run that was told not to look at parameters leaves the configuration of an earlier one.
    """
    shown = {n: e for n, e in config["experiments"].items() if wanted(n, e)}
    if today is not None and shown != {n: e for n, e in today.items() if wanted(n, e)}:
        path = run / "config.yaml"
        problem = f"{path} is not what is configured now, so that it may not tell what made the run"
        raise KerhrmError(problem, f"delete {path} and publish again, if the run is of today's")
    return shown


def _refuse_gaps(run: Path, experiments: Iterable[str]) -> None:
    """What a run has by experiment may be gone, though its tables stand."""
    files = [run / kind / f"{name}.csv" for kind in BY_EXPERIMENT for name in experiments]
    if gone := [str(path) for path in files if not path.exists()]:
        raise KerhrmError(f"{gone[0]} is not there", f"run `snakemake {' '.join(gone)}`")


def _stems(tables: Iterable[str]) -> set[str]:
    """Names of the files that belong to tables."""
    return {f"{table}{end}" for table in tables for end in ("", COMPARISONS, SUFFIX)}


def _cells(run: Path, tables: Collection[str]) -> list[Path]:
    return [path for path in sorted(run.glob("tables/*.csv")) if path.stem in tables]


def as_yaml(config: Mapping[str, Any]) -> str:
    """A configuration in which equal sections, as those of a study's settings, are written once."""
    known: dict[str, dict[str, Any]] = {}

    def shared(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        section = {name: shared(part) for name, part in value.items()}
        return known.setdefault(json.dumps(section), section) if section else section

    return yaml.safe_dump(shared(config), sort_keys=False)


def _note(folder: Path, config: Mapping[str, Any], checkout: Path) -> None:
    """Write what made a folder's files: configuration, versions, code, and the machine's speed."""
    write_text(folder / "config.yaml", as_yaml(config))
    facts = provenance() | {RATE: round(gemm_rate(), 1), MADE_WITH: made_with(checkout)}
    write_text(folder / VERSIONS, json.dumps(facts, indent=2) + "\n")


def _note_costs(run: Path, folder: Path, config: Mapping[str, Any]) -> None:
    """Write what the jobs of these experiments took, and those that have no experiment."""
    experiments = Config.model_validate(config).experiments
    costs = {
        key: cost for key, cost in measured(run).items() if len(key) < 3 or key[1] in experiments
    }
    write_text(folder / FILE, as_text(sized(costs, lambda key: size_of(key, experiments))))


def _note_jobs(run: Path, folder: Path, tables: Collection[str], checkout: Path) -> None:
    """Write which jobs have made these tables, and hashes of all that they have left."""
    records = Records.of_run(run, checkout)
    ends = [f"{NOTEBOOKS}/{table}.ipynb" for table in sorted(tables)]
    ends += [f"tables/{table}.csv" for table in sorted(tables)]
    write_text(folder / JOBS, records.as_text(records.behind(ends)))


def publish_tuned(run: Path, tuned: Path) -> None:
    """Make the choices of a run of `tune` those that other runs use.

    Raises
    ------
    KerhrmError
        If the search is missing or was not at preset ``paper``.
    """
    _config_of(run, "tuned")
    _copy(run / "tuned", tuned)


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
