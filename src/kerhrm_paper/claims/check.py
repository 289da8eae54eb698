"""How the paper's claims fare on the scores of a run and on small runs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm_paper.claims import (
    classification,
    houses,
    images,
    introduction,
    method,
    regression,
    theory,
)
from kerhrm_paper.claims.comparison import Comparison
from kerhrm_paper.claims.declare import CLAIMS, NUMBERS, Claim, ShownByTest
from kerhrm_paper.claims.evidence import Evidence, MissingCell
from kerhrm_paper.evaluation.effects import NAN, Decision, decide
from kerhrm_paper.evaluation.statistics import holm
from kerhrm_paper.runs.arrays import reading

#: modules of claims, by the paper's sections; an import declares them
SECTIONS = (introduction, method, theory, classification, regression, images, houses)
if undeclared := NUMBERS - CLAIMS.keys():
    raise ValueError(f"claims without a function: {sorted(undeclared)}")
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
#: status by decision; what a claim predicts counts as better
STATUSES: Mapping[Decision, str] = {
    "better": "supported",
    "worse": "contradicted",
    "undecided": "open",
    "unknown": "open",
}
#: of a claim: its test, or why it has no result
Result = Comparison | ShownByTest | str


class ScoreFiles(Mapping[str, pd.DataFrame]):
    """Scores by table, each read when a claim asks for it.

    Attributes
    ----------
    known : dict of str to DataFrame
        Those that have been read.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self.known: dict[str, pd.DataFrame] = {}
        self._paths: dict[str, Path] = {}
        for path in map(Path, paths):
            name = path.name.removesuffix(".csv.gz")
            self._paths[name] = path

    def __getitem__(self, table: str) -> pd.DataFrame:
        if table not in self.known:
            path = self._paths[table]
            with reading(path):
                self.known[table] = pd.read_csv(path)
        return self.known[table]

    def __contains__(self, table: object) -> bool:
        return table in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def evaluate(
    scores: Iterable[str | Path], preset: str, claims: Sequence[Claim] | None = None
) -> pd.DataFrame:
    """Evaluate claims, by default all of the paper's, on files ``TABLE.csv.gz`` of
    scores.

    Returns columns :data:`COLUMNS`, a row per claim. ``status``: ``supported`` or
    ``contradicted`` if the p-value is at most 5 % after Holm's correction over all
    claims, else ``open``; of several tests ``effect``, its interval, ``n`` seeds and
    ``measure`` are those of the deciding one. ``status_pooled`` is the status where
    pooled validation has chosen every method's options. ``numbers``: means of the small
    run, JSON.  ``data_source``: of the tables that these claims are tested on.
    """
    tables = ScoreFiles(scores)
    evidence = Evidence(tables, smoke=preset == "smoke")
    if claims is None:
        numbers = sorted(CLAIMS)
        claims = [CLAIMS[number] for number in numbers]
    results = [_result(claim, evidence) for claim in claims]
    chosen_by_pooled = replace(evidence, pooled=True)
    pooled = [_result(claim, chosen_by_pooled) for claim in claims]
    corrected = _corrected(results)
    corrected_pooled = _corrected(pooled)
    statuses = _statuses(results, corrected)
    statuses_pooled = _statuses(pooled, corrected_pooled)
    sources: set[str] = set()
    for table in tables.known.values():
        of_table = table["data_source"].unique()
        sources.update(map(str, of_table))
    rows = []
    for i, claim in enumerate(claims):
        row = {
            "claim": claim.number,
            "where": claim.where,
            "statement": claim.statement,
            "status": statuses[i],
            "status_pooled": statuses_pooled[i],
            "data_source": "; ".join(sorted(sources)),
        }
        row |= _columns(results[i], corrected[i])
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _result(claim: Claim, evidence: Evidence) -> Result:
    """Result of all tests of a claim, or why there is none."""
    try:
        return claim.test(evidence)
    except MissingCell as missing:
        return f"not in this run: {missing}"


def _corrected(results: Sequence[Result]) -> list[float]:
    """p-values after Holm's correction over all claims; NaN without a test."""
    p = []
    for result in results:
        if isinstance(result, Comparison):
            p.append(result.p)
        else:
            p.append(NAN)
    return list(holm(p))


def _statuses(results: Sequence[Result], corrected: Sequence[float]) -> list[str]:
    """What each result decides by its corrected p-value."""
    statuses = []
    for result, p_holm in zip(results, corrected, strict=True):
        if isinstance(result, Comparison):
            decision = decide(result, p=p_holm)
            statuses.append(STATUSES[decision])
        elif isinstance(result, ShownByTest):
            statuses.append(result.status)
        else:
            statuses.append("open")
    return statuses


def _columns(result: Result, p_holm: float) -> dict[str, Any]:
    """Columns of a result."""
    names = ("test", "measure", "numbers", "reason")
    blank = dict.fromkeys(names, "")
    if isinstance(result, str):
        return blank | {"reason": result}
    if isinstance(result, ShownByTest):
        return blank | {"effect": result.effect, "test": result.test}
    numbers = json.dumps(result.means) if result.means else ""
    lacks_seed = np.isnan(result.p)
    return blank | {
        "effect": result.estimate,
        "ci_low": result.low,
        "ci_high": result.high,
        "n": result.n,
        "p": result.p,
        "p_holm": p_holm,
        "tests": result.tests,
        "tests_for": result.tests_for,
        "tests_against": result.tests_against,
        "measure": result.measure,
        "numbers": numbers,
        "reason": "a seed has no result" if lacks_seed else "",
    }
