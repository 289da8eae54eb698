"""``snakemake verify`` holds a run against a stored one."""

import shutil
from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout
from expected import TABLES

from kerhrm.reporting.tables import read_table

pytestmark = pytest.mark.dag


def test_the_same_run_passes_and_another_does_not(smoke: Checkout, tmp_path: Path) -> None:
    copy = smoke.copy(tmp_path / "copy")
    reference = copy.folder / "results" / "reference" / "tables"
    done = copy.snakemake("verify", *SMOKE)
    assert done.returncode != 0
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert "results/reference has no run at preset smoke; verify one at " in told
    assert "Traceback (most recent call last)" not in done.stdout

    shutil.rmtree(reference.parent)
    shutil.copytree(copy.folder / "results" / "smoke" / "tables", reference)
    (reference.parent / "config.yaml").write_text("preset: smoke\n", encoding="utf-8")
    n = sum(len(read_table(reference / f"{name}.csv")) for name in TABLES)
    assert f"{n} cells agree with results/reference" in copy.run("verify", *SMOKE)

    path = reference / "table3.csv"
    table = read_table(path)
    row = table.index[table["method"] == "EIIL"][0]
    table.loc[row, ["mean", "ci_low", "ci_high"]] += 1e6  # the interval of two seeds is wide
    table.to_csv(path, index=False)
    done = copy.snakemake("verify", *SMOKE)
    assert done.returncode != 0
    cell = table.loc[row, ["table", "setting", "method", "metric", "selection"]]
    assert "departs from results/reference in 1 places" in done.stdout
    assert f"{' | '.join(cell)}: " in done.stdout
    assert "is outside [" in done.stdout
    assert "Traceback (most recent call last)" not in done.stdout
