"""Option sets of the contest: one choice per experiment, method and rule.

The score of an option set is its mean over the seeds and settings of the search, which no table
uses; each seed and setting is scored by a rule (:mod:`kerhrm.scoring.rules`).
"""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from kerhrm.algorithm.options import KerHRM
from kerhrm.data.dataset import Files
from kerhrm.entries import load
from kerhrm.methods.registry import METHODS, ROWS
from kerhrm.scoring.rules import RULES
from kerhrm.storage.arrays import load_arrays, write_text

COLUMNS = ["method", "rule", "setting", "candidate", "options", "score", "std", "n_seeds"]
#: the method whose own choice KerHRM's steps take over
GRID = "kerhrm_grid"


def search(
    predictions: Mapping[tuple[str, str, str], str | PathLike[str]],
    data: Mapping[str, Files],
    options: Mapping[str, Sequence[Mapping[str, Any]]],
) -> pd.DataFrame:
    """Score every option set of every method in every setting by every rule it can have.

    Gives the columns :data:`COLUMNS`; ``score`` is a mean over seeds, ``std`` has ddof = 1.  The
    score of a method with two rows is the mean of both, for one option set has to serve both.

    Parameters
    ----------
    predictions : mapping
        By (setting, method, stem of the row) the file of
        :class:`kerhrm.data.predictions.Trial`, C option sets.
    data : mapping
        By setting the data set's files that the rules name.
    options : mapping
        By method what distinguishes its C option sets.
    """
    rows = []
    of_method: dict[tuple[str, str], dict[str, dict[str, np.ndarray]]] = {}
    for (setting, method, stem), path in predictions.items():
        of_method.setdefault((setting, method), {})[stem] = load_arrays(path)[0]
    for (setting, method), files in of_method.items():
        for rule in map(RULES.__getitem__, METHODS[method].rules):
            parts = [
                rule.score(arrays, data[setting], ROWS[stem].closed_form)
                for stem, arrays in files.items()
            ]
            scores = np.mean(parts, axis=0)  # (B, C)
            told = [json.dumps(one, sort_keys=True) for one in options[method]]
            for number, (one, score) in enumerate(zip(told, scores.T, strict=True)):
                spread = float(score.std(ddof=1)) if len(score) > 1 else float("nan")
                row = (method, rule.name, setting, number, one)
                rows.append((*row, float(score.mean()), spread, len(score)))
    return pd.DataFrame(rows, columns=COLUMNS)


def best(scores: pd.DataFrame) -> dict[str, dict[str, dict[str, Any]]]:
    """Options by method and rule of the best candidate; the first one among equals."""
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for (method, rule), group in scores.groupby(["method", "rule"], sort=False):
        mean = group.groupby(["candidate", "options"])["score"].mean()
        _, options = mean.index[mean.argmax()]
        chosen.setdefault(str(method), {})[str(rule)] = json.loads(options)
    return chosen


def configuration(chosen: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The section ``methods`` that makes a choice count: what KerHRM's steps are told, too."""
    tree: dict[str, Any] = {}
    for method, by_rule in chosen.items():
        own = METHODS[method].rule
        others = {rule: dict(options) for rule, options in by_rule.items() if rule != own}
        tree[method] = {"selected": dict(by_rule[own])} | ({"rules": others} if others else {})
    if GRID in tree:
        choice = load(METHODS[GRID].choice)(**tree[GRID]["selected"])
        tree["kerhrm"] = _changes(KerHRM().model_dump(), choice.of(KerHRM()).model_dump())
    return tree


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What differs, section by section."""
    return {
        name: _changes(before[name], new) if isinstance(new, Mapping) else new
        for name, new in after.items()
        if new != before[name]
    }


def edges(scores: pd.DataFrame, chosen: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Choices at an end of the numbers that were on trial: ``method.option = value (rule)``."""
    found = []
    for method, by_rule in chosen.items():
        told = scores.loc[scores["method"] == method, "options"].unique()
        tried = pd.DataFrame([json.loads(one) for one in told])
        for rule, options in by_rule.items():
            for name, value in options.items():
                values = sorted(set(tried[name]))
                number = isinstance(value, int | float) and len(values) > 1
                if number and value in (values[0], values[-1]):
                    found.append(f"{method}.{name} = {value:g} ({rule})")
    return found


def save_choice(
    scores: pd.DataFrame, choice: str | PathLike[str], grid: str | PathLike[str]
) -> None:
    """Write the choices as configuration, with those at an edge, and the scores of all sets."""
    chosen = best(scores)
    at_edge = "".join(f"#   {line}\n" for line in edges(scores, chosen))
    head = (
        "# Written by `snakemake tune`.  `selected` by the method's own rule, `rules` by others.\n"
        f"# The scores of all option sets: {Path(grid).name}.\n"
    )
    if at_edge:
        head += f"# At an end of the values on trial:\n{at_edge}"
    write_text(grid, scores.to_csv(index=False))
    write_text(choice, head + yaml.safe_dump(configuration(chosen), sort_keys=False))
