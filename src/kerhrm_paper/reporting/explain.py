"""What is known of one cell of a table.

Seeds, options, files, and how to make it again.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.config import CHECKOUT
from kerhrm_paper.reporting.options import RunOptions
from kerhrm_paper.reporting.publish import facts
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

    ``cell``, its row; ``command`` that makes it; ``commit``; ``seeds``, their values
    and what the method itself chose on each; ``options`` of data, network, features
    and learner: every value in force, and where it stands; ``files`` that it was made
    from, with digests.

    Raises KerhrmError if there is no such cell; the hint has those that are there.
    """
    if table not in run.tables:
        problem = f"{run.folder} has no table '{table}'"
        raise KerhrmError(problem, f"it has {', '.join(run.tables) or 'none'}")
    cells = run.cells(table)
    wanted = dict(zip(KEYS, (setting, method, metric, selection), strict=True))
    for key, value in wanted.items():
        if value is not None:
            known = "; ".join(dict.fromkeys(cells[key]))
            cells = cells[cells[key] == value]
            if cells.empty:
                problem = f"{run.folder}/tables/{table}.csv has no {key} {value!r}"
                raise KerhrmError(problem, f"it has {known}")
    cell = cells.iloc[0].dropna().to_dict()
    made = run.provenance.get("tables", {}).get(table) or facts(
        run.preset(), root, table
    )
    found = {
        "cell": cell,
        **{key: made.get(key) for key in ("preset", "commit", "command")},
    }
    if not run.has(f"scores/{table}.csv.gz"):
        return found
    scores = run.scores(table)
    rows = scores[(scores[KEYS] == pd.Series(cell)[KEYS]).all(axis=1)]
    data, learner = rows[["data", "learner"]].iloc[0]
    found |= {"data": data, "learner": learner or None}
    found["seeds"] = rows[["seed", "value"]].to_dict("records")
    try:
        options = RunOptions(run, root)
        found["command"] = options.command(table, data, learner)
        found["options"] = options.of_data(data)
        if learner:
            found["options"]["learner"] = options.of_learner(data, learner)
            chosen = options.chosen(data, learner)
            for seed, one in zip(found["seeds"], chosen, strict=False):
                seed["chosen"] = one
            learner = options.trained(data, learner)
    except KerhrmError as error:
        found["options"] = f"unknown: {error}"
    found["files"] = _files(run, f"tables/{table}.csv", f"{data}/", f"/{learner}/")
    return found


def _files(run: Run, name: str, data: str, learner: str) -> list[dict[str, Any]]:
    """Files that one was made of, from the last to the first, as the jobs have noted
    them."""
    if published := run.provenance.get("files"):
        return [{"file": name, "sha256": published.get(name)}]

    def own(part: str) -> bool:  # scores are made of other learners' files, too
        others = part.endswith("/predictions.npz") and learner not in part
        return (part.startswith(data) and not others) or part.count("/") < 2

    return [
        {"file": one} | {key: record[key] for key in ("rule", "sha256", "params")}
        for one, record in provenance.ancestors(run.folder, [name], own)
    ]
