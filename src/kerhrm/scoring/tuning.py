"""Hyper-parameters of the baselines: one choice per experiment and method.

A candidate's score is its mean over the seeds and settings of the search, which no table
uses; each seed and setting is scored by the method's own rule (:mod:`kerhrm.scoring.rules`).
"""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from kerhrm.data.dataset import Files
from kerhrm.scoring.rules import RULES
from kerhrm.storage.arrays import load_arrays, write_text

COLUMNS = ["method", "rule", "setting", "candidate", "options", "score", "std", "n_seeds"]


def search(
    predictions: Mapping[tuple[str, str], str | PathLike[str]],
    data: Mapping[str, Files],
    rules: Mapping[str, str],
) -> pd.DataFrame:
    """Score every candidate of every method in every setting: columns :data:`COLUMNS`.

    ``score`` is a mean over seeds, ``std`` has ddof = 1.

    Parameters
    ----------
    predictions : mapping
        By (setting, method) the file with the candidates' outputs, and with their options.
    data : mapping
        By setting the data set's files that the rules name.
    rules : mapping
        Name of the selection rule by method.
    """
    rows = []
    for (setting, method), path in predictions.items():
        rule = RULES[rules[method]]
        arrays, facts = load_arrays(path)
        scores = rule.score(arrays[rule.sample], data[setting])  # (B, C)
        for number, (options, score) in enumerate(zip(facts["options"], scores.T, strict=True)):
            spread = float(score.std(ddof=1)) if len(score) > 1 else float("nan")
            row = (method, rule.name, setting, number, json.dumps(options))
            rows.append((*row, float(score.mean()), spread, len(score)))
    return pd.DataFrame(rows, columns=COLUMNS)


def best(scores: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Options of each method's best candidate; the first one among equals."""
    chosen = {}
    for method, group in scores.groupby("method", sort=False):
        ranked = group.sort_values("candidate", kind="stable")
        mean = ranked.groupby("options", sort=False)["score"].mean()
        chosen[str(method)] = json.loads(str(mean.idxmax()))
    return chosen


def save_choice(
    scores: pd.DataFrame, choice: str | PathLike[str], grid: str | PathLike[str], key: str
) -> None:
    """Write the choice as configuration (``method: {key: options}``), and the whole grid."""
    head = (
        f"# Written by `snakemake tune`; chosen by: {', '.join(sorted(set(scores['rule'])))}.\n"
        f"# The whole grid's scores: {Path(grid).name}.\n"
    )
    tree = {method: {key: options} for method, options in best(scores).items()}
    write_text(grid, scores.to_csv(index=False))
    write_text(choice, head + yaml.safe_dump(tree, sort_keys=False))
