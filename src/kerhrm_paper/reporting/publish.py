"""Make a run, or some of its tables, the published ones."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import atomic, write_text
from kerhrm_paper.reporting.notebooks import render
from kerhrm_paper.reporting.options import RunOptions
from kerhrm_paper.reporting.publication import PUBLISHED, facts, write_provenance
from kerhrm_paper.reporting.publish_checks import (
    check_cells,
    check_made_of,
    check_options,
    check_published,
    check_replaced,
    check_tables,
    check_target,
    held,
)
from kerhrm_paper.reporting.publish_lock import publishing
from kerhrm_paper.reporting.published_endpoints import (
    endpoints_of,
    is_of_other_band,
    write_again,
)
from kerhrm_paper.reporting.restored import restored_on_error
from kerhrm_paper.reporting.run import BAND, COMPARISONS, ENDPOINTS, Run
from kerhrm_paper.runs import costs
from kerhrm_paper.runs.origin import origin
from kerhrm_paper.runs.provenance import check

#: files of several tables at once, with the start of these tables' names
MADE_OF = {"choices.csv": "choices_", BAND: "as_printed_"}
REPORT = "report.html"  #: that follows from all that is published


@dataclass(frozen=True)
class Plan:
    """What is published where.

    Attributes
    ----------
    run : Run
        Whose files they are.
    target : path
        Folder that they are copied to.
    tables : list of str
        Names of the tables.
    root : path
        The checkout.
    is_whole : bool
        Whether the run takes the place of all that is published.
    is_apart : bool
        Whether the tables lie in a folder of their preset, without scores or report.
    """

    run: Run
    target: Path
    tables: list[str]
    root: Path
    is_whole: bool
    is_apart: bool

    def needed(self) -> list[str]:
        """Files that the run must have."""
        files = [f"tables/{name}.csv" for name in self.tables]
        if self.is_whole:
            files += ["claims.csv", ENDPOINTS]
        if not self.is_apart:
            files += [f"scores/{name}.csv.gz" for name in self.tables]
        return files

    def optional(self) -> list[str]:
        """Files that are published where the run has them."""
        files = [f"tables/{name}{COMPARISONS}.csv" for name in self.tables]
        if not self.is_apart:
            files += [f"figures/{name}.png" for name in self.tables]
        if self.is_whole:
            files += ["figures/endpoints.png", "figures/selection.png"]
        if self.is_whole or self.is_apart or self.brings_configuration():
            files.append("config.yaml")
        for name, prefix in MADE_OF.items():
            is_of_these = any(table.startswith(prefix) for table in self.tables)
            if self.is_whole or (is_of_these and not self.is_apart):
                files.append(name)
        return [name for name in files if self.run.has(name)]

    def written(self, files: Sequence[str]) -> dict[str, Path | None]:
        """All files that are written, those of the run with their place in it."""
        written: dict[str, Path | None] = {costs.FILE: None}
        if not self.is_apart:
            written[REPORT] = None
        for name in files:
            written[name] = self.run.folder / name
        return written

    def brings_configuration(self) -> bool:
        """Whether the run's configuration knows all that is published, and more or one
        of the tables otherwise, or is the first one.

        Pictures that are drawn again have their titles from it.
        """
        published = Run(self.target)
        if not self.run.has("config.yaml"):
            return False
        if not published.has("config.yaml"):
            return True
        of_run = self.run.config
        known = published.config
        is_changed = bool(of_run.get("changes"))
        is_alike = of_run.get("preset") == known.get("preset") and not is_changed
        before = known.get("tables") or {}
        tables = of_run.get("tables") or {}
        says_more = tables.keys() > before.keys()
        says_otherwise = any(
            tables.get(name) != before.get(name) for name in self.tables
        )
        knows_all = tables.keys() >= before.keys()
        return is_alike and knows_all and (says_more or says_otherwise)


def publish(
    run: Run, reference: Path, tables: Sequence[str] = (), root: Path = Path()
) -> Path:
    """Copy what a run shows, and note what made it in ``provenance.json``.

    A run at preset ``fresh`` goes to ``reference`` with its scores, figures and claims,
    and the report there is made anew; of another preset the tables alone, to
    ``reference/PRESET``.  Some ``tables`` by name go to ``reference`` whatever their
    preset.

    Parameters
    ----------
    run : Run
        That is published.
    reference : path
        Folder of what is published.
    tables : sequence of str
        Names of some tables; empty: all.
    root : path
        The checkout.

    Returns
    -------
    path
        The folder.

    Raises
    ------
    KerhrmError
        If a file is missing, has changed since a job made it or was made of others than
        the run has now; if a table holds stand-ins for real data, a failed cell or
        other options than the preset's; if another command is at work in the run, or it
        is one of ``kerhrm compete``; if the folder holds other files than published
        ones, or some that were edited, or a link or a file of the user's would be
        replaced; if another process publishes there.  After any error the files that
        were written are as they were before.
    """
    preset = run.preset()
    is_whole = not tables and preset == PUBLISHED
    is_apart = not tables and not is_whole
    target = reference / preset if is_apart else reference
    check_target(target, run)
    with held(run):
        _check_run(run, tables)
        names = list(tables) or run.tables
        check_cells(run, names)
        check_options(run, names)
        plan = Plan(
            run=run,
            target=target,
            tables=names,
            root=root,
            is_whole=is_whole,
            is_apart=is_apart,
        )
        with publishing(reference):
            _publish(plan)
    return target


def _check_run(run: Run, tables: Sequence[str]) -> None:
    """Refuse a contest, and a run without what is published."""
    if run.competing:
        names_of_methods = ", ".join(run.competing)
        problem = f"{run.folder} is a contest of {names_of_methods}"
        raise KerhrmError(problem, "give a run of snakemake, as results/fresh")
    check_tables(run, tables)


def _publish(plan: Plan) -> None:
    """Write the files of a plan, once they are checked."""
    run = plan.run
    target = plan.target
    needed = plan.needed()
    for name in needed:
        if not run.has(name):
            problem = f"{run.folder / name} does not exist"
            raise FileError(problem, "make it with snakemake")
    files = needed + plan.optional()
    paths = [run.folder / name for name in files]
    check(run.folder, paths)
    check_made_of(run, files)
    check_published(target, [*files, REPORT])
    check_replaced(target, plan.written(files), "move it, or give another folder")
    # before costs had a note, what does not read as costs was edited
    costs.stored(target / costs.FILE)
    with restored_on_error(target):
        _write(plan, files)


def _write(plan: Plan, files: Sequence[str]) -> None:
    """Copy files of a run, and make costs, report and provenance follow."""
    run = plan.run
    target = plan.target
    preset = run.preset()
    before = Run(target).provenance
    made = before.get("tables") or {}
    for table in plan.tables:
        made[table] = facts(run, preset, table, f"tables/{table}.csv")
    for name in files:
        with atomic(target / name) as handle:
            content = (run.folder / name).read_bytes()
            handle.write(content)
    _write_costs(plan)
    changes: dict[str, Any] = {"tables": made}
    if plan.is_whole:
        changes |= {"again": None, "endpoints": None}
    written = [*files, costs.FILE]
    if not plan.is_apart:
        check_checkout(plan.root)
        noted = {*(before.get("files") or {}), *files}
        computed = _compute_endpoints(plan, noted)
        if computed:
            names = " ".join([str(run.folder), *plan.tables])
            made_by = {"command": f"kerhrm publish {names}", "files": computed}
            changes["endpoints"] = made_by | origin(plan.root)
            written += computed
    write_provenance(target, written, changes)
    if plan.is_apart:
        return
    write_report(target, plan.root)
    write_provenance(target, [REPORT], {})


def _compute_endpoints(plan: Plan, noted: Collection[str]) -> list[str]:
    """Make the endpoints, where they were published, follow from what is published now.

    Those of a whole run are its own, unless they are of another band.  ``noted`` are
    all files that are published; returns those that were written.
    """
    if ENDPOINTS not in noted:
        return []
    published = Run(plan.target)
    if plan.is_whole:
        is_outdated = is_of_other_band(plan.run, published)
    else:
        spec = endpoints_of(plan.root)
        compared = {*spec.tables, *spec.band.tables.values()}
        is_outdated = not compared.isdisjoint(plan.tables)
    return write_again(published, plan.root, noted) if is_outdated else []


def _write_costs(plan: Plan) -> None:
    """Costs of the run's jobs, in the place of earlier ones of the same jobs.

    Those of other jobs stay where the run has not made all that is published.
    """
    path = plan.target / costs.FILE
    measured = costs.measured(plan.run.folder)
    others = {*Run(plan.target).tables} - {*plan.tables}
    is_part = not (plan.is_whole or plan.is_apart)
    if is_part or others:
        stored = costs.stored(path)
        measured = pd.concat([stored, measured])
    keys = ["rule", "place"]
    latest = measured.drop_duplicates(keys, keep="last")
    latest = latest.sort_values(keys)
    latest = latest.astype({"seconds": float, "memory_mb": float})
    content = latest.to_csv(sep="\t", index=False, float_format="%.4g")
    write_text(path, content)


def check_checkout(root: Path) -> Path:
    """The notebook of the report; refuse a folder that has none."""
    notebook = root / "notebooks" / "report.ipynb"
    if not notebook.is_file():
        problem = (
            f"{Path.cwd()} is not a checkout of the workflow: it has no {notebook}"
        )
        raise KerhrmError(problem, "cd to the checkout, and run the command there")
    return notebook


def write_report(target: Path, root: Path) -> None:
    """The page of what is published now."""
    notebook = check_checkout(root)
    selected = _selected(Run(target), root)
    with TemporaryDirectory() as folder:
        executed = Path(folder, notebook.name)
        page = target / REPORT
        render(notebook, executed, page, run=str(target), selected=selected)


def _selected(run: Run, root: Path) -> list[list[Any]]:
    """The hyperparameters of the tables that the run's configuration knows.

    Empty if this version cannot read the configuration.
    """
    try:
        config = RunOptions(run, root).config
    except KerhrmError:
        return []
    known = [name for name in run.tables if name in config.tables]
    return config.selected(*known)
