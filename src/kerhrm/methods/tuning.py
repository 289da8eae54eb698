"""Hyper-parameters of the baselines: one choice per experiment and method.

A candidate's score is its mean over the seeds and settings of the search, which no table
uses; each seed and setting is scored by the method's own rule (:mod:`kerhrm.methods.rules`).
"""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml

from kerhrm.arrays import load_arrays, write_text
from kerhrm.methods.rules import RULES
from kerhrm.workflow.folders import setting_in

COLUMNS = ["method", "rule", "setting", "candidate", "options", "score", "std", "n_seeds"]


def search(files: Any, rules: Mapping[str, str]) -> pd.DataFrame:
    """Score every candidate of every method in every setting.

    Parameters
    ----------
    files : mapping of names to lists of paths
        ``predictions`` as ``.../<setting>/predictions/<method>.npz``, with the options of each
        candidate beside the outputs, and the data files that the rules name, as
        ``.../<setting>/data/<name>.npz``.
    rules : mapping
        Name of the selection rule by method.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`; ``score`` is a mean over seeds, ``std`` has ddof = 1.
    """
    data: dict[str, dict[str, Path]] = {}
    for name in ("train", "validation", "environments", "test_labels"):
        for path in map(Path, files.get(name, [])):
            data.setdefault(path.parts[-3], {})[name] = path
    rows = []
    for path in map(Path, files["predictions"]):
        setting, method = path.parts[-3], path.stem
        rule = RULES[rules[method]]
        arrays, facts = load_arrays(path)
        scores = rule.score(torch.from_numpy(arrays[rule.sample]), data[setting])  # (B, C)
        for number, (options, score) in enumerate(zip(facts["options"], scores.T, strict=True)):
            spread = float(score.std()) if len(score) > 1 else float("nan")
            row = (method, rule.name, setting_in(setting), number, json.dumps(options))
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
    scores: pd.DataFrame,
    choice: str | PathLike[str],
    grid: str | PathLike[str],
    key: str,
) -> None:
    """Write the choice as configuration (``method: {key: options}``), and the whole grid."""
    rules: Sequence[str] = sorted(set(scores["rule"]))
    head = (
        f"# Written by `snakemake tune`; chosen by: {', '.join(rules)}.\n"
        f"# The whole grid's scores: {Path(grid).name}.\n"
    )
    tree = {method: {key: options} for method, options in best(scores).items()}
    write_text(grid, scores.to_csv(index=False))
    write_text(choice, head + yaml.safe_dump(tree, sort_keys=False))
