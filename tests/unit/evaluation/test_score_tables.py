"""From rows of scores to tables, next to the paper's values."""

import math
from pathlib import Path

import pandas as pd
import pytest
from refusals import refusal

from kerhrm_paper.evaluation.score_rows import COLUMNS
from kerhrm_paper.evaluation.tables import COLUMNS as CELL_COLUMNS
from kerhrm_paper.evaluation.tables import load_paper_values, make_table, primary

INFERRED = "worst inferred environment"
POOLED = "pooled validation"

PAPER = {
    ("t", "s", "ERM", "test_acc"): 0.7,
    ("t", "s", "KerHRM-s", "test_acc"): 0.6,
}
ROWS = [
    ("s", "erm", "ERM", POOLED),
    ("s", "erm", "ERM", "oracle"),
    ("s,H=I", "erm", "ERM", POOLED),
    ("s", "kerhrm", "KerHRM (first iteration)", INFERRED),
    ("s", "", "ref: majority", "none"),
]


def seeds_of(
    values: dict[str, list[float]] | None = None, source: str = "mnist"
) -> pd.DataFrame:
    """Scores of four seeds in each of ROWS."""
    values = values or {}
    rows = []
    for setting, learner, method, selection in ROWS:
        usual = [0.70, 0.71, 0.69, 0.70]
        by_seed = values.get(method, usual)
        for seed, value in enumerate(by_seed):
            row = {
                "data": "d",
                "setting": setting,
                "learner": learner,
                "method": method,
                "seed": seed,
                "metric": "test_acc",
                "value": value,
                "selection": selection,
                "data_source": source,
                "reason": "",
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def cell(
    cells: pd.DataFrame, setting: str, method: str, selection: str = POOLED
) -> pd.Series:
    here = cells["setting"] == setting
    here &= cells["method"] == method
    here &= cells["selection"] == selection
    return cells[here].iloc[0]


def test_cells_with_the_papers_values() -> None:
    cells = make_table(seeds_of(), "t", "", PAPER)
    assert list(cells.columns) == CELL_COLUMNS
    assert len(cells) == len(ROWS)
    own = cell(cells, "s", "ERM")
    assert own["mean"] == pytest.approx(0.7)
    assert own["n_seeds"] == 4
    assert own["paper"] == 0.7
    assert own["verdict"] == ""
    assert own["reason"] == ""
    of_identity = cell(cells, "s,H=I", "ERM")
    assert of_identity["paper"] == 0.7  # the paper does not name H
    other = cell(cells, "s", "ERM", "oracle")
    assert other["verdict"] == "not comparable"
    assert other["paper"] == 0.7
    first_iteration = cell(cells, "s", "KerHRM (first iteration)", INFERRED)
    assert first_iteration["paper"] == 0.6
    reference = cell(cells, "s", "ref: majority", "none")
    assert reference["verdict"] == ""
    assert math.isnan(reference["paper"])


@pytest.mark.parametrize("others", [[], [POOLED]])
def test_the_oracles_choice_is_no_methods_own(others: list[str]) -> None:
    """Neither alone nor in front of the method's criterion."""
    scores = seeds_of()
    is_erm = (scores["method"] == "ERM") & (scores["setting"] == "s")
    erm = scores[is_erm & (scores["selection"] == POOLED)]
    rows = [erm.assign(selection=name) for name in ("oracle", *others)]
    cells = make_table(pd.concat(rows), "t", "", PAPER)
    of_oracle = cell(cells, "s", "ERM", "oracle")
    assert of_oracle["verdict"] == "not comparable"
    assert "another selection criterion" in of_oracle["reason"]
    assert of_oracle["mean"] == pytest.approx(0.7)
    assert primary(cells).tolist() == [False, *[True] * len(others)]
    for name in others:
        assert cell(cells, "s", "ERM", name)["verdict"] == ""


@pytest.mark.parametrize(
    ("mark", "source"), [("smoke sizes", "mnist"), ("", "fallback:digits")]
)
def test_other_sizes_and_fallback_data_are_not_compared(mark: str, source: str) -> None:
    scores = seeds_of(source=source)
    cells = make_table(scores, "t", mark, PAPER)
    assert cells["paper"].isna().all()
    assert set(cells["verdict"]) == {"", "not comparable"}


def test_a_single_seed_has_no_interval() -> None:
    one_seed = {method: [0.7] for _, _, method, _ in ROWS}
    scores = seeds_of(one_seed)
    cells = make_table(scores, "t", "", PAPER)
    intervals = cells[["std", "ci_low", "ci_high"]]
    assert intervals.isna().all(axis=None)


def test_a_failed_seed_fails_its_cell() -> None:
    with_a_hole = [0.7, float("nan"), 0.7, 0.7]
    scores = seeds_of({"ERM": with_a_hole})
    cells = make_table(scores, "t", "", PAPER)
    failed = cell(cells, "s", "ERM")
    assert failed["verdict"] == "failed"
    assert failed["reason"] == "no value (1 of 4 seeds)"
    assert math.isnan(failed["mean"])


@pytest.mark.parametrize(
    "text", ["table1: {r2=0.7: {ERM: 3}}", "a: [", "- 1", "a: {b: {c: {d: x}}}"]
)
def test_malformed_values_of_the_paper_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "paper.yaml"
    path.write_text(text)
    with refusal(r"paper\.yaml"):
        load_paper_values(path)
