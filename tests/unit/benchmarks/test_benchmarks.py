"""Benchmarks run at tiny sizes."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import missing
from benchmarks.missing import CURES

ROOT = Path(__file__).parents[3]
PATH = os.pathsep.join([str(ROOT), str(ROOT / "src")])


def bench(folder: Path, *options: str, **variables: str) -> str:
    """Output of the benchmarks at tiny sizes, without the variables of pytest."""
    # pytest-benchmark takes the worker's name for a sign that it runs in parallel
    # itself.
    env = {
        key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")
    }
    env |= {"BENCH": "tiny", "OMP_NUM_THREADS": "1", "PYTHONPATH": PATH}
    command = [sys.executable, "-m", "benchmarks", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *options],
        cwd=folder,
        env=env | variables,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_benchmarks_run_and_are_reported(tmp_path: Path) -> None:
    chosen = "Table and not example and not import"
    shown = bench(tmp_path, "-k", chosen, BENCH_MISSING="")
    limits = pd.read_csv(tmp_path / "results/bench/limits.csv")
    assert len(limits) == 26
    machine = pd.read_csv(tmp_path / "results/bench/machine.csv")
    assert machine["gemm_gflops"].item() > 0
    assert machine["torch"].item() == version("torch")
    iteration = limits.loc[limits["what"].str.startswith("iteration")]
    assert iteration["measured"].astype(float).notna().all()
    assert set(iteration["met"]) <= {"True", "False"}
    assert "nan" not in shown


def test_what_is_missing_is_said_first_and_left_out(tmp_path: Path) -> None:
    """And takes no complete results' place; nothing fails."""
    gone = ",".join(CURES)
    shown = bench(tmp_path, "-k", "svd or gram", BENCH_MISSING=gone)
    first = shown.splitlines()[0]
    assert first.startswith("missing: MNIST (set KERHRM_RAW_DIR to a folder of raw fil")
    assert "left out: timings at the size of Colored MNIST" in first
    assert "neural-tangents" in first
    assert not (tmp_path / "results").exists()
    limits = pd.read_csv(tmp_path / "build/bench/limits.csv").set_index("what")
    svd = "top-25 SVD of that Gram matrix, in times of the Gram matrix"
    of_svd = limits.loc[svd, ["measured", "met"]]
    assert (of_svd == "missing").all()
    loop = "features and top-15 SVD: the authors' loop takes, times ours"
    assert float(limits.loc[loop, "measured"]) > 0
    assert "failed" not in shown
    assert "nan" not in shown
    *_, met, path = shown.strip().splitlines()
    assert re.fullmatch(r"\d of \d+ limits are met; \d+ are missing", met)
    assert path == f"open {tmp_path / 'build/bench/limits.csv'}"


def test_raw_data_that_are_nowhere_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERHRM_OFFLINE", "1")
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("KERHRM_RAW_DIR", raising=False)
    monkeypatch.setattr(missing, "PEERS", tmp_path)
    missing.missing.cache_clear()
    assert missing.missing() == [*CURES]
    (tmp_path / "installed").touch()
    missing.missing.cache_clear()
    assert missing.missing() == ["MNIST"]
    missing.missing.cache_clear()
