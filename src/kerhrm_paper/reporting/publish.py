"""Make a run, or some of its tables, the published ones."""

import json
import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import atomic, write_text
from kerhrm_paper.evaluation.tables import FALLBACK
from kerhrm_paper.reporting.notebooks import render
from kerhrm_paper.reporting.options import RunOptions
from kerhrm_paper.reporting.run import COMPARISONS, Run
from kerhrm_paper.runs import costs
from kerhrm_paper.runs.provenance import check, digest

#: preset of the published tables; others lie in a folder of their preset's name
PUBLISHED = "fresh"


def publish(
    run: Run, reference: Path, tables: Sequence[str] = (), root: Path = Path()
) -> Path:
    """Copy what a run shows, and note what made it in ``provenance.json``.

    Return the folder.

    A run at preset ``fresh`` goes to ``reference`` with its scores, figures and claims,
    and the report there is made anew; of another preset the tables alone, to
    ``reference/PRESET``. Some ``tables`` by name go to ``reference`` whatever their
    preset.  ``root`` is the checkout.

    Raises KerhrmError if a file is missing or has changed since a job made it, a table
    holds stand-ins for real data or a failed cell, or the folder holds other files than
    published ones.  After any error the folder is as it was.
    """
    preset = run.preset()
    whole = not tables and preset == PUBLISHED
    apart = not tables and not whole
    target = reference / preset if apart else reference
    _check_target(target, run)
    names = list(tables) or run.tables
    cells = run.cells(*names)
    replaced = cells["data_source"].str.startswith(FALLBACK)
    raw = "set KERHRM_RAW_DIR to a folder of raw files, run again, then publish"
    for rows, what, hint in (
        (replaced, "stand-ins for real data", raw),
        (cells["verdict"] == "failed", "failed cells", "run it again, then publish"),
    ):
        if rows.any():
            where = ", ".join(dict.fromkeys(cells.loc[rows, "table"]))
            raise KerhrmError(f"{run.folder} has {what} in {where}", hint)
    files = [f"tables/{name}.csv" for name in names] + [
        "claims.csv",
        "endpoints.csv",
    ] * whole
    files += [] if apart else [f"scores/{name}.csv.gz" for name in names]
    if gone := [name for name in files if not run.has(name)]:
        raise FileError(
            f"{run.folder / gone[0]} does not exist", "make it with snakemake"
        )
    more = [f"tables/{name}{COMPARISONS}.csv" for name in names]
    more += (
        []
        if apart
        else [f"figures/{name}.png" for name in (*names, "endpoints", "selection")]
    )
    more += ["config.yaml"] * (not tables) + ["choices.csv"] * (not apart)
    files += [name for name in more if run.has(name)]
    check(run.folder, [run.folder / name for name in files])
    with restored_on_error(target):
        _write(run, target, names, files, root, whole=whole, apart=apart)
    return target


@contextmanager
def restored_on_error(target: Path) -> Iterator[None]:
    """Put a folder back as it was if what follows fails."""
    with TemporaryDirectory() as folder:
        before = Path(folder, "before")
        if target.is_dir():
            shutil.copytree(target, before)
        try:
            yield
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            if before.is_dir():
                shutil.copytree(before, target)
            raise


def _write(
    run: Run,
    target: Path,
    names: list[str],
    files: list[str],
    root: Path,
    *,
    whole: bool,
    apart: bool,
) -> None:
    """Copy files of a run, and make costs, report and provenance follow."""
    preset = run.preset()
    made = Run(target).provenance.get("tables", {})
    made |= {name: facts(preset, root, name) for name in names}
    for name in files:
        with atomic(target / name) as handle:
            handle.write((run.folder / name).read_bytes())
    if not apart:
        earlier = [] if whole else [costs.stored(target / costs.FILE)]
        every = pd.concat([*earlier, costs.measured(run.folder)])
        every = every.drop_duplicates(["rule", "place"], keep="last").sort_values(
            ["rule", "place"]
        )
        write_text(
            target / costs.FILE,
            every.to_csv(sep="\t", index=False, float_format="%.4g"),
        )
    write_provenance(target, made)
    if not apart:
        with TemporaryDirectory() as folder:
            notebook = root / "notebooks" / "report.ipynb"
            executed, page = Path(folder, notebook.name), target / "report.html"
            shown = _selected(Run(target), root)
            render(notebook, executed, page, run=str(target), selected=shown)
        write_provenance(target, made)


def _selected(run: Run, root: Path) -> list[list[Any]]:
    """The hyperparameters of the tables that the run's configuration knows.

    None, if this version cannot read it.
    """
    try:
        config = RunOptions(run, root).config
    except KerhrmError:
        return []
    return config.selected(*(name for name in run.tables if name in config.tables))


def _check_target(target: Path, run: Run) -> None:
    """Refuse a folder with files that are not published ones, such as a run's."""
    if target.resolve() == run.folder.resolve():
        raise KerhrmError(f"{target} is the run itself", "name another --reference")
    if target.is_dir() and any(target.iterdir()) and not Run(target).provenance:
        problem = f"{target} holds files that are not published ones"
        raise KerhrmError(problem, "name a new folder, or one of an earlier publish")


def write_provenance(target: Path, tables: dict[str, Any]) -> None:
    """Write ``provenance.json``: what made each table, and the digest of every file."""
    own = {PUBLISHED, *(path.parent.name for path in target.glob("*/config.yaml"))}
    files = {
        path.relative_to(target).as_posix(): digest(path)
        for path in sorted(target.rglob("*"))
        if path.is_file()
        and path.name not in ("provenance.json", costs.FILE)
        and path.relative_to(target).parts[0] not in own
    }
    content = json.dumps({"tables": tables, "files": files}, indent=1, sort_keys=True)
    write_text(target / "provenance.json", content + "\n")


def facts(preset: str, root: Path, table: str) -> dict[str, Any]:
    """Preset, commit (which locks the packages), interpreter, machine and command of a
    table."""
    command = f"snakemake --cores 2 {table} --config preset={preset}"
    machine = {"python": platform.python_version(), "platform": platform.platform()}
    return {"preset": preset, "commit": commit(root), "command": command, **machine}


def commit(root: Path) -> str | None:
    """Hash of the checkout's commit, "+" behind it if code has changed since.

    None without git.
    """
    git = ["git", "-C", str(root)]
    changed = [*git, "diff", "--quiet", "HEAD", "--", "src", "config"]
    try:
        done = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
        return done.stdout.strip() + "+" * bool(subprocess.run(changed).returncode)
    except (OSError, subprocess.CalledProcessError):
        return None
