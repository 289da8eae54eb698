"""Two runs held against each other, cell by cell."""

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.errors import KerhrmError
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table
from kerhrm.reporting.verify import LISTED, compare, verify

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]
PAPER = PaperValues({("table1", "r2=0.70", "ERM", "test_acc"): 0.4})
ERM = ("table1", "r2=0.70", "ERM", "test_acc", "pooled validation")


def cells(values: list[float], method: str = "ERM", reason: str = "") -> pd.DataFrame:
    """The cell of one method in two settings, the second like the first."""
    rule = "none" if method.startswith("ref: ") else "pooled validation"
    rows = [
        (setting, method, seed, "test_acc", value, rule, "synthetic", reason)
        for setting in ("r2=0.70", "r2=0.75")
        for seed, value in enumerate(values)
    ]
    scores = pd.DataFrame(rows, columns=COLUMNS)
    return build_table(scores, "table1", "paper", PAPER, resamples=100)


def write(folder: Path, table: pd.DataFrame, name: str = "table1") -> Path:
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "tables" / f"{name}.csv", index=False)
    return folder


def problems(tmp_path: Path, fresh: pd.DataFrame, reference: pd.DataFrame) -> list[str]:
    folders = write(tmp_path / "fresh", fresh), write(tmp_path / "reference", reference)
    return [str(departure) for departure in compare(*folders)]


def test_a_run_agrees_with_itself(tmp_path: Path) -> None:
    table = cells([0.3, 0.4, 0.5])
    assert problems(tmp_path, table, table) == []
    assert verify(tmp_path / "fresh", tmp_path / "reference") == len(table) == 2


@given(shift=st.floats(-0.3, 0.3))
def test_a_mean_may_move_within_the_stored_interval(
    shift: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    reference = cells([0.3, 0.4, 0.5])
    fresh = reference.assign(mean=reference["mean"] + shift)
    low, high = reference.loc[0, ["ci_low", "ci_high"]]
    found = problems(tmp_path_factory.mktemp("runs"), fresh, reference)
    assert bool(found) == (not low - 1e-9 <= fresh.loc[0, "mean"] <= high + 1e-9)


def test_a_departure_names_the_cell_and_the_interval(tmp_path: Path) -> None:
    fresh, reference = cells([0.6, 0.7, 0.8]), cells([0.3, 0.4, 0.5])
    first, second = problems(tmp_path, fresh, reference)
    assert first.startswith(" | ".join(ERM) + ": 0.7 is outside [0.3")
    assert first.endswith(", now 'better'")
    assert second.endswith("]")  # no verdict there


def test_a_verdict_alone_is_no_departure(tmp_path: Path) -> None:
    reference = cells([0.3, 0.4, 0.5])
    assert problems(tmp_path, reference.assign(verdict="better"), reference) == []


@pytest.mark.parametrize(("value", "departs"), [(0.709, False), (0.711, True)])
def test_a_point_has_a_tolerance(tmp_path: Path, value: float, departs: bool) -> None:
    reference = cells([0.7, 0.7], "ref: Bayes pooled")
    fresh = cells([value, value], "ref: Bayes pooled")
    assert bool(problems(tmp_path, fresh, reference)) is departs


def test_missing_and_new_cells_and_tables(tmp_path: Path) -> None:
    both = pd.concat([cells([0.4, 0.5]), cells([0.4, 0.5], "DRO")])
    found = problems(tmp_path, cells([0.4, 0.5]), cells([0.4, 0.5], "DRO"))
    assert [line.split(" | ", 2)[2] for line in found] == [
        "DRO | test_acc | pooled validation: missing",
        "DRO | test_acc | pooled validation: missing",
        "ERM | test_acc | pooled validation: new",
        "ERM | test_acc | pooled validation: new",
    ]
    assert problems(tmp_path, both, both) == []
    write(tmp_path / "fresh", both, "table2")
    write(tmp_path / "reference", both, "table3")
    found = [str(d) for d in compare(tmp_path / "fresh", tmp_path / "reference")]
    assert found == ["table3: missing", "table2: new"]


def test_failures_agree_with_failures_alone(tmp_path: Path) -> None:
    failed = cells([0.4, float("nan")], reason="diverged")
    sound = cells([0.4, 0.5])
    assert problems(tmp_path, failed, failed) == []
    first, _ = problems(tmp_path, failed, sound)
    assert first == " | ".join(ERM) + ": failed: diverged (1 of 2 seeds)"
    first, _ = problems(tmp_path, sound, failed)
    assert first.endswith(": 0.45, where the stored run failed")


def test_other_data_are_told(tmp_path: Path) -> None:
    reference = cells([0.4, 0.5])
    fresh = reference.assign(data_source="stand-in:digits")
    first, _ = problems(tmp_path, fresh, reference)
    assert first.endswith(": from stand-in:digits, and not from synthetic")


def test_the_error_lists_the_first_and_counts_the_rest(tmp_path: Path) -> None:
    reference = pd.concat(
        [cells([0.4, 0.5]).assign(setting=f"r2=0.{n}") for n in range(10, 40)]
    ).drop_duplicates("setting")
    write(tmp_path / "fresh", reference.assign(mean=0.9))
    write(tmp_path / "reference", reference)
    with pytest.raises(KerhrmError) as caught:
        verify(tmp_path / "fresh", tmp_path / "reference")
    first, *lines, last = str(caught.value).splitlines()
    assert first.endswith("in 30 places:")
    assert len(lines) == LISTED
    assert all(re.search(r"0\.9 is outside \[", line) for line in lines)
    assert last == "and 10 more"


def test_a_folder_without_tables_is_told(tmp_path: Path) -> None:
    write(tmp_path / "fresh", cells([0.4]))
    with pytest.raises(KerhrmError, match=r"nowhere has no tables/\*\.csv"):
        verify(tmp_path / "fresh", tmp_path / "nowhere")
