"""Claims by the scores of a run."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from sklearn.linear_model import LinearRegression

from kerhrm_paper.claims import check
from kerhrm_paper.claims.check import evaluate
from kerhrm_paper.claims.small_runs import MEASURES, SMOKE, Lab, _explained
from kerhrm_paper.config import load_config

CLAIMS = Path(__file__).parents[3] / "config/claims.yaml"


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


def status(folder: Path, *tests: dict[str, Any], **more: Any) -> pd.Series:
    path = folder / "claims.yaml"
    claim = {"claim": 1, "where": "1", "statement": "x", "tests": list(tests), **more}
    path.write_text(yaml.safe_dump([claim]))
    return evaluate(folder, "smoke", path).iloc[0]


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


CELL = {"table": "t", "setting": "r=1", "metric": "test_acc"}


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (CELL | {"better": "A", "than": ["B", "C"]}, "supported"),
        (CELL | {"better": "A", "than": "B", "by": 0.5}, "contradicted"),
        (CELL | {"metric": "mean_error", "better": "A", "than": "B"}, "contradicted"),
        (CELL | {"metric": "mean_error", "more": "A", "than": "B"}, "supported"),
        (CELL | {"more": "A @ r=2", "than": "A"}, "supported"),
        (
            CELL | {"more": {"B": 2, "C": -1, "constant": -0.1}, "than": 0.5},
            "supported",
        ),
        (CELL | {"more": {"A": 1, "over": ["r=1", "r=2"]}, "than": 0.83}, "supported"),
        (CELL | {"more": {"A": 1, "B": -1}, "than": {"B": 1, "C": -1}}, "supported"),
        (CELL | {"more": 0.7, "than": {"A": 0.5, "B": 0.5}, "by": 0.1}, "contradicted"),
        (CELL | {"alike": "A", "to": 0.8, "within": 0.1}, "supported"),
        (CELL | {"steady": ["A", "B"], "below": 0.1}, "supported"),
        (CELL | {"rising": "A", "setting": ["r=1", "r=2"]}, "supported"),
        (CELL | {"better": "A", "than": "A @ r=1"}, "open"),
    ],
)
def test_comparisons(run: Path, test: dict[str, Any], expected: str) -> None:
    assert status(run, test)["status"] == expected


def test_some_of_several_settings(run: Path) -> None:
    test = CELL | {"setting": ["r=1", "r=2"], "more": "A", "than": [0.85, 0.7]}
    assert status(run, test)["status"] == "contradicted"
    assert status(run, test, at_least=1, by="setting")["status"] == "supported"
    row = status(run, test, at_least=3)
    assert (row["status"], row["tests"], row["tests_for"]) == ("supported", 4, 3)


def test_what_a_run_lacks_is_open(run: Path) -> None:
    row = status(run, CELL | {"better": "D", "than": "A"})
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
    row = status(
        run,
        {
            "table": "f",
            "setting": "s",
            "metric": "test_acc",
            "better": "A",
            "than": "B",
        },
    )
    assert (row["status"], row["reason"]) == ("open", "a seed has no result")


def test_other_selection_criteria_do_not_count(run: Path) -> None:
    path = run / "scores/t.csv.gz"
    scores = pd.read_csv(path)
    other = scores.assign(selection="oracle", value=0.0)
    pd.concat([scores, other]).to_csv(path, index=False)
    assert status(run, CELL | {"better": "A", "than": "B"})["status"] == "supported"


def test_claims_of_the_paper_on_a_run_without_scores(tmp_path: Path) -> None:
    """Small runs, tiny, and identities; every name that a test uses exists."""
    (tmp_path / "scores").mkdir()
    claims = evaluate(tmp_path, "smoke", CLAIMS)
    declared = yaml.safe_load(CLAIMS.read_text())
    for claim, row in zip(declared, claims.itertuples(), strict=True):
        if any("measure" in test for test in claim.get("tests", ())):
            assert np.isfinite(row.effect), claim
        elif "tests" in claim:
            assert row.reason.startswith("not in this run"), claim
            assert np.isnan(row.tests)
        else:
            assert row.status in ("supported", "contradicted")
    used = {
        test["measure"]
        for c in declared
        for test in c.get("tests", ())
        if "measure" in test
    }
    assert used == set(MEASURES)


def test_every_cell_that_a_claim_names_is_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = load_config({"preset": "paper"})
    titles: dict[str, set[str]] = {}
    labels: dict[str, set[str]] = {}
    for name, table in config.tables.items():
        for row in table.rows:
            titles.setdefault(name, set()).update(row.titles.values())
            labels.setdefault(name, set()).add(row.setting)

    def look(
        self: check.Evidence, table: str, setting: str, method: str, metric: str
    ) -> pd.Series:
        assert method in titles[table] or method.startswith("ref: "), (table, method)
        period = setting.startswith(("period=", "iteration="))
        assert setting in labels[table] or period, (table, setting)
        return pd.Series([0.0, 1.0], ["0", "1"])

    monkeypatch.setattr(check.Evidence, "cell", look)
    monkeypatch.setattr(
        check.Evidence, "number", lambda *_: pd.Series([0.0, 1.0], ["0", "1"])
    )
    assert (evaluate(Path(), "paper", CLAIMS)["reason"] == "").all()


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
    test = CELL | {"better": "A", "than": "B"}
    assert status(run, test)["status"] == "supported"
    path = run / "scores" / "t.csv.gz"
    pd.read_csv(path).assign(data_source="fallback:digits").to_csv(path, index=False)
    row = status(run, test)
    assert (row["status"], row["reason"]) == (
        "open",
        "not in this run: t has stand-ins for MNIST (digits of 8x8 pixels)",
    )
