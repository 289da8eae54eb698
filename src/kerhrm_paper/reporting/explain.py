"""What is known of one cell of a table.

Seeds, options, files, and how to make it again.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import FileError, KerhrmError
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.evaluation.crossed import of_independent_seeds
from kerhrm_paper.evaluation.tables import where
from kerhrm_paper.reporting.command import command_of, contest_command
from kerhrm_paper.reporting.options import RunOptions
from kerhrm_paper.reporting.publication import facts
from kerhrm_paper.reporting.run import KEYS, Run
from kerhrm_paper.runs import provenance


def explain(
    run: Run,
    table: str,
    setting: str,
    method: str,
    metric: str,
    *,
    selection: str | None = None,
    root: Path = CHECKOUT,
) -> dict[str, Any]:
    """What a run's folder and the checkout know of a cell, JSON-able.

    Parameters
    ----------
    run : Run
        Whose cell it is.
    table, setting, method, metric : str
        Names of the cell.
    selection : str, optional
        Criterion of the cell; the first one if it is None.
    root : path
        The checkout.

    Returns
    -------
    dict
        ``cell``, its row; ``command`` that makes it; ``refused``, why this checkout
        does not take that, if it does not; ``commit``; ``seeds``, their values and what
        the method itself chose on each; ``options`` of data, network, features and
        learner: every value in force, and where it stands; ``files`` that it was made
        from, with digests.

    Raises
    ------
    KerhrmError
        If there is no such cell; the hint has those that are there.
    """
    if not run.tables:
        problem = f"{run.folder} has no tables"
        raise FileError(problem, "cd to a checkout, or give --run the folder of a run")
    run.check_table(table)
    run.check_unchanged(f"tables/{table}.csv")
    names = (setting, method, metric, selection)
    wanted = dict(zip(KEYS, names, strict=True))
    cell = _find(run, table, wanted)
    published = run.provenance.get("tables") or {}
    made = published.get(table)
    if not made:
        made = facts(run, run.preset(), table, f"tables/{table}.csv")
    explanation: dict[str, Any] = {"cell": cell}
    for key in ("preset", "commit", "command"):
        explanation[key] = made.get(key)
    if run.competing:
        explanation["command"] = contest_command(run, table)
    if not run.has(f"scores/{table}.csv.gz"):
        return explanation
    rows = _scores(run, table, cell)
    first = rows.iloc[0]
    data = first["data"]
    learner = first["learner"]
    explanation["data"] = data
    explanation["learner"] = learner or None
    values = rows[["seed", "value"]]
    explanation["seeds"] = values.to_dict("records")
    trained = learner
    try:
        options = RunOptions(run, root)
        _add_options(explanation, options, table)
        trained = options.trained(data, learner) if learner else learner
    except KerhrmError as error:
        explanation["options"] = f"unknown: {error}"
    explanation["files"] = _files(run, table, data, trained)
    return explanation


def _add_options(explanation: dict[str, Any], options: RunOptions, table: str) -> None:
    """Add the command and the options of a cell, and what was chosen on each seed."""
    data = explanation["data"]
    learner = explanation["learner"]
    command = command_of(options, table, data, learner or "")
    explanation["command"] = command.text
    if command.refused:
        explanation["refused"] = command.refused
    explanation["options"] = options.of_data(data)
    if not learner:
        return
    explanation["options"]["learner"] = options.of_learner(data, learner)
    choices = options.chosen(data, learner)
    for seed, chosen in zip(explanation["seeds"], choices, strict=False):
        seed["chosen"] = chosen


def _scores(run: Run, table: str, cell: dict[str, Any]) -> pd.DataFrame:
    """Values of a cell's seeds; KerhrmError if the file does not have all of them.

    A cell of crossed seeds counts data sets, of which each has several of them.
    """
    file = f"scores/{table}.csv.gz"
    run.check_unchanged(file)
    names = {key: cell[key] for key in KEYS}
    rows = where(run.scores(table), **names)
    n_seeds = int(cell["n_seeds"])
    n_independent = len(of_independent_seeds(rows))
    if n_independent != n_seeds:
        problem = f"it has {n_independent} of the cell's {n_seeds} seeds"
        path = run.folder / file
        raise FileError(f"{path} is damaged ({problem})", run.mending(file))
    return rows


def _find(run: Run, table: str, names: dict[str, str | None]) -> dict[str, Any]:
    """The first row of a table that has the names of a cell; None fits every name."""
    cells = run.cells(table)
    for key, name in names.items():
        if name is None:
            continue
        distinct = dict.fromkeys(cells[key])
        known = "; ".join(distinct)
        wanted = {key: name}
        cells = where(cells, **wanted)
        if cells.empty:
            problem = f"{run.folder}/tables/{table}.csv has no {key} {name!r}"
            raise KerhrmError(problem, f"it has {known}")
    first = cells.iloc[0]
    known_values = first.dropna()
    return known_values.to_dict()


def _files(run: Run, table: str, data: str, learner: str) -> list[dict[str, Any]]:
    """Files that a cell was made of, from the last to the first, as the jobs have noted
    them."""
    name = f"tables/{table}.csv"
    published = run.provenance.get("files")
    if published:
        sha256 = published.get(name)
        return [{"file": name, "sha256": sha256}]

    def is_of_cell(file: str) -> bool:
        if file.count("/") < 2:  # of the whole run, or of a table
            return True
        # scores are made of other learners' files, too
        is_predictions = file.endswith("/predictions.npz")
        is_other_learner = is_predictions and f"/{learner}/" not in file
        return file.startswith(f"{data}/") and not is_other_learner

    files = []
    ancestors = provenance.ancestors(run.folder, [name], is_of_cell)
    for file, record in ancestors:
        files.append(
            {
                "file": file,
                "rule": record.get("rule"),
                "sha256": record["sha256"],
                "params": record.get("params"),
            }
        )
    return files
