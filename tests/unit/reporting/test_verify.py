"""Two runs held against each other, cell by cell."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kerhrm.errors import KerhrmError
from kerhrm.reporting.differences import KEYS
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table
from kerhrm.reporting.verify import LISTED, committed, compare, verify, verify_run

ROOT = Path(__file__).parents[3]
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
    return build_table(scores, "table1", "paper", PAPER)


def write(folder: Path, table: pd.DataFrame) -> list[Path]:
    folder.mkdir()
    table.to_csv(folder / "table1.csv", index=False)
    return [folder / "table1.csv"]


def test_a_run_agrees_with_itself(tmp_path: Path) -> None:
    table = cells([0.3, 0.4, 0.5])
    assert compare(table, table) == []
    fresh, reference = write(tmp_path / "fresh", table), write(tmp_path / "reference", table)
    assert verify(fresh, reference) == len(table) == 2


@given(shift=st.floats(-0.3, 0.3))
def test_a_mean_may_move_within_the_stored_interval(shift: float) -> None:
    reference = cells([0.3, 0.4, 0.5])
    fresh = reference.assign(mean=reference["mean"] + shift)
    low, high = reference.loc[0, ["ci_low", "ci_high"]]
    found = compare(fresh, reference)
    assert bool(found) == (not low - 1e-9 <= fresh.loc[0, "mean"] <= high + 1e-9)


def test_a_departure_names_the_cell_and_the_interval() -> None:
    fresh, reference = cells([0.6, 0.7, 0.8]), cells([0.3, 0.4, 0.5])
    first, second = compare(fresh, reference)
    assert first.startswith(" | ".join(ERM) + ": 0.7 is outside [0.15")
    assert first.endswith(", now 'differs: higher'")
    assert re.search(r"\], p = [\d.]+$", second)  # no verdict there


def test_a_verdict_alone_is_no_departure() -> None:
    reference = cells([0.3, 0.4, 0.5])
    assert compare(reference.assign(verdict="agrees"), reference) == []


@pytest.mark.parametrize(("value", "departs"), [(0.709, False), (0.711, True)])
def test_a_point_has_a_tolerance(value: float, departs: bool) -> None:
    reference = cells([0.7, 0.7], "ref: Bayes pooled")
    fresh = cells([value, value], "ref: Bayes pooled")
    assert bool(compare(fresh, reference)) is departs


def test_missing_and_new_cells() -> None:
    found = compare(cells([0.4, 0.5]), cells([0.4, 0.5], "DRO"))
    assert [line.split(" | ", 2)[2] for line in found] == [
        "DRO | test_acc | pooled validation: missing",
        "DRO | test_acc | pooled validation: missing",
        "ERM | test_acc | pooled validation: new",
        "ERM | test_acc | pooled validation: new",
    ]


def test_a_metric_without_a_criterion_has_no_tolerance() -> None:
    reference = cells([0.4]).assign(metric="regret")
    assert compare(reference, reference) == []
    assert len(compare(reference.assign(mean=0.4001), reference)) == 2


def test_failures_agree_with_failures_alone() -> None:
    failed = cells([0.4, float("nan")], reason="diverged")
    sound = cells([0.4, 0.5])
    assert compare(failed, failed) == []
    first, _ = compare(failed, sound)
    assert first == " | ".join(ERM) + ": failed: diverged (1 of 2 seeds)"
    first, _ = compare(sound, failed)
    assert first.endswith(": 0.45, where the stored run failed")


def test_other_data_are_told() -> None:
    reference = cells([0.4, 0.5])
    fresh = reference.assign(data_source="stand-in:digits")
    first, _ = compare(fresh, reference)
    assert first.endswith(": from stand-in:digits, and not from synthetic")


def test_the_error_lists_the_first_and_counts_the_rest(tmp_path: Path) -> None:
    reference = pd.concat(
        [cells([0.4, 0.45, 0.5]).assign(setting=f"r2=0.{n}") for n in range(10, 40)]
    ).drop_duplicates("setting")
    fresh, stored = tmp_path / "fresh" / "tables", tmp_path / "reference" / "tables"
    for folder, table in ((fresh, reference.assign(mean=0.9)), (stored, reference)):
        folder.parent.mkdir()
        write(folder, table)
    with pytest.raises(KerhrmError) as caught:
        verify([fresh / "table1.csv"], [stored / "table1.csv"])
    first, *lines, last = str(caught.value).splitlines()
    places = "30 places, of 30 cells (30 with another result):"
    assert first == f"{fresh.parent} departs from {stored.parent} in {places}"
    assert len(lines) == LISTED
    assert all(re.search(r"0\.9 is outside \[", line) for line in lines)
    assert last == f"and 10 more: kerhrm verify {fresh.parent} --all"
    with pytest.raises(KerhrmError) as caught:
        verify([fresh / "table1.csv"], [stored / "table1.csv"], None)
    assert len(str(caught.value).splitlines()) == 31


def test_numbers_come_before_missing_and_new_cells() -> None:
    reference = cells([0.4, 0.45, 0.5])
    fresh = pd.concat([reference.assign(mean=0.9), reference.assign(metric="mse", mean=0.1)])
    stored = pd.concat([reference.assign(method="DRO"), reference])
    kinds = [line.split(": ")[1].split(" ")[0] for line in compare(fresh, stored)]
    assert kinds == ["0.9", "0.9", "missing", "missing", "new", "new"]


def finished(folder: Path, table: pd.DataFrame, preset: str, r2: float = 0.7) -> Path:
    """A run with one table, or what was committed of one."""
    folder.mkdir()
    write(folder / "tables", table)
    experiments = {"classification": {"title": str(folder), "r2": r2}}
    text = yaml.safe_dump({"preset": preset, "experiments": experiments})
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    return folder


def test_a_run_is_compared_without_snakemake(tmp_path: Path) -> None:
    table = cells([0.3, 0.4, 0.5])
    reference = finished(tmp_path / "reference", table, "paper")
    assert verify_run(finished(tmp_path / "a", table, "paper"), reference) == (2, reference)
    other = finished(tmp_path / "b", table.assign(mean=0.9), "paper", r2=0.8)
    with pytest.raises(KerhrmError) as caught:
        verify_run(other, reference)
    first, *cells_told = str(caught.value).splitlines()
    assert first.endswith("(2 with another result; configured otherwise: classification):")
    assert len(cells_told) == 2


def test_an_option_that_came_later_and_changes_nothing_is_no_difference(tmp_path: Path) -> None:
    table = cells([0.3, 0.4, 0.5])
    reference = finished(tmp_path / "reference", table, "paper")
    run = finished(tmp_path / "run", table.assign(mean=0.9), "paper")

    def configure(folder: Path, irm: dict[str, float]) -> None:
        experiments = {"classification": {"settings": {"r2=0.70": {"methods": {"irm": irm}}}}}
        text = yaml.safe_dump({"preset": "paper", "experiments": experiments})
        (folder / "config.yaml").write_text(text, encoding="utf-8")

    def told(weight_decay: float) -> str:
        configure(run, {"weight": 1.0, "weight_decay": weight_decay})
        with pytest.raises(KerhrmError) as caught:
            verify_run(run, reference)
        return str(caught.value)

    configure(reference, {"weight": 1.0})
    assert "configured otherwise" not in told(0.0)
    assert "configured otherwise: classification" in told(0.1)


def test_both_runs_side_by_side(tmp_path: Path) -> None:
    reference = cells([0.3, 0.4, 0.5])
    fresh = reference.iloc[[0]].assign(mean=0.9)
    stored, path = finished(tmp_path / "reference", reference, "paper"), tmp_path / "both.csv"
    with pytest.raises(KerhrmError, match="in 2 places, of 2 cells"):
        verify_run(finished(tmp_path / "run", fresh, "paper"), stored, csv=path)
    both = pd.read_csv(path)
    assert both["reference"].tolist() == pytest.approx(reference["mean"].tolist())
    assert both["run"].fillna(-1).tolist() == [0.9, -1]
    assert both["departs"][0].startswith("0.9 is outside [")
    assert both["departs"][1] == "missing"


def test_a_departure_tells_whether_other_seeds_could_have_done_it() -> None:
    """Welch's t test by its own formula."""
    before, now = np.array([0.3, 0.4, 0.5, 0.41]), np.array([0.6, 0.9, 0.8, 0.7])
    (first, _) = compare(cells(now.tolist()), cells(before.tolist()))
    p = stats.ttest_ind(now, before, equal_var=False).pvalue
    assert f"], p = {p:.2g}" in first
    (first, _) = compare(cells([0.9]), cells([0.4]))
    assert "p =" not in first


def test_another_processor_is_what_the_questions_say() -> None:
    both = pd.read_csv(ROOT / "results" / "study" / "another_processor.csv")
    departs = both[both["departs"].notna()]
    same = both["run"] == both["reference"]  # written with six digits
    assert (len(both), same.sum(), len(both) - len(departs)) == (1595, 1186, 1589)
    kinds = departs.groupby(["method", "selection"]).size().to_dict()
    assert kinds == {("KerHRM (literal)", "pooled validation"): 4, ("DRO", "oracle"): 2}
    committed_tables = ROOT / "results" / "reference" / "development" / "tables"
    stored = pd.concat([pd.read_csv(path) for path in committed_tables.glob("*.csv")])
    means = stored.groupby(KEYS)["mean"].first()
    there = means.loc[list(both[KEYS].itertuples(index=False, name=None))].to_numpy()
    assert both["reference"].to_numpy() == pytest.approx(there, rel=1e-5)


def test_another_preset_is_refused_in_one_line(tmp_path: Path) -> None:
    table = cells([0.3, 0.4, 0.5])
    reference = finished(tmp_path / "reference", table, "paper")
    for run, told in (
        (finished(tmp_path / "smoke", table, "smoke"), "no run at preset smoke; verify one at"),
        (tmp_path / "nothing", "there is no run in"),
    ):
        with pytest.raises(KerhrmError, match=told) as caught:
            verify_run(run, reference)
        assert "\n" not in str(caught.value)


def test_a_run_that_has_not_ended_is_refused(tmp_path: Path) -> None:
    table = cells([0.3, 0.4, 0.5])
    reference = finished(tmp_path / "reference", table, "paper")
    run = finished(tmp_path / "run", table, "paper")
    (run / "tables" / "table1.csv").unlink()
    with pytest.raises(KerhrmError, match="has no table1 yet; run the workflow first"):
        verify_run(run, reference)


def test_a_run_is_held_against_the_tables_of_its_seeds(tmp_path: Path) -> None:
    def commit(folder: Path, preset: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "config.yaml").write_text(f"preset: {preset}\n", encoding="utf-8")

    with pytest.raises(KerhrmError, match="has no run at preset paper; publish one first"):
        committed(tmp_path, "paper")
    commit(tmp_path, "paper")
    assert committed(tmp_path, "paper") == tmp_path / "tables"
    with pytest.raises(KerhrmError, match="has no run at preset smoke; verify one at paper"):
        committed(tmp_path, "smoke")
    commit(tmp_path / "development", "paper")  # as long as no fresh seeds are published
    assert committed(tmp_path, "paper") == tmp_path / "tables"
    commit(tmp_path, "fresh")
    assert committed(tmp_path, "fresh") == tmp_path / "tables"
    assert committed(tmp_path, "paper") == tmp_path / "development" / "tables"
    with pytest.raises(KerhrmError, match="verify one at fresh or paper"):
        committed(tmp_path, "smoke")
