"""A method that diverges fails its own cells, and leaves everything else standing."""

from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout, edited, replace
from expected import TABLES, of_table

from kerhrm.methods.registry import ORACLE, POOLED
from kerhrm.reporting.tables import read_table

pytestmark = pytest.mark.dag

FAR = f"DRO, {POOLED}"
SETTING = "r2=0.70"
METRICS = ("train_acc", "test_acc", "generalisation_gap")


def test_a_method_that_diverges(smoke: Checkout, tmp_path: Path) -> None:
    """DRO with a huge learning rate in one experiment; another table is missing, too.

    What an oracle may choose has a small one.
    """
    assert list(of_table("table1")) == ["classification"]
    copy = smoke.copy(tmp_path / "copy")
    tables = copy.folder / "results" / "smoke" / "tables"
    others = [f"{n}.csv" for n in TABLES if n != "table1"]
    before = {name: (tables / name).read_bytes() for name in ("table1.csv", *others)}
    good = read_table(tables / "table1.csv")
    gone = [tables / f"table4.{suffix}" for suffix in ("csv", "md")]
    for path in gone:
        path.unlink()

    change = replace(
        "  classification:\n",
        "  classification:\n    methods:\n      dro:\n        grid: {learning_rate: [0.001]}\n"
        "        selected: {learning_rate: 1.0e+30}\n",
    )
    with edited(copy.folder / "config/presets/smoke.yaml", change):
        done = copy.snakemake("all", "--keep-going", *SMOKE)
        assert done.returncode != 0, done.stdout

        # Everything stands but the last file.
        assert all(path.is_file() for path in gone)
        assert {name: (tables / name).read_bytes() for name in others} == {
            name: before[name] for name in others
        }
        assert not (tables.parent / "checked.txt").exists()
        table = read_table(tables / "table1.csv")
        bad = table[table["verdict"] == "failed"]
        columns = ["setting", "method", "selection", "metric"]
        cells = bad[columns].itertuples(index=False, name=None)
        assert set(cells) == {(SETTING, "DRO", POOLED, metric) for metric in METRICS}
        assert all("not finite (2 of 2 seeds)" in reason for reason in bad["reason"])
        bound = table[(table["method"] == "DRO") & (table["selection"] == ORACLE)]
        assert set(bound["metric"]) == set(METRICS)
        assert not bound["mean"].isna().any()
        kept = table[table["method"] != "DRO"].drop(columns="verdict")
        same = good[good["method"] != "DRO"].drop(columns="verdict")
        assert kept.to_csv(index=False) == same.to_csv(index=False)
        page = (tables / "table1.md").read_text(encoding="utf-8")
        (first, *_) = [line for line in page.splitlines() if line.startswith("| DRO ")]
        assert "failed: diverged: " in first
        assert (tables.parent / "notebooks" / "table1.ipynb").is_file()

        # The last rule, and only that, complains; it names the cells.
        assert done.stdout.count("Error in rule") == done.stdout.count("Error in rule check_fail")
        assert f"{len(METRICS)} cells have no result:" in done.stdout
        for metric in METRICS:
            assert f"table1 | {SETTING} | {FAR} | {metric}: diverged" in done.stdout
        assert "everything else has been built" in done.stdout
        assert "Traceback (most recent call last)" not in done.stdout

        # And it goes on complaining, without doing anything else again.
        again = copy.plan("all", *SMOKE)
        assert {job.rule for job in again if job.output} == {"check_failures"}
