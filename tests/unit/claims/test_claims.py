"""Claims by the scores of a run."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from refusals import refusal

from kerhrm_paper.claims.check import ScoreFiles, evaluate
from kerhrm_paper.claims.comparison import Comparison, all_of, at_least
from kerhrm_paper.claims.declare import Claim, Function
from kerhrm_paper.claims.evidence import Evidence, Quantities


def write(
    folder: Path, table: str, cells: dict[tuple[str, str, str], list[float]]
) -> None:
    rows = []
    for (setting, method, metric), values in cells.items():
        for seed, value in enumerate(values):
            rows.append((setting, method, seed, metric, value))
    names = ["setting", "method", "seed", "metric", "value"]
    scores = pd.DataFrame(rows, columns=names)
    scores["selection"] = "pooled validation"
    scores["data_source"] = "synthetic"
    (folder / "scores").mkdir(exist_ok=True)
    scores.to_csv(folder / f"scores/{table}.csv.gz", index=False)


def evaluated(folder: Path, test: Function) -> pd.Series:
    """The row of one claim on the scores of a folder."""
    single = Claim(1, "1", "x", test)
    scores = folder.glob("scores/*.csv.gz")
    table = evaluate(scores, "smoke", [single])
    return table.iloc[0]


def test_scores_of_another_command_are_none(tmp_path: Path) -> None:
    """They lie in the folder, and are no input of the rule."""
    cells = {("s", "A", "test_acc"): [0.8, 0.9], ("s", "B", "test_acc"): [0.5, 0.5]}
    write(tmp_path, "table1", cells)
    write(tmp_path, "table2", cells)

    def better(evidence: Evidence) -> Comparison:
        return accuracy(evidence, "s", "table2").better("A", than="B")

    claim = Claim(1, "1", "x", better)
    table = evaluate([tmp_path / "scores/table1.csv.gz"], "smoke", [claim])
    assert table["reason"].tolist() == ["not in this run: no table2"]


def status(folder: Path, test: Function) -> str:
    return str(evaluated(folder, test)["status"])


def test_only_tables_that_claims_ask_for_are_read(tmp_path: Path) -> None:
    """Those of others have other sources, and may be damaged."""
    cells = {("s", "A", "test_acc"): [0.8, 0.9], ("s", "B", "test_acc"): [0.5, 0.5]}
    write(tmp_path, "table1", cells)
    (tmp_path / "scores" / "mine.csv.gz").write_bytes(b"cut")

    def better(evidence: Evidence) -> Comparison:
        return accuracy(evidence, "s", "table1").better("A", than="B")

    def damaged(evidence: Evidence) -> Comparison:
        return accuracy(evidence, "s", "mine").better("A", than="B")

    write(tmp_path, "other", cells)
    assert evaluated(tmp_path, better)["data_source"] == "synthetic"
    path = tmp_path / "scores" / "other.csv.gz"
    other = pd.read_csv(path).assign(data_source="adult")
    other.to_csv(path, index=False)
    assert evaluated(tmp_path, better)["data_source"] == "synthetic"
    with refusal(r"mine.csv.gz is damaged \(.*\); delete it"):
        evaluated(tmp_path, damaged)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Means over seeds: A .8, B .6, C .5 in r=1, and .1 more in r=2."""
    rng = np.random.default_rng(0)
    levels = {"A": 0.8, "B": 0.6, "C": 0.5}
    cells = {}
    shifts = {"r=1": 0.0, "r=2": 0.1}
    for setting, shift in shifts.items():
        for method, level in levels.items():
            for metric in ("test_acc", "mean_error"):
                noise = rng.normal(0, 0.01, 8)
                seeds = level + shift + noise
                cells[setting, method, metric] = seeds.tolist()
    write(tmp_path, "t", cells)
    return tmp_path


@pytest.fixture
def scores(run: Path) -> pd.DataFrame:
    return pd.read_csv(run / "scores/t.csv.gz")


def replace_scores(run: Path, scores: pd.DataFrame) -> None:
    scores.to_csv(run / "scores/t.csv.gz", index=False)


def accuracy(evidence: Evidence, setting: str = "r=1", table: str = "t") -> Quantities:
    return evidence.cells(table, "test_acc", setting)


def error(evidence: Evidence) -> Quantities:
    return evidence.cells("t", "mean_error", "r=1")


def a_is_better(evidence: Evidence) -> Comparison:
    return accuracy(evidence).better("A", than="B")


RS = ["r=1", "r=2"]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (lambda e: all_of(accuracy(e).better("A", than=m) for m in "BC"), "supported"),
        (lambda e: accuracy(e).better("A", than="B", by=0.5), "contradicted"),
        (lambda e: error(e).better("A", than="B"), "contradicted"),
        (lambda e: error(e).more("A", than="B"), "supported"),
        (lambda e: accuracy(e).alike("A", to=0.8, within=0.1), "supported"),
        (lambda e: accuracy(e).alike("A", to="B", within=0.1), "contradicted"),
        (lambda e: all_of(accuracy(e).steady(m, below=0.1) for m in "AB"), "supported"),
        (lambda e: accuracy(e).rising("A", over=RS), "supported"),
        (lambda e: accuracy(e).rising("A", over=RS[::-1]), "contradicted"),
        (lambda e: accuracy(e).following(error(e), "A", RS, by=0.5), "supported"),
        (lambda e: accuracy(e).following(error(e), "A", RS, by=2.0), "contradicted"),
        (lambda e: accuracy(e).better("A", than="A"), "open"),
    ],
)
def test_comparisons(run: Path, test: Function, expected: str) -> None:
    assert status(run, test) == expected


def test_other_settings_and_weighted_sums(scores: pd.DataFrame) -> None:
    evidence = Evidence({"t": scores})

    def cell(method: str, setting: str = "r=1") -> pd.Series:
        return evidence.cell("t", setting, method, "test_acc")

    cells = accuracy(evidence)
    a = cell("A")
    b = cell("B")
    c = cell("C")
    a2 = cell("A", "r=2")

    elsewhere = cells.at("r=2", "A")
    assert elsewhere.name == "A @ r=2"
    assert_allclose(elsewhere.by_seed, a2)

    twice = cells.weighted({"A": 2}, at="r=2")
    assert twice.name == '{"A @ r=2": 2}'
    assert_allclose(twice.by_seed, 2 * a2)

    difference = cells.weighted({"B": 2, "C": -1}, constant=-0.1)
    assert difference.name == '{"B": 2, "C": -1, "constant": -0.1}'
    expected = 2 * b - c - 0.1
    assert_allclose(difference.by_seed, expected)

    average = cells.weighted({"A": 1}, over=RS)
    assert average.name == '{"A": 1, "over": ["r=1", "r=2"]}'
    expected = (a + a2) / 2
    assert_allclose(average.by_seed, expected)

    test = cells.more(elsewhere, than=0.7)
    assert test.measure == "A @ r=2 more than 0.7 (test_acc, r=1)"
    expected = a2.mean() - 0.7
    assert test.estimate == pytest.approx(expected)


def test_seeds_that_one_side_lacks_do_not_count(
    run: Path, scores: pd.DataFrame
) -> None:
    of_a = scores["method"] == "A"
    lost = of_a & (scores["seed"] <= 1)
    replace_scores(run, scores[~lost])
    assert evaluated(run, a_is_better)["n"] == 6

    seed = scores["seed"]
    other_seeds = seed.mask(of_a, seed + 100)
    moved = scores.assign(seed=other_seeds)
    replace_scores(run, moved)
    reason = evaluated(run, a_is_better)["reason"]
    assert reason == "not in this run: no seed in common"


def test_some_of_several_settings(run: Path) -> None:
    """A has .8 and .9: two limits in two settings."""

    def tests(evidence: Evidence, setting: str) -> list[Comparison]:
        cells = accuracy(evidence, setting)
        limits = (0.85, 0.7)
        return [cells.more("A", than=limit) for limit in limits]

    def both_settings(evidence: Evidence) -> list[Comparison]:
        return tests(evidence, "r=1") + tests(evidence, "r=2")

    def all_in_one_setting(evidence: Evidence) -> Comparison:
        first = all_of(tests(evidence, "r=1"))
        second = all_of(tests(evidence, "r=2"))
        return at_least(1, [first, second])

    def all_in_both(evidence: Evidence) -> Comparison:
        return all_of(both_settings(evidence))

    def three_in_both(evidence: Evidence) -> Comparison:
        return at_least(3, both_settings(evidence))

    assert status(run, all_in_both) == "contradicted"
    assert status(run, all_in_one_setting) == "supported"
    row = evaluated(run, three_in_both)
    assert row["status"] == "supported"
    assert row["tests"] == 4
    assert row["tests_for"] == 3


def test_what_a_run_lacks_is_open(run: Path) -> None:
    def d_is_better(evidence: Evidence) -> Comparison:
        return accuracy(evidence).better("D", than="A")

    row = evaluated(run, d_is_better)
    assert row["status"] == "open"
    assert "no D in t" in row["reason"]


def test_a_failed_seed_leaves_it_open(run: Path) -> None:
    without_result = float("nan")
    cells = {
        ("s", "A", "test_acc"): [0.9, without_result],
        ("s", "B", "test_acc"): [0.1, 0.1],
    }
    write(run, "f", cells)

    def better_in_s(evidence: Evidence) -> Comparison:
        return accuracy(evidence, "s", "f").better("A", than="B")

    row = evaluated(run, better_in_s)
    assert row["status"] == "open"
    assert row["reason"] == "a seed has no result"


def test_other_selection_criteria_do_not_count(run: Path, scores: pd.DataFrame) -> None:
    by_oracle = scores.assign(selection="oracle", value=0.0)
    both = pd.concat([scores, by_oracle])
    replace_scores(run, both)
    assert status(run, a_is_better) == "supported"


def test_pooled_validation_has_a_status_of_its_own(
    run: Path, scores: pd.DataFrame
) -> None:
    chosen = scores.assign(selection="worst inferred environment")
    of_a = scores["method"] == "A"
    scores.loc[of_a, "value"] = 0.1
    both = pd.concat([chosen, scores])
    replace_scores(run, both)
    row = evaluated(run, a_is_better)
    assert row["status"] == "supported"
    assert row["status_pooled"] == "contradicted"


def test_stand_ins_decide_no_claim(run: Path, scores: pd.DataFrame) -> None:
    assert status(run, a_is_better) == "supported"
    scores["data_source"] = "fallback:digits"
    replace_scores(run, scores)
    row = evaluated(run, a_is_better)
    assert row["status"] == "open"
    reason = "not in this run: t has stand-ins for MNIST (digits of 8x8 pixels)"
    assert row["reason"] == reason


def test_a_table_with_a_point_in_its_name_is_no_table_of_the_paper(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "scores"
    folder.mkdir()
    for name, value in (("table1", 1.0), ("table1.half", 0.5)):
        frame = pd.DataFrame({"value": [value]})
        frame.to_csv(folder / f"{name}.csv.gz", index=False)
    tables = ScoreFiles(tmp_path.glob("scores/*.csv.gz"))
    assert set(tables) == {"table1", "table1.half"}
    assert tables["table1"]["value"].tolist() == [1.0]
