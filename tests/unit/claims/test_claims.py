"""Claims by the scores of a run, and how they are declared."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LinearRegression

from kerhrm_paper.claims import small_runs
from kerhrm_paper.claims.check import evaluate
from kerhrm_paper.claims.comparison import Comparison, all_of, at_least
from kerhrm_paper.claims.declare import CLAIMS, NUMBERS, Claim, Function, claim
from kerhrm_paper.claims.evidence import Evidence, Quantities
from kerhrm_paper.claims.lab import SMOKE, Lab
from kerhrm_paper.claims.small_runs import MEASURES, _explained
from kerhrm_paper.config.config import load_config


def write(
    folder: Path, table: str, cells: dict[tuple[str, str, str], list[float]]
) -> None:
    rows = [
        (setting, method, seed, metric, value, "pooled validation", "synthetic")
        for (setting, method, metric), values in cells.items()
        for seed, value in enumerate(values)
    ]
    names = ["setting", "method", "seed", "metric", "value", "selection", "data_source"]
    (folder / "scores").mkdir(exist_ok=True)
    pd.DataFrame(rows, columns=names).to_csv(
        folder / f"scores/{table}.csv.gz", index=False
    )


def evaluated(folder: Path, test: Function) -> pd.Series:
    """The row of one claim on the scores of a folder."""
    return evaluate(folder, "smoke", [Claim(1, "1", "x", test)]).iloc[0]


def status(folder: Path, test: Function) -> str:
    return str(evaluated(folder, test)["status"])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    level = {"A": 0.8, "B": 0.6, "C": 0.5}
    cells = {
        (s, m, metric): (abs(sign) * v + shift + rng.normal(0, 0.01, 8)).tolist()
        for s, shift in (("r=1", 0.0), ("r=2", 0.1))
        for m, v in level.items()
        for metric, sign in (("test_acc", 1), ("mean_error", -1))
    }
    write(tmp_path, "t", cells)
    return tmp_path


def accuracy(evidence: Evidence) -> Quantities:
    return evidence.cells("t", "test_acc", "r=1")


def error(evidence: Evidence) -> Quantities:
    return evidence.cells("t", "mean_error", "r=1")


def a_is_better(evidence: Evidence) -> Comparison:
    return accuracy(evidence).better("A", than="B")


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
        (lambda e: accuracy(e).rising("A", over=["r=1", "r=2"]), "supported"),
        (lambda e: accuracy(e).rising("A", over=["r=2", "r=1"]), "contradicted"),
        (lambda e: accuracy(e).better("A", than="A"), "open"),
    ],
)
def test_comparisons(run: Path, test: Function, expected: str) -> None:
    assert status(run, test) == expected


def test_other_settings_and_weighted_sums(run: Path) -> None:
    """Means over seeds: A .8, B .6, C .5 in r=1, and .1 more in r=2."""
    evidence = Evidence({"t": pd.read_csv(run / "scores/t.csv.gz")})
    cells = accuracy(evidence)
    a, b, c = (evidence.cell("t", "r=1", m, "test_acc") for m in "ABC")
    a2 = evidence.cell("t", "r=2", "A", "test_acc")
    pairs = [
        (cells.at("r=2", "A"), a2, "A @ r=2"),
        (cells.weighted({"A": 2}, at="r=2"), 2 * a2, '{"A @ r=2": 2}'),
        (
            cells.weighted({"B": 2, "C": -1}, constant=-0.1),
            2 * b - c - 0.1,
            '{"B": 2, "C": -1, "constant": -0.1}',
        ),
        (
            cells.weighted({"A": 1}, over=["r=1", "r=2"]),
            (a + a2) / 2,
            '{"A": 1, "over": ["r=1", "r=2"]}',
        ),
    ]
    for values, expected, name in pairs:
        np.testing.assert_allclose(values.by_seed, expected)
        assert values.name == name
    test = cells.more(cells.at("r=2", "A"), than=0.7)
    assert test.measure == "A @ r=2 more than 0.7 (test_acc, r=1)"
    assert test.estimate == pytest.approx(a2.mean() - 0.7)


def test_seeds_that_one_side_lacks_do_not_count(run: Path) -> None:
    path = run / "scores/t.csv.gz"
    scores = pd.read_csv(path)
    fewer = scores[(scores["method"] != "A") | (scores["seed"] > 1)]
    fewer.to_csv(path, index=False)
    assert evaluated(run, a_is_better)["n"] == 6
    apart = scores["seed"].mask(scores["method"] == "A", scores["seed"] + 100)
    scores.assign(seed=apart).to_csv(path, index=False)
    reason = evaluated(run, a_is_better)["reason"]
    assert reason == "not in this run: no seed in common"


def test_some_of_several_settings(run: Path) -> None:
    """A has .8 and .9: two limits in two settings."""

    def tests(evidence: Evidence, setting: str) -> list[Comparison]:
        cells = evidence.cells("t", "test_acc", setting)
        return [cells.more("A", than=limit) for limit in (0.85, 0.7)]

    def all_tests(evidence: Evidence) -> list[Comparison]:
        return tests(evidence, "r=1") + tests(evidence, "r=2")

    def one_setting(evidence: Evidence) -> Comparison:
        return at_least(1, [all_of(tests(evidence, s)) for s in ("r=1", "r=2")])

    assert status(run, lambda e: all_of(all_tests(e))) == "contradicted"
    assert status(run, one_setting) == "supported"
    row = evaluated(run, lambda e: at_least(3, all_tests(e)))
    assert (row["status"], row["tests"], row["tests_for"]) == ("supported", 4, 3)


def test_what_a_run_lacks_is_open(run: Path) -> None:
    row = evaluated(run, lambda e: accuracy(e).better("D", than="A"))
    assert row["status"] == "open"
    assert "no D in t" in row["reason"]


def test_a_failed_seed_leaves_it_open(run: Path) -> None:
    write(
        run,
        "f",
        {
            ("s", "A", "test_acc"): [0.9, float("nan")],
            ("s", "B", "test_acc"): [0.1, 0.1],
        },
    )
    row = evaluated(run, lambda e: e.cells("f", "test_acc", "s").better("A", than="B"))
    assert (row["status"], row["reason"]) == ("open", "a seed has no result")


def test_other_selection_criteria_do_not_count(run: Path) -> None:
    path = run / "scores/t.csv.gz"
    scores = pd.read_csv(path)
    other = scores.assign(selection="oracle", value=0.0)
    pd.concat([scores, other]).to_csv(path, index=False)
    assert status(run, a_is_better) == "supported"


def test_pooled_validation_has_a_status_of_its_own(run: Path) -> None:
    path = run / "scores/t.csv.gz"
    scores = pd.read_csv(path)
    chosen = scores.assign(selection="worst inferred environment")
    pooled = scores.assign(value=scores["value"].where(scores["method"] != "A", 0.1))
    pd.concat([chosen, pooled]).to_csv(path, index=False)
    row = evaluated(run, a_is_better)
    assert (row["status"], row["status_pooled"]) == ("supported", "contradicted")


@pytest.fixture(scope="module")
def numbers() -> dict[str, pd.DataFrame]:
    """All small runs, tiny."""
    return {name: small_runs.run(name, smoke=True) for name in MEASURES}


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
    (tmp_path / "scores").mkdir()
    claims = evaluate(tmp_path, "smoke")
    assert list(claims["claim"]) == sorted(NUMBERS)
    assert used == set(MEASURES)
    by_test = claims["test"] != ""
    assert set(claims.loc[by_test, "status"]) == {"supported", "contradicted"}
    missing = claims["reason"].str.startswith("not in this run")
    assert claims.loc[missing, "tests"].isna().all()
    assert np.isfinite(claims.loc[~missing, "effect"]).all()
    small = ~missing & ~by_test
    assert (claims.loc[small, "numbers"] != "").all()
    assert (by_test.sum(), small.sum()) == (13, 12)


def test_every_cell_that_a_claim_names_is_configured(
    monkeypatch: pytest.MonkeyPatch, numbers: dict[str, pd.DataFrame]
) -> None:
    config = load_config({"preset": "paper"})
    titles: dict[str, set[str]] = {}
    labels: dict[str, set[str]] = {}
    for name, table in config.tables.items():
        for row in table.rows:
            titles.setdefault(name, set()).update(row.titles.values())
            labels.setdefault(name, set()).add(row.setting)

    def look(
        self: Evidence, table: str, setting: str, method: str, metric: str
    ) -> pd.Series:
        assert method in titles[table] or method.startswith("ref: "), (table, method)
        period = setting.startswith(("period=", "iteration="))
        assert setting in labels[table] or period, (table, setting)
        return pd.Series([0.0, 1.0], ["0", "1"])

    monkeypatch.setattr(Evidence, "cell", look)
    monkeypatch.setattr(small_runs, "run", lambda name, smoke: numbers[name])
    assert (evaluate(Path(), "paper")["reason"] == "").all()


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("classification", 100, SMOKE)


def test_a_lab_has_the_attribute_and_the_best_split(lab: Lab) -> None:
    agree = float((lab.v.sign() == lab.problem.y).double().mean())
    assert agree == pytest.approx(0.85, abs=0.1)  # (.9 + .8) / 2
    assert lab.divergence(lab.perfect) > 2
    assert lab.divergence(lab.perfect * 0 + 0.5) == pytest.approx(0, abs=1e-12)
    found = lab.explore(lab.problem.psi_train)
    np.testing.assert_allclose(found.sum(-1), 1)


def test_explained_share_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    score = LinearRegression().fit(x, y).score(x, y)
    assert _explained(torch.from_numpy(x), torch.from_numpy(y)) == pytest.approx(score)


def test_stand_ins_decide_no_claim(run: Path) -> None:
    assert status(run, a_is_better) == "supported"
    path = run / "scores" / "t.csv.gz"
    pd.read_csv(path).assign(data_source="fallback:digits").to_csv(path, index=False)
    row = evaluated(run, a_is_better)
    assert (row["status"], row["reason"]) == (
        "open",
        "not in this run: t has stand-ins for MNIST (digits of 8x8 pixels)",
    )


@pytest.mark.parametrize(
    ("docstring", "problem"),
    [
        ("Claim 11 (3.1): A low rank k suffices.", "claim 11 is declared twice"),
        ("Claim 21 (3.3): Centres are distant.", "the paper has no claim 21"),
        ("Claim 55 (8): Another one.", "the paper has no claim 55"),
        ("A low rank k suffices.", "not a claim"),
        (None, "not a claim"),
    ],
)
def test_a_claim_that_the_paper_does_not_have_is_refused(
    docstring: str | None, problem: str
) -> None:
    def low_rank_suffices(evidence: Evidence) -> Comparison:
        return accuracy(evidence).better("A", than="B")

    low_rank_suffices.__doc__ = docstring
    before = dict(CLAIMS)
    with pytest.raises(ValueError, match=problem):
        claim(low_rank_suffices)
    assert before == CLAIMS


def test_a_claim_has_number_place_and_statement_of_its_docstring() -> None:
    row = CLAIMS[20]
    assert (row.where, row.statement) == (
        "Theorem 4.1",
        "L_c is a rate and a distortion: I(I;J) + E d / (2 sigma^2)",
    )
