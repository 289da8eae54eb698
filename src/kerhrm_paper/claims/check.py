"""Evaluate the paper's claims, as ``config/claims.yaml`` declares them.

A claim has ``tests`` of scores (``table``) or of a small run (``measure``), or it is an
identity or a counterexample: then it has a ``status``, and a unit test (``test``) that
shows it.  A test has

* ``table``, ``setting`` and ``metric``, one or several, or ``measure``, the name of a
  function in
  :mod:`kerhrm_paper.claims.small_runs`, whose numbers stand in the place of methods;
* one comparison: ``better: A, than: B`` (of the metric's merits), ``more: A, than: B``
  (of the values), both with ``by``; ``alike: A, to: B, within: M``; ``steady: A, below:
  L``; ``rising: A`` (rank correlation with the order of the settings).

A and B are a number, a method, ``METHOD @ SETTING``, or a mapping: weights of methods,
a ``constant`` that is added, and settings ``over`` which to take the mean.  Lists of
settings, metrics and methods stand for every combination; all tests of a claim have to
support it, or ``at_least`` so many, or so many groups ``by`` setting.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import ArrayLike

from kerhrm.methods.base import POOLED
from kerhrm_paper.claims import comparison
from kerhrm_paper.claims.comparison import NAN, Comparison
from kerhrm_paper.evaluation.statistics import LEVEL, holm
from kerhrm_paper.evaluation.tables import CRITERIA, stand_ins

COLUMNS = [
    "claim",
    "where",
    "statement",
    "status",
    "status_pooled",
    "effect",
    "ci_low",
    "ci_high",
    "n",
    "p",
    "p_holm",
    "tests",
    "tests_for",
    "tests_against",
    "measure",
    "numbers",
    "test",
    "reason",
    "data_source",
]


class MissingCell(LookupError):
    """A table, row or cell that a claim needs was not made."""


@dataclass
class Evidence:
    """Scores of a run by table, and the numbers of small runs."""

    #: rows of kerhrm_paper.evaluation.scores.score_table
    tables: Mapping[str, pd.DataFrame]
    smoke: bool = False  #: whether small runs are tiny
    #: by measure; rows are seeds
    numbers: dict[str, pd.DataFrame] = field(default_factory=dict)
    pooled: bool = (
        False  #: whether rows that pooled validation has chosen go before others
    )

    def cell(self, table: str, setting: str, method: str, metric: str) -> pd.Series:
        """Values by seed, of the method's own selection criterion.

        The first that a table has.
        """
        if table not in self.tables:
            raise MissingCell(f"no {table}")
        rows = self.tables[table]
        if replaced := stand_ins(rows):
            raise MissingCell(f"{table} has {replaced}")
        for name, wanted in (
            ("setting", setting),
            ("method", method),
            ("metric", metric),
        ):
            rows = rows[rows[name] == wanted]
            if rows.empty:
                raise MissingCell(f"no {wanted} in {table}")
        pooled = rows[rows["selection"] == POOLED]
        chosen = pooled if self.pooled and len(pooled) else rows
        rows = chosen[chosen["selection"] == chosen["selection"].iloc[0]]
        return rows.set_index(rows["seed"].astype(str))["value"]

    def number(self, measure: str, name: str) -> pd.Series:
        """A number of a small run, by seed."""
        if measure not in self.numbers:
            from kerhrm_paper.claims.small_runs import run  # imports torch

            self.numbers[measure] = run(measure, self.smoke)
        return self.numbers[measure][name]


def evaluate(run: str | Path, preset: str, path: str | Path) -> pd.DataFrame:
    """Evaluate every claim that the file ``path`` declares on the scores of a run.

    Returns columns :data:`COLUMNS`, a row per claim. ``status``: ``supported`` or
    ``contradicted`` if the p-value is at most 5 % after Holm's correction over all
    claims, else ``open``; of several tests ``effect``, its interval, ``n`` seeds and
    ``measure`` are those of the deciding one. ``status_pooled`` is the status where
    pooled validation has chosen every method's options. ``numbers``: means of the small
    run, JSON.
    """
    paths = sorted(Path(run).glob("scores/*.csv.gz"))
    tables = {path.name.partition(".")[0]: pd.read_csv(path) for path in paths}
    evidence = Evidence(tables, smoke=preset == "smoke")
    claims = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    results = [_evaluate(claim, evidence) for claim in claims]
    adjusted, states = _status(results)
    pooled = replace(evidence, pooled=True)
    _, others = _status([_evaluate(claim, pooled) for claim in claims])
    sources = {str(one) for rows in tables.values() for one in rows["data_source"]}
    rows, blank = [], dict.fromkeys(("test", "measure", "numbers", "reason"), "")
    for claim, result, p_holm, *both in zip(
        claims, results, adjusted, states, others, strict=True
    ):
        row = blank | dict(zip(("status", "status_pooled"), both, strict=True))
        row |= {"data_source": "; ".join(sorted(sources))}
        if "status" in claim:
            row["status_pooled"] = claim["status"]
        row |= {name: value for name, value in claim.items() if name != "tests"}
        if isinstance(result, str):
            rows.append(row | {"reason": result})
            continue
        if np.isnan(result.p_for):
            row["reason"] = "a seed has no result"
        means: dict[str, float] = {}
        for name in {test.get("measure") for test in claim["tests"]} & set(
            evidence.numbers
        ):
            means |= evidence.numbers[name].mean().round(4).to_dict()
        row["numbers"] = json.dumps(means) if means else ""
        rows.append(row | vars(result) | {"p": result.p, "p_holm": p_holm})
    return pd.DataFrame(rows, columns=COLUMNS)


def _status(results: list[Comparison | str]) -> tuple[np.ndarray, list[str]]:
    """p-values after Holm's correction over all claims, and what they decide."""
    adjusted = holm([one.p if isinstance(one, Comparison) else NAN for one in results])
    states = []
    for one, p in zip(results, adjusted, strict=True):
        supported = isinstance(one, Comparison) and one.p_for < one.p_against
        states.append(
            ("supported" if supported else "contradicted") if p <= LEVEL else "open"
        )
    return adjusted, states


def _evaluate(claim: Mapping[str, Any], evidence: Evidence) -> Comparison | str:
    """Result of all tests of a claim, or why there is none."""
    if "tests" not in claim:
        return ""
    try:
        found = [(s, t) for spec in claim["tests"] for s, t in _expand(spec, evidence)]
    except MissingCell as missing:
        return f"not in this run: {missing}"
    results = [test for _, test in found]
    if claim.get("by") == "setting":
        groups = [
            [t for s, t in found if s == name]
            for name in dict.fromkeys(s for s, _ in found)
        ]
        results = [comparison.at_least(len(group), group) for group in groups]
    return comparison.at_least(claim.get("at_least", len(results)), results)


def _expand(
    spec: Mapping[str, Any], evidence: Evidence
) -> Iterable[tuple[str, Comparison]]:
    """Tests of every combination, each with its setting."""
    kind = next(name for name in KINDS if name in spec)
    settings, metrics = _list(spec.get("setting", "")), _list(spec.get("metric", ""))
    if (
        kind == "rising"
    ):  # the rank correlation with the order of the settings, over zero
        for metric in metrics:
            cells = [
                evidence.cell(spec["table"], s, spec["rising"], metric)
                for s in settings
            ]
            values = pd.concat(cells, axis=1, join="inner").to_numpy()
            ranks = [
                comparison.rank_correlation(row, np.arange(len(settings)))
                for row in values
            ]
            yield "", comparison.more(f"{spec['rising']} rising ({metric})", ranks)
        return
    others = _list(spec.get(KINDS[kind][1], 0.0))
    for setting, metric, a, b in product(settings, metrics, _list(spec[kind]), others):
        if a != b:
            yield setting, _test(spec, kind, (setting, metric, a, b), evidence)


#: comparisons: the test, the key of the other side, that of the limit
KINDS: Mapping[str, tuple[Callable[[str, ArrayLike, float], Comparison], str, str]] = {
    "better": (comparison.more, "than", "by"),
    "more": (comparison.more, "than", "by"),
    "alike": (comparison.alike, "to", "within"),
    "steady": (comparison.steady, "", "below"),
    "rising": (comparison.more, "", ""),
}


def _test(
    spec: Mapping[str, Any],
    kind: str,
    which: tuple[str, str, Any, Any],
    evidence: Evidence,
) -> Comparison:
    setting, metric, a, b = which

    def look(name: str) -> pd.Series:
        method, _, place = name.partition(" @ ")
        if measure := spec.get("measure"):
            return evidence.number(measure, method)
        values = evidence.cell(spec["table"], place or setting, method, metric)
        merit = CRITERIA[metric].merit if kind == "better" else None
        return merit(values) if merit else values

    ours, theirs = _operand(a, look), _operand(b, look)
    if isinstance(ours, pd.Series) and isinstance(theirs, pd.Series):
        ours, theirs = ours.align(theirs, join="inner")
        if ours.empty:
            raise MissingCell("no seed in common")
    test, other, limit = KINDS[kind]
    name = f"{_text(a)} {kind} {other} {_text(b)}" if other else f"{_text(a)} {kind}"
    place = ", ".join(filter(None, (metric, setting)))
    return test(
        f"{name} ({place})" if place else name,
        ours - theirs,
        float(spec.get(limit, 0.0)),
    )


def _operand(operand: Any, look: Callable[[str], pd.Series]) -> Any:
    """Values by seed, or a number."""
    if isinstance(operand, int | float):
        return float(operand)
    weights: dict[str, Any] = (
        {operand: 1.0} if isinstance(operand, str) else dict(operand)
    )
    constant, settings = weights.pop("constant", 0.0), weights.pop("over", [""])
    names = [f"{m} @ {s}" if s else m for s, m in product(settings, weights)]
    cells = pd.concat([look(name) for name in names], axis=1, join="inner")
    each = np.tile([*weights.values()], len(settings)) / len(settings)
    return pd.Series(cells.to_numpy() @ each + constant, index=cells.index)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(operand: Any) -> str:
    return operand if isinstance(operand, str) else json.dumps(operand)
