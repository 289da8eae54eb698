"""A method that diverges fails its own cells, and leaves everything else as it was."""

import re
from pathlib import Path

import pandas as pd
import pytest
from dagtools import SMOKE, Checkout, edited, replace

pytestmark = pytest.mark.dag

METRICS = {"train_acc", "test_acc", "worst_acc", "generalisation_gap"}


def test_a_method_that_diverges(smoke: Checkout, tmp_path: Path) -> None:
    """DRO with a huge learning rate in one setting."""
    copy = smoke.copy(tmp_path / "copy")
    tables = copy.folder / "results" / "smoke" / "tables"
    before = {p.name: p.read_bytes() for p in tables.iterdir()}
    good = pd.read_csv(tables / "table1.csv")
    change = replace(
        "dro: {options: {steps: 10}",
        "dro: {at: {classification: {options: {learning_rate: 1.0e+12}}}, "
        "options: {steps: 10}",
    )
    with edited(copy.folder / "config/presets/smoke.yaml", change):
        done = copy.snakemake("all", "--keep-going", *SMOKE)
        assert done.returncode != 0, done.stdout
        table = pd.read_csv(tables / "table1.csv")
        bad = table[table["verdict"] == "failed"]
        assert set(bad["method"]) == {"DRO"}
        assert set(bad["metric"]) == METRICS
        assert all("not finite (2 of 2 seeds)" in reason for reason in bad["reason"])
        kept = table[table["method"] != "DRO"].drop(columns="verdict")
        same = good[good["method"] != "DRO"].drop(columns="verdict")
        assert kept.to_csv(index=False) == same.to_csv(index=False)
        with_dro = ("table1", "table2", "overshoot")
        others = [name for name in before if not name.startswith(with_dro)]
        assert {n: (tables / n).read_bytes() for n in others} == {
            n: before[n] for n in others
        }
        # The last rule, and only that, fails; it names the cells.
        failed = re.findall(r"Error in rule (\w+)", done.stdout)
        assert set(failed) == {"check_results"}
        assert "DRO" in done.stdout
        assert "Traceback (most recent call last)" not in done.stdout
