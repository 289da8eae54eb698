"""Two runs compared, cell by cell."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from folders import contents
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from kerhrm.cli import main
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.verify import agreement, compare_cells, verify
from tests.unit.reporting.conftest import COLUMNS, cells_of

REFERENCE = Path(__file__).parents[3] / "results" / "reference"
Make = Callable[..., Path]


def cells(
    values: list[float], method: str = "ERM", metric: str = "test_acc"
) -> pd.DataFrame:
    """The cell of one method in two settings."""
    rows = [
        (
            "classification",
            setting,
            "erm",
            method,
            seed,
            metric,
            value,
            "none",
            "synthetic",
            "",
        )
        for setting in ("r2=0.7", "r2=0.75")
        for seed, value in enumerate(values)
    ]
    return cells_of(pd.DataFrame(rows, columns=COLUMNS), "table1")


def departs(new: pd.DataFrame, old: pd.DataFrame) -> list[str]:
    reasons = compare_cells(new, old)["departs"]
    return [reason for reason in reasons if reason]


def test_the_published_runs_agree_with_themselves() -> None:
    published = Run(REFERENCE).cells()
    top = compare_cells(published, published)
    assert len(top) > 2000
    assert set(top["departs"]) == {""}


@pytest.mark.parametrize("name", ["", "smoke"])
def test_what_is_published_is_not_compared_with_itself(name: str) -> None:
    with refusal("is published itself; name the folder of a"):
        verify(Run(REFERENCE / name), REFERENCE)


@given(shift=st.floats(-0.3, 0.3))
def test_a_mean_may_move_within_the_published_interval(shift: float) -> None:
    old = cells([0.3, 0.4, 0.5])
    new = old.assign(mean=old["mean"] + shift)
    row = old.loc[0]
    low = row["ci_low"] - 1e-9
    high = row["ci_high"] + 1e-9
    inside = low <= new.loc[0, "mean"] <= high
    expected = [] if inside else ["outside the interval"] * 2
    assert departs(new, old) == expected


@pytest.mark.parametrize(("value", "outside"), [(0.709, False), (0.711, True)])
@pytest.mark.parametrize("seeds", [1, 2])
def test_without_an_interval_half_of_the_margin_counts(
    value: float, outside: bool, seeds: int
) -> None:
    before = cells([0.7] * seeds)
    after = cells([value] * seeds)
    assert bool(departs(after, before)) is outside


def test_a_metric_without_a_margin_must_be_equal() -> None:
    old = cells([0.4, 0.4], metric="regret")
    assert not departs(old, old)
    moved = old.assign(mean=0.4001)
    assert len(departs(moved, old)) == 2


def test_missing_and_new_cells_come_last() -> None:
    old_dro = cells([0.4, 0.5], "DRO")
    old_hrm = cells([0.1, 0.1], "HRM")
    old = pd.concat([old_dro, old_hrm])
    new_dro = cells([0.4, 0.5])
    new_hrm = cells([0.9, 0.9], "HRM")
    new = pd.concat([new_dro, new_hrm])
    both = compare_cells(new, old)
    assert sorted(both["departs"]) == sorted(
        [
            "missing",
            "missing",
            "new",
            "new",
            "outside the interval",
            "outside the interval",
        ]
    )


def test_failures_agree_with_failures_alone() -> None:
    failed = cells([0.4, np.nan])
    sound = cells([0.4, 0.5])
    assert not departs(failed, failed)
    assert departs(failed, sound) == ["failed"] * 2
    assert departs(sound, failed) == ["failed before"] * 2


def test_other_data_depart() -> None:
    old = cells([0.4, 0.5])
    new = old.assign(data_source="fallback:digits")
    assert departs(new, old) == ["from fallback:digits, not from synthetic"] * 2


def test_a_cut_table_is_reported(
    make_run: Make,
    scores: pd.DataFrame,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reference = make_run(scores, name="reference")
    run = make_run(scores, name="run")
    verify_ = ["verify", str(run), "--reference", str(reference)]
    (reference / "provenance.json").write_text(
        '{"tables": {"table1": {"preset": "fresh"}}}'
    )
    assert main(verify_) == 0
    path = run / "tables" / "table1.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:5]))
    capsys.readouterr()
    assert main(verify_) == 1
    printed = capsys.readouterr().out
    assert "agrees with the published run in 4 of 16 cells" in printed
    assert "more" not in printed
    monkeypatch.setattr("kerhrm_paper.commands.SHOWN", 3)
    assert main(verify_) == 1
    assert capsys.readouterr().out.endswith("\nand 9 more, which --all lists\n")
    assert main([*verify_, "--all"]) == 1
    assert capsys.readouterr().out == printed


def test_a_preset_that_is_not_published_names_those_that_are(
    make_run: Make, scores: pd.DataFrame
) -> None:
    with refusal(r"no tables at preset mine; it has fresh"):
        verify(Run(make_run(scores, "mine")), REFERENCE)


@pytest.fixture
def places(make_run: Make, scores: pd.DataFrame, tmp_path: Path) -> list[str]:
    """Arguments of ``kerhrm verify`` for a run that agrees."""
    reference = make_run(scores, name="reference")
    run = make_run(scores, name="run")
    (tmp_path / "foreign.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "foreign.csv")
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nothing.csv")
    return ["verify", str(run), "--reference", str(reference), "--csv"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing/x.csv", "does not exist"),
        ("foreign.csv/x.csv", "does not exist"),
        ("run/tables/table1.csv", "lies in the folder of the run"),
        ("run/tables/new.csv", "lies in the folder of the run"),
        ("run/choices.csv", "lies in the folder of the run"),
        ("run/config.yaml", "lies in the folder of the run"),
        ("reference/tables/table1.csv", "is read"),
        ("run/../reference/new.csv", "is read"),
        ("foreign.csv", "holds something else"),
        ("empty.csv", "holds something else"),
        ("link.csv", "holds something else"),
        ("dangling.csv", "holds something else"),
        (".", "holds something else"),
        ("/dev/null", "holds something else"),
    ],
)
def test_a_comparison_takes_no_other_files_place(
    places: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    problem: str,
) -> None:
    before = contents(tmp_path)
    target = str(tmp_path / name)
    assert main([*places, target]) == 1
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
    assert contents(tmp_path) == before


def test_a_comparison_is_written_and_written_again(
    places: list[str], tmp_path: Path
) -> None:
    target = tmp_path / "comparison.csv"
    for _ in range(2):
        assert main([*places, str(target)]) == 0
        assert len(pd.read_csv(target)) == 16


def test_a_sentence_and_lines_for_the_page(
    make_run: Make, scores: pd.DataFrame, tmp_path: Path
) -> None:
    reference = make_run(scores, name="reference")
    run = make_run(scores, name="run")
    sentence = "this machine agrees with the published run in 16 of 16 cells"
    assert agreement(Run(run), reference) == (sentence, [])
    path = run / "tables" / "table1.csv"
    cells = pd.read_csv(path)
    cells.loc[1, "mean"] += 2
    cells.to_csv(path, index=False)
    sentence, (line,) = agreement(Run(run), reference)
    assert sentence.endswith("in 15 of 16 cells")
    assert line.startswith("table1 r2=0.7 ERM test_acc (pooled validation): outside")
    replaced = make_run(scores.assign(data_source="fallback:digits"), name="replaced")
    sentence, _ = agreement(Run(replaced), reference)
    assert sentence.startswith("not compared with the published run: ")
    assert "only stand-ins for real data" in sentence
    mine = make_run(scores, "mine", name="mine")
    sentence, _ = agreement(Run(mine), reference)
    assert "results/reference has no tables at preset mine" in sentence
    assert str(tmp_path / "reference") not in sentence
