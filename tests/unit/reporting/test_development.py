"""Two sets of tables held against each other, on fresh seeds and on those of development."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kerhrm.reporting import development
from kerhrm.reporting.development import FILE, page, read_differences
from kerhrm.reporting.differences import columns, differences, welch
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table

ROOT = Path(__file__).parents[3]
SCORES = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]
SAMPLES = st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=2, max_size=20)


def table(
    values: list[float], method: str = "ERM", metric: str = "test_acc", first: int = 0
) -> pd.DataFrame:
    rule = "none" if method.startswith("ref: ") else "pooled validation"
    rows = [("a", method, first + n, metric, v, rule, "mnist", "") for n, v in enumerate(values)]
    return build_table(pd.DataFrame(rows, columns=SCORES), "table1", "paper", PaperValues({}))


@given(a=SAMPLES, b=SAMPLES)
def test_the_interval_is_scipys_of_the_samples(a: list[float], b: list[float]) -> None:
    if min(np.std(a), np.std(b)) < 1e-6:
        return
    facts = [f(x) for x in (a, b) for f in (np.mean, lambda v: np.std(v, ddof=1), len)]
    low, high, p = welch(*[np.array([float(fact)]) for fact in facts])
    expected = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval()
    np.testing.assert_allclose([low[0], high[0]], [interval.low, interval.high], atol=1e-9)
    np.testing.assert_allclose(p[0], expected.pvalue, atol=1e-12)
    assert (p[0] <= 0.05) == (not low[0] < 0 < high[0])


def test_as_many_cells_differ_as_chance_lets() -> None:
    draws = np.random.default_rng(0).normal(size=(2, 4000, 10)) * [[[1.0]], [[3.0]]]
    facts = [f(d) for d in draws for f in (lambda x: x.mean(1), lambda x: x.std(1, ddof=1))]
    n = np.full(4000, 10.0)
    *_, p = welch(facts[0], facts[1], n, facts[2], facts[3], n)
    assert abs(np.mean(p <= 0.05) - 0.05) < 3 * (0.05 * 0.95 / 4000) ** 0.5


def test_cells_meet_by_their_names() -> None:
    fresh = pd.concat([table([0.7, 0.72, 0.71]), table([0.5, 0.6], "DRO")])
    old = pd.concat([table([0.3, 0.4], "EIIL"), table([0.31, 0.3, 0.32])])
    found = differences(fresh, old)
    assert list(found) == columns()
    assert list(found["method"]) == ["ERM", "DRO", "EIIL"]
    both, new, gone = found.to_dict("records")
    assert (both["n_fresh"], both["n_development"]) == (3, 3)
    assert both["difference"] == pytest.approx(0.40)
    assert both["ci_low"] < 0.4 < both["ci_high"]
    assert (both["differs"], both["direction"]) == (True, "good")
    assert new["fresh"] == pytest.approx(0.55)
    assert gone["development"] == pytest.approx(0.35)
    for alone in (new, gone):
        assert np.isnan(alone["difference"])
        assert not alone["differs"]
        assert alone["direction"] == ""
    turned = differences(old, fresh).set_index("method")
    assert turned.loc["ERM", "direction"] == "bad"


@pytest.mark.parametrize(
    ("metric", "direction"), [("test_acc", "good"), ("mse", "bad"), ("train_acc", ""), ("own", "")]
)
def test_a_direction_is_the_metrics(metric: str, direction: str) -> None:
    found = differences(table([0.7, 0.71], metric=metric), table([0.3, 0.31], metric=metric))
    assert found["differs"].all()
    assert found["direction"].item() == direction


def test_constants_and_single_seeds() -> None:
    def only(fresh: list[float], old: list[float]) -> pd.Series:
        name = "ref: Bayes pooled"
        return differences(table(fresh, name), table(old, name)).iloc[0]

    same, other, single = only([0.7] * 2, [0.7] * 3), only([0.8] * 2, [0.7] * 2), only([0.8], [0.7])
    assert same[["ci_low", "ci_high"]].to_list() == pytest.approx([0, 0])
    assert (same["p"], same["differs"]) == (1, False)
    assert other["ci_low"] == other["ci_high"] == pytest.approx(0.1)
    assert (other["p"], other["differs"]) == (0, True)
    assert single[["ci_low", "ci_high", "p"]].isna().all()
    assert not single["differs"]
    failed = only([0.8, float("nan")], [0.7, 0.6])
    assert failed[["difference", "p"]].isna().all()


def blocks(text: str) -> list[pd.DataFrame]:
    """The tables of a page."""
    parts, lines = [], text.splitlines()
    for part in "\n".join(x if x.startswith("|") else "" for x in lines).split("\n\n"):
        if part.strip():
            rows = [x.strip("|") for x in part.strip().splitlines()]
            body = "\n".join([rows[0], *rows[2:]])
            parts.append(
                pd.read_csv(io.StringIO(body), sep=r"\s*\|\s*", engine="python", dtype=str)
            )
    return parts


def test_the_page_counts_and_lists() -> None:
    rng = np.random.default_rng(1)
    names = ["ERM", "DRO", "EIIL", "HRM"]
    fresh = pd.concat([table([*rng.normal(0.5, 0.1, 20)], name) for name in names])
    old = pd.concat([table([*rng.normal(0.5, 0.1, 10)], name) for name in names])
    rows = table([0.5, 0.51], "ref: majority")
    fresh = pd.concat([fresh, table([0.9, 0.91], metric="train_acc"), rows])
    old = pd.concat([old, table([0.7, 0.71], metric="train_acc"), rows])
    fresh.loc[fresh["method"] == "HRM", "mean"] = 0.1
    fresh = pd.concat(
        [fresh, table([0.6, 0.6], "ref: invariant ceiling"), table([0.3], "ref: Bayes pooled")]
    )
    old = pd.concat(
        [old, table([0.5, 0.5], "ref: invariant ceiling"), table([0.3], "ref: Bayes pooled")]
    )
    found = differences(fresh, old)
    text = page(found)
    results, methods, every, largest = blocks(text)
    assert results.iloc[-1].tolist() == ["all", "4", "0.2", "1", "0", "1"]
    assert methods.set_index("method").loc["HRM"].tolist() == ["1", "0.1", "1", "0", "1"]
    assert every.iloc[-1].tolist() == ["all", "6", "0.3", "2", "0", "1"]
    assert "4 of them have 20 fresh seeds." in text
    assert "Cells without an interval are not counted: 2." in text
    assert "of the last 1 differ." in text
    assert len(largest) == 3
    assert largest["method"][0] == "HRM"
    assert largest["fresh"][0] == "0.100"


def put(folder: Path, preset: str, cells: pd.DataFrame) -> None:
    (folder / "tables").mkdir(parents=True)
    (folder / "config.yaml").write_text(f"preset: {preset}\n", encoding="utf-8")
    cells.to_csv(folder / "tables" / "table1.csv", index=False)
    (folder / "tables" / "table1-comparisons.csv").write_text("setting\n", encoding="utf-8")


def test_both_runs_have_to_be_committed(tmp_path: Path) -> None:
    reference, target = tmp_path / "reference", tmp_path / "development.md"
    put(reference, "paper", table([0.3, 0.4]))  # before the freeze
    assert not development.write(reference, target)
    put(reference / "development", "paper", table([0.3, 0.4]))
    assert not development.write(reference, target)
    (reference / "config.yaml").write_text("preset: fresh\n", encoding="utf-8")
    assert development.write(reference, target)
    file = reference / "development" / FILE
    expected = differences(table([0.3, 0.4]), table([0.3, 0.4]))
    pd.testing.assert_frame_equal(read_differences(file), expected, check_dtype=False, rtol=1e-5)
    assert target.read_text(encoding="utf-8") == page(read_differences(file))


def test_the_committed_page_is_up_to_date() -> None:
    """Else: python -m kerhrm.reporting.development."""
    file = ROOT / development.REFERENCE / "development" / FILE
    if not file.exists():
        pytest.skip("no fresh seeds are published yet")
    assert (ROOT / development.PAGE).read_text(encoding="utf-8") == page(read_differences(file))
