"""Words of the results page follow from counts, and new rows are told beside old ones."""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from kerhrm.reporting.layout import MISSING
from kerhrm.reporting.published import ABSENT, Cell, load
from kerhrm.reporting.results_page import REFERENCE, TEMPLATE, names, render
from kerhrm.reporting.wording import against, answer, counted, goals, reproduction, span, told

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({}, ABSENT),
        ({"better": 1}, "better"),
        ({"worse": 6}, "worse in all 6 settings"),
        ({"worse": 1, "better": 2}, "better in 2 and worse in 1 of 3 settings"),
        (
            {"worse": 1, "better": 2, "undecided": 3},
            "better in 2, undecided in 3 and worse in 1 of 6 settings",
        ),
    ],
)
def test_outcomes_are_counted(counts: dict[str, int], words: str) -> None:
    assert told(Counter(counts)) == words


def test_a_row_reproduces_if_all_agree_and_does_not_if_one_differs() -> None:
    assert answer({}) == "nothing to say"
    assert answer({"agrees": 3}) == "yes"
    assert answer({"agrees": 3, "undecided": 1}) == "undecided"
    assert answer({"agrees": 3, "differs (good)": 1, "undecided": 1}) == "no"
    assert counted({"agrees": 1, "differs (bad)": 2}) == "1 agrees, 2 differ (bad)"


def test_means_and_intervals_in_words() -> None:
    assert span([0.7512, 0.7511]) == "0.751"
    assert span([0.8, float("nan"), 0.7]) == "0.700 to 0.800"
    cells = [Cell({"mean": m, "ci_low": m - 0.1, "ci_high": m + 0.1}) for m in (0.2, 0.5, 0.9)]
    assert against(cells, 0.5) == "1 above it, 1 with it inside, 1 below it (of 3)"
    assert str(Cell(None)) == ABSENT
    cell = Cell({"mean": 0.5, "std": 0.01, "n_seeds": 10})
    assert (str(cell), cell > 0.4) == ("0.500 ± 0.010 (n = 10)", True)


@pytest.mark.parametrize("failed", [0, 1])
def test_a_goal_is_missed_where_a_setting_failed(
    monkeypatch: pytest.MonkeyPatch, failed: int
) -> None:
    results = load(ROOT / REFERENCE)
    good = {"mean": 0.76, "std": 0.01, "n_seeds": 10, "ci_high": 0.77}
    cells = [Cell(good), Cell(good)]
    monkeypatch.setattr(type(results), "has", lambda self, table, *rows: table == "table1")
    monkeypatch.setattr(type(results), "row", lambda self, table, method: cells)
    told = [cell.strip() for cell in goals(results).splitlines()[-1].split("|")[3:-1]]
    assert told == ["0.760", "0.010", "reached"]
    cells[failed] = Cell({"mean": float("nan"), "std": float("nan"), "verdict": "failed"})
    assert goals(results).endswith("| **missed** |")


def test_seeds_are_those_of_the_tables_alone() -> None:
    experiments = {
        "one": {"in_all": True, "seeds": {"data": [1000, 1009]}},
        "more": {"in_all": True, "seeds": {"data": [1010, 1019]}},
        "study": {"in_all": False, "seeds": {"data": [0, 1]}},
    }
    results = replace(load(ROOT / REFERENCE), config={"experiments": experiments})
    assert names(results)["seeds"] == "1000 to 1019"
    apart = {"experiments": {"study": experiments["study"]}}
    assert names(replace(results, config=apart))["seeds"] == "0 to 1"


def test_rows_and_rules_that_a_new_run_has_are_told(tmp_path: Path) -> None:
    shutil.copytree(ROOT / REFERENCE, tmp_path / "reference")
    path = tmp_path / "reference" / "tables" / "table1.csv"
    cells = pd.read_csv(path)
    released = cells[cells["method"] == "KerHRM (released)"]
    rule = {"track": "described", "selection": "pooled validation", "mean": 0.123}
    literal = released.assign(method="KerHRM (literal)", **rule)
    each = released.assign(method="KerHRM (per seed)", track="described", mean=0.456)
    eiil = cells[(cells["method"] == "EIIL") & (cells["selection"] == "oracle")]
    pd.concat([
        cells[~cells["method"].isin(["KerHRM (literal)", "KerHRM (per seed)"])], literal,
        each.assign(selection="worst learned environment"),
        eiil.assign(selection="worst learned environment", mean=0.777),
    ]).drop_duplicates(["setting", "method", "metric", "selection"], keep="last").to_csv(
        path, index=False
    )  # fmt: skip
    page = render(load(tmp_path / "reference"), TEMPLATE, earlier=False, link="x")
    assert "- **KerHRM (literal)**: 0.123, standard deviations up to" in page
    assert "- **KerHRM (per seed)**: 0.456" in page
    eiils = page.partition("### EIIL, by selection rule")[2].partition("The statement")[0]
    assert "worst learned environment" in eiils
    assert "0.777" in eiils


def test_rows_that_end_early_or_have_no_place_are_not_called_absent() -> None:
    """KerHRM ends before the released code does, and few methods are in Table 2."""
    results = load(ROOT / REFERENCE)
    lasts = [
        results.course("figure2", row, "test_acc")[-1].row["setting"]
        for row in ("KerHRM (NTF)", "KerHRM (released)")
    ]
    assert lasts[0] != lasts[1]
    page = render(results, TEMPLATE, earlier=False, link="x")
    figure = page.partition("\n## Figure 2")[2].partition("\n## ")[0]
    assert all(last in figure for last in lasts)
    assert ABSENT not in figure
    assert not results.has("table2", "ERM")
    (row,) = [line for line in reproduction(results).splitlines() if line.startswith("| ERM ")]
    assert row.split("|")[3].strip() == MISSING
    without = replace(results, cells=results.cells[results.cells["table"] != "table2"])
    assert ABSENT in reproduction(without)
