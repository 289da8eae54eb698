"""What is known of one cell of a table.

Seeds, options, files, and how to make it again.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.paper.reporting.publish import facts
from kerhrm.paper.reporting.run import KEYS, Run
from kerhrm.paper.runs import provenance


def explain(
    run: Run,
    table: str,
    setting: str,
    method: str,
    metric: str,
    *,
    selection: str | None = None,
    root: Path = Path(),
) -> dict[str, Any]:
    """What a run's folder and the checkout know of a cell, JSON-able.

    ``cell``, its row; ``seeds`` and their values; ``options`` of data and learner as
    configured; ``files`` that it was made from, with digests; ``commit`` and
    ``command``.

    Raises KerhrmError if there is no such cell; the hint has those that are there.
    """
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
    made = run.provenance.get("tables", {}).get(table) or facts(run.preset(), root)
    found = {
        "cell": cell,
        **{key: made.get(key) for key in ("preset", "commit", "command")},
    }
    if not run.has(f"scores/{table}.csv.gz"):
        return found
    scores = run.scores(table)
    own = scores[(scores[KEYS] == pd.Series(cell)[KEYS]).all(axis=1)]
    data, learner = own[["data", "learner"]].iloc[0]
    configured = dict(run.config.get("data", {}).get(data) or {})
    options = {
        key: configured[key] for key in configured if key not in ("settings", "tuning")
    }
    learners = run.config.get("learners", {})
    return found | {
        "seeds": own[["seed", "value"]].to_dict("records"),
        "options": {"data": options, "learner": learners.get(learner)},
        "files": _files(run, f"tables/{table}.csv", f"{data}/", f"/{learner}/"),
    }


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
