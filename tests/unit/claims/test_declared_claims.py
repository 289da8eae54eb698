"""The claims of the paper: how they are declared, and that each has evidence."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm_paper.claims import small_runs
from kerhrm_paper.claims.check import evaluate
from kerhrm_paper.claims.comparison import Comparison
from kerhrm_paper.claims.declare import CLAIMS, NUMBERS, claim
from kerhrm_paper.claims.evidence import Evidence
from kerhrm_paper.claims.small_runs import MEASURES
from kerhrm_paper.config.config import load_config


@pytest.fixture(scope="module")
def numbers() -> dict[str, pd.DataFrame]:
    """All small runs, tiny."""
    tables = {}
    for name in MEASURES:
        tables[name] = small_runs.run(name, smoke=True)
    return tables


def test_claims_of_the_paper_on_a_run_without_scores(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    numbers: dict[str, pd.DataFrame],
) -> None:
    """Every claim has scores that are missing, a small run, or a unit test."""
    used = set()

    def run(name: str, smoke: bool) -> pd.DataFrame:
        assert smoke
        used.add(name)
        return numbers[name]

    monkeypatch.setattr(small_runs, "run", run)
    claims = evaluate([], "smoke")
    assert list(claims["claim"]) == sorted(NUMBERS)
    assert used == set(MEASURES)
    by_test = claims["test"] != ""
    statuses = claims.loc[by_test, "status"]
    assert set(statuses) == {"supported", "contradicted"}
    missing = claims["reason"].str.startswith("not in this run")
    tests_of_missing = claims.loc[missing, "tests"]
    assert tests_of_missing.isna().all()
    effects = claims.loc[~missing, "effect"]
    assert np.isfinite(effects).all()
    by_small_run = ~missing & ~by_test
    numbers_of_runs = claims.loc[by_small_run, "numbers"]
    assert (numbers_of_runs != "").all()
    assert by_test.sum() == 13
    assert by_small_run.sum() == 12


def test_every_cell_that_a_claim_names_is_configured(
    monkeypatch: pytest.MonkeyPatch, numbers: dict[str, pd.DataFrame]
) -> None:
    config = load_config({"preset": "paper"})
    titles: dict[str, set[str]] = defaultdict(set)
    labels: dict[str, set[str]] = defaultdict(set)
    for name, table in config.tables.items():
        for row in table.rows:
            methods = row.titles.values()
            titles[name].update(methods)
            labels[name].add(row.setting)

    def look(
        self: Evidence, table: str, setting: str, method: str, metric: str
    ) -> pd.Series:
        if not method.startswith("ref: "):
            assert method in titles[table], (table, method)
        if not setting.startswith(("period=", "iteration=")):
            assert setting in labels[table], (table, setting)
        return pd.Series([0.0, 1.0], ["0", "1"])

    monkeypatch.setattr(Evidence, "cell", look)

    def finished(name: str, smoke: bool) -> pd.DataFrame:
        return numbers[name]

    monkeypatch.setattr(small_runs, "run", finished)
    claims = evaluate([], "paper")
    assert (claims["reason"] == "").all()


@pytest.mark.parametrize(
    ("docstring", "problem"),
    [
        ("Claim 11 (3.1): A low rank k suffices.", "claim 11 is declared twice"),
        ("Claim 21 (3.3): Centres are distant.", "the paper has no claim 21"),
        ("Claim 56 (8): Another one.", "the paper has no claim 56"),
        ("A low rank k suffices.", "not a claim"),
        (None, "not a claim"),
    ],
)
def test_a_claim_that_the_paper_does_not_have_is_refused(
    docstring: str | None, problem: str
) -> None:
    def low_rank_suffices(evidence: Evidence) -> Comparison:
        raise AssertionError("a declaration calls nothing")

    low_rank_suffices.__doc__ = docstring
    before = dict(CLAIMS)
    with pytest.raises(ValueError, match=problem):
        claim(low_rank_suffices)
    assert before == CLAIMS


def test_a_claim_has_number_place_and_statement_of_its_docstring() -> None:
    declared = CLAIMS[20]
    assert declared.where == "Theorem 4.1"
    statement = "L_c is a rate and a distortion: I(I;J) + E d / (2 sigma^2)"
    assert declared.statement == statement
