"""From findings to verdicts: one rule, and nothing that a run lacks is an error."""

import numpy as np
import pandas as pd
import pytest

from kerhrm.claims.claim import COLUMNS, Claim, check_all, effect, number
from kerhrm.claims.evidence import LITERAL, NTF, OURS, Case, Finding, NotInRunError, Scores, paired
from kerhrm.claims.labs import SMOKE, Labs
from kerhrm.claims.parts import exact, more
from kerhrm.methods.registry import row_titled
from kerhrm.scoring.metrics import COLUMNS as SCORES


def scores(*cells: tuple[str, str, str, list[float]], selection: str | None = None) -> pd.DataFrame:
    rows = [
        (
            setting,
            method,
            seed,
            metric,
            value,
            selection or row_titled(method).rule,
            "synthetic",
            "",
        )
        for setting, method, metric, values in cells
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=SCORES)


def case(**tables: pd.DataFrame) -> Case:
    return Case(Scores(tables), Labs(SMOKE))


def claim(check: object, **more: object) -> Claim:
    return Claim(1, "5", "something", check, **more)  # type: ignore[arg-type]


def verdicts(*claims: Claim, given: Case | None = None) -> list[str]:
    return list(check_all(claims, given or case())["verdict"])


def told(values: list[float]) -> Claim:
    return claim(lambda _: Finding(more("x", values)))


def test_sign_and_significance_decide() -> None:
    up, down, both = [1.0, 1.1, 1.2, 0.9], [-1.0, -1.1, -1.2, -0.9], [1.0, -1.0, 0.5, -0.4]
    assert verdicts(told(up), told(down), told(both)) == ["holds", "fails", "undecided"]


def test_holm_corrects_over_the_page() -> None:
    weak = [1.0, 1.4, 0.2, 0.9, 2.0]  # p is about .03
    assert verdicts(told(weak)) == ["holds"]
    assert verdicts(*[told(weak)] * 5) == ["undecided"] * 5


def test_identities_need_no_test_and_count_as_none() -> None:
    weak = [1.0, 1.4, 0.2, 0.9, 2.0]
    identity = claim(lambda _: Finding(exact("x", 0.0)))
    broken = claim(lambda _: Finding(exact("x", 0.1)))
    assert verdicts(told(weak), identity, broken) == ["holds", "holds", "fails"]


def test_what_is_not_in_the_run_is_undecided() -> None:
    missing = claim(lambda c: Finding(more("x", c.scores.of("classification", "s", "ERM", "m"))))
    found = check_all([missing], case()).iloc[0]
    assert found["verdict"] == "undecided"
    assert found["reason"] == "not in this run: no classification"
    assert found["tests"] == 0


def test_a_failed_seed_is_undecided_and_says_so() -> None:
    found = check_all([told([1.0, float("nan"), 1.1])], case()).iloc[0]
    assert (found["verdict"], found["reason"]) == ("undecided", "a seed has no result")


def test_a_claim_without_a_check_says_why() -> None:
    untested = Claim(2, "6", "it is elegant", because="a matter of taste")
    found = check_all([untested], case()).iloc[0]
    assert (found["verdict"], found["reason"]) == ("not testable", "a matter of taste")
    with pytest.raises(ValueError, match="needs a check or a reason"):
        Claim(2, "6", "it is elegant")


def against_erm(given: Case) -> Finding:
    ours, erm = (given.scores.of("t", "s", m, "test_acc") for m in (given.row, "ERM"))
    return Finding(more("ours less ERM", *paired(ours, erm)))


def test_claims_on_the_papers_method_have_the_literal_verdict_and_the_ntf_effect() -> None:
    base = [0.5, 0.51, 0.52, 0.5]
    cells = [
        ("s", "ERM", "test_acc", base),
        ("s", OURS, "test_acc", [v + 0.1 + 0.001 * i for i, v in enumerate(base)]),
        ("s", NTF, "test_acc", [v + 0.2 + 0.001 * i for i, v in enumerate(base)]),
    ]
    literal = ("s", LITERAL, "test_acc", [v - 0.1 - 0.001 * i for i, v in enumerate(base)])
    found = check_all([claim(against_erm, own=True)], case(t=scores(*cells, literal))).iloc[0]
    assert (found["verdict"], found["literal"]) == ("holds", "fails")
    assert "NTF predictor +0.20" in found["evidence"]
    found = check_all([claim(against_erm, own=True)], case(t=scores(*cells))).iloc[0]
    assert (found["verdict"], found["literal"]) == ("holds", "")


def test_scores_are_headline_rows_alone() -> None:
    own = scores(("s", "EIIL", "test_acc", [0.5, 0.6]))
    oracle = scores(("s", "EIIL", "test_acc", [0.9, 0.9]), selection="oracle")
    found = Scores({"t": pd.concat([oracle, own])}).of("t", "s", "EIIL", "test_acc")
    assert list(found) == [0.5, 0.6]


def test_seeds_pair_by_name() -> None:
    a = pd.Series([1.0, 2.0, 3.0], index=["0", "1", "2"])
    b = pd.Series([30.0, 20.0], index=["2", "1"])
    x, y = paired(a, b)
    assert sorted(zip(x, y, strict=True)) == [(2.0, 20.0), (3.0, 30.0)]
    with pytest.raises(NotInRunError):
        paired(a, b.rename(index=lambda i: f"x{i}"))


def test_columns_and_sources() -> None:
    frame = scores(("s", "ERM", "test_acc", [0.5]))
    stand_in = frame.assign(data_source="stand-in:digits")
    found = check_all([told([1.0, 1.1])], case(a=frame, b=stand_in))
    assert list(found.columns) == COLUMNS
    assert list(found["data_source"]) == ["stand-in:digits; synthetic"]


def test_numbers_are_short() -> None:
    assert number(0.12345) == "+0.123"
    assert number(1e-5) == "+1.0e-05"
    assert effect(exact("x", 3.0)) == "+3.000"
    assert effect(more("x", np.array([1.0, 1.0]))) == "+1.000 [+1.000, +1.000]"
