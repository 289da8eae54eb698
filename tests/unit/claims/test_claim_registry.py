"""The 54 statements, and that each can be checked on any run."""

from pathlib import Path

import pandas as pd
import pytest

from kerhrm.claims.cells import BASELINES, BIAS_RATES, SELECTIONS
from kerhrm.claims.claim import check_all
from kerhrm.claims.evidence import OURS, Case, Scores
from kerhrm.claims.labs import SMOKE, Labs
from kerhrm.claims.page import PAGE, PUBLISHED, page, read_claims
from kerhrm.claims.registry import CLAIMS, check_claims
from kerhrm.data.sources.king_county import PERIODS
from kerhrm.methods.registry import row_titled
from kerhrm.scoring.metrics import COLUMNS as SCORES

ROOT = Path(__file__).parents[3]
#: statements that the scores below are made for
TESTED_BY_TABLES = (26, 27, 30, 31, 34, 40, 42, 43, 48, 49, 50, 51, 52)


def test_every_statement_is_there_once() -> None:
    assert [c.number for c in CLAIMS] == list(range(1, 55))
    assert sum(c.check is not None for c in CLAIMS) >= 45
    assert len({c.statement for c in CLAIMS}) == len(CLAIMS)


def test_an_empty_run_leaves_tables_undecided() -> None:
    about_tables = [c for c in CLAIMS if c.check and c.check.__module__.endswith(("cies", "rors"))]
    found = check_all(about_tables, Case(Scores({}), Labs(SMOKE)))
    assert set(found["verdict"]) == {"undecided"}
    assert found["reason"].str.startswith("not in this run").all()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    path = tmp_path_factory.mktemp("scores") / "classification.csv"
    rows = [("r2=0.70", "ERM", s, "test_acc", 0.5, "pooled validation", "synthetic", "")
            for s in (0, 1)]  # fmt: skip
    pd.DataFrame(rows, columns=SCORES).to_csv(path, index=False)
    return check_claims([path], "smoke")


def test_a_run_with_one_row_is_checked_to_the_end(small: pd.DataFrame) -> None:
    assert len(small) == 54
    assert set(small["verdict"]) <= {"holds", "fails", "undecided", "not testable"}
    decided = small.set_index("claim")["verdict"]
    exact = {7: "holds", 8: "fails", 9: "holds", 10: "fails", 12: "holds", 16: "fails",
             17: "holds", 19: "holds", 20: "holds", 24: "fails", 25: "fails"}  # fmt: skip
    assert {n: decided[n] for n in exact} == exact


def test_checks_are_deterministic(small: pd.DataFrame) -> None:
    some = [c for c in CLAIMS if c.number in (4, 12, 18, 20, 36)]
    again = check_all(some, Case(Scores({}), Labs(SMOKE))).set_index("claim")
    first = small.set_index("claim").loc[again.index]
    pd.testing.assert_series_equal(again["effect"], first["effect"])
    assert list(again["evidence"]) == list(first["evidence"])


def run_of_the_papers_liking() -> dict[str, pd.DataFrame]:
    """Scores in which what the paper says of its tables is so, by far."""
    rank = {"ERM": 0, "DRO": 1, "EIIL": 2, "HRM": 3, "IRM": 4, "KerHRM-s": 5, OURS: 6}
    cells = []
    for i, s in enumerate(BIAS_RATES):
        for m, r in rank.items():
            test = 0.30 + 0.07 * r - 0.02 * i
            cells.append(("classification", s, m, "test_acc", test))
            cells.append(("classification", s, m, "generalisation_gap", -0.5 + 0.08 * r))
        cells.append(("classification", s, "ref: invariant ceiling", "test_acc", 0.77))
    cells.append(("clusters", "r2=0.80", "IRM", "test_acc", 0.4))
    cells += [("clusters", f"r2=0.80,K={k}", OURS, "test_acc", 0.69) for k in (2, 3, 4, 5)]
    for s in SELECTIONS:
        cells += [("regression", s, m, "mean_error", 5 - 0.4 * r) for m, r in rank.items()]
    cells += [("colored_mnist", "cmnist", m, "test_acc", 0.1 + 0.08 * r) for m, r in rank.items()]
    for i, period in enumerate(PERIODS):
        error = {"ERM": 5, "DRO": 4, "EIIL": 3, "HRM": 2.5, "IRM": 2, OURS: 1}
        grown = {m: e * (i + 1) for m, e in error.items()} | {"ref: least squares": 1.0 + i}
        cells += [("houses", f"period={period}", m, "mse", e) for m, e in grown.items()]
    tables: dict[str, list[tuple[object, ...]]] = {}
    for n, (table, setting, method, metric, value) in enumerate(cells):
        rows = tables.setdefault(table, [])
        for seed in range(10):
            noisy = value + 1e-3 * ((seed * 7 + n * 3) % 5)
            rule = row_titled(method).rule
            rows.append((setting, method, seed, metric, noisy, rule, "synthetic", ""))
    return {name: pd.DataFrame(rows, columns=SCORES) for name, rows in tables.items()}


def turned(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The same run with the best method's scores given to the worst, and so on."""
    order = [*BASELINES, "KerHRM-s", OURS]
    swap = dict(zip(order, reversed(order), strict=True))

    def one(frame: pd.DataFrame) -> pd.DataFrame:
        method = frame["method"].map(lambda m: swap.get(m, m))
        return frame.assign(method=method, selection=[row_titled(m).rule for m in method])

    return {name: one(frame) for name, frame in tables.items() if name != "clusters"}


def test_claims_hold_where_the_paper_is_right_and_fail_where_all_is_turned() -> None:
    claims = [c for c in CLAIMS if c.number in TESTED_BY_TABLES]
    right = run_of_the_papers_liking()
    found = check_all(claims, Case(Scores(right), Labs(SMOKE))).set_index("claim")["verdict"]
    assert dict(found) == dict.fromkeys(TESTED_BY_TABLES, "holds")
    wrong = check_all(claims, Case(Scores(turned(right)), Labs(SMOKE))).set_index("claim")
    for number in (26, 31, 40, 42, 43, 51, 52):
        assert wrong.loc[number, "verdict"] == "fails", number


def test_the_page_has_a_row_for_every_claim(small: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    small.to_csv(path, index=False)
    text = page(read_claims(path))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(CLAIMS)
    assert [c.strip() for c in rows[0].strip("|").split("|")] == [
        "claim", "where", "statement", "verdict", "literal", "effect", "evidence",
    ]  # fmt: skip
    assert "nan" not in text.lower()


@pytest.mark.skipif(not (ROOT / PUBLISHED).exists(), reason="no checked claims are committed")
def test_the_committed_page_is_that_of_the_committed_claims() -> None:
    assert page(read_claims(ROOT / PUBLISHED)) == (ROOT / PAGE).read_text(encoding="utf-8")
