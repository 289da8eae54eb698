"""Which options stand behind a cell, which rule chose them, and among what."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.config.fresh import MORE
from kerhrm.methods.registry import (
    CLOSED_FORMS,
    METHODS,
    NONE,
    ORACLE,
    POOLED,
    WORST_LEARNED,
    WORST_VALIDATION,
)
from kerhrm.scoring.tuning import GRID

#: what selection rules compare
MEANINGS = {
    POOLED: "the best score over all validation points",
    WORST_VALIDATION: "the best score in the worst of the true environments of the validation "
    "points",
    WORST_LEARNED: "the best score in the worst of the environments that were learned",
    ORACLE: "the best score on the test points: a bound, and no result",
    "as released": "the published code stops where it stops",
    NONE: "nothing is chosen",
}


@dataclass(frozen=True)
class Candidate:
    """An option set that was on trial."""

    options: dict[str, Any]  #: what sets it apart
    score: float  #: mean over settings and seeds of the search
    std: float  #: over seeds, the mean over settings
    chosen: bool


@dataclass(frozen=True)
class Chosen:
    """What a cell's method was told, and why."""

    method: str  #: name in the registry, "" of closed forms
    stem: str  #: of its file of predictions
    rule: str
    how: str
    options: dict[str, Any]
    candidates: list[Candidate] = field(default_factory=list)


def chosen(
    experiments: Mapping[str, Any], name: str, label: str, cell: Mapping[str, Any], tuned: Path
) -> Chosen:
    """Options of a cell of an experiment's setting, as the resolved configuration has them.

    ``tuned``: folder with what `tune` has chosen and the scores of all that was on trial.
    """
    experiment = experiments[name]
    setting, rule = experiment["settings"][label], str(cell["selection"])
    found = _trained_by(cell["method"], rule, setting)
    if found is None:
        stems = [row.stem for row in CLOSED_FORMS if row.title == cell["method"]]
        how = "a number that follows from the data without training: nothing is chosen"
        return Chosen("", (stems or [""])[0], rule, how, {})
    method, stem = found
    section = setting["methods"][METHODS[method].section]
    searched = experiment.get("tuned_like") or name.removesuffix(MORE)
    tuning = experiments.get(searched, {}).get("tuning")
    if "selected" not in section:
        source = GRID if method in ("kerhrm", "igd") else ""
        candidates = _candidates(tuned / f"{searched}.csv", source, METHODS[method].rule)
        agree = _agree(section, [c for c in candidates if c.chosen])
        how = "as the configuration says; of lists every seed takes what the rule prefers"
        if agree:
            how = f"k, alpha and penalty: {_searched(tuning, len(candidates))}"
        return Chosen(method, stem, rule, how, _used(method, section), candidates if agree else [])
    own = rule == METHODS[method].rule
    options = section["selected"] if own else section["rules"].get(rule, {})
    candidates = [] if rule == ORACLE else _candidates(tuned / f"{searched}.csv", method, rule)
    if any(one.chosen and not _fits(one.options, options) for one in candidates):
        candidates = []  # of a later search than the run's
    how = _searched(tuning, len(candidates) or experiment["budget"])
    if rule == ORACLE:
        how = f"of {experiment['budget']} option sets the best on the test points"
    return Chosen(method, stem, rule, how, _used(method, options), candidates)


def _trained_by(title: str, rule: str, setting: Mapping[str, Any]) -> tuple[str, str] | None:
    """Method and stem of the file that a row's predictions come from; None of closed forms."""
    rows = [
        (method.name, row)
        for name in setting["run"]
        if (method := METHODS.get(name))
        for row in method.rows
        if row.title == title
    ]
    own = [(m, row.stem) for m, row in rows if row.chosen and row.rule == rule]
    others = [(m, row.stem) for m, row in rows if METHODS[m].grid]
    return next(iter(own or others), None)


def _searched(tuning: Mapping[str, Any] | None, n: int) -> str:
    """How the search went that chose an option set."""
    told = f"one of {n} option sets, by their mean score"
    if not tuning:
        return told
    first = tuning["first_seed"]
    seeds = f"seeds {first} to {first + tuning['seeds'] - 1}"
    return f"{told} on {seeds} of {' and '.join(tuning['settings'])}, which no table uses"


def _candidates(path: Path, method: str, rule: str) -> list[Candidate]:
    """Option sets that a search has scored, in its order."""
    if not method or not path.exists():
        return []
    grid = pd.read_csv(path)
    grid = grid[(grid["method"] == method) & (grid["rule"] == rule)]
    means = grid.groupby(["candidate", "options"], sort=True)[["score", "std"]].mean()
    told = [json.loads(options) for _, options in means.index]
    apart = {k for one in told for k in one if any(one[k] != other.get(k) for other in told)}
    best = means["score"].argmax() if len(means) else None
    return [
        Candidate({k: one[k] for k in sorted(apart)}, score, std, bool(i == best))
        for i, (one, (score, std)) in enumerate(zip(told, means.to_numpy().tolist(), strict=True))
    ]


def _fits(part: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    return all(options.get(name) == value for name, value in part.items())


def _agree(section: Mapping[str, Any], best: list[Candidate]) -> bool:
    """Whether KerHRM's steps are told what the search has chosen."""
    told = {
        "k": section.get("k"),
        "alpha": section.get("invariance", {}).get("alpha"),
        "penalty": section.get("network", {}).get("penalty"),
    }
    return bool(best) and all([v] == told.get(k) for k, v in best[0].options.items())


def _used(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    uses = METHODS[method].uses
    return {k: v for k, v in options.items() if uses is None or k in uses or METHODS[method].choice}
