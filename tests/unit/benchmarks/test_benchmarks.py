"""The benchmark suite at its tiniest, and the page that is made from a run; no time is asserted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import flops, limits, page
from benchmarks.case import NotRun, not_run, times
from benchmarks.contenders import as_module, plain_loop, released_loop, vmap_matrix
from benchmarks.hand import fused, plain
from benchmarks.records import COLUMNS, OK, OURS, Row, Tables, fit_exponent, read_json, write_json
from kerhrm.networks.mlp import init_mlp
from kerhrm.storage.arrays import write_text

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "results/bench"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some of the cases, at tiny sizes, and what is computed from them."""
    where = tmp_path_factory.mktemp("bench")
    chosen = "bench_ntf or bench_growth and NTF or bench_features or bench_gram and not neural"
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    env |= {"BENCH": "tiny", "BENCH_RESULTS": str(where)}
    for arguments in (
        ["pytest", "-c", "benchmarks/pytest.ini", "benchmarks", "-k", chosen],
        ["benchmarks.limits"],
    ):
        subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, env=env, check=True)
    return where


def test_the_example_imports_nothing_that_takes_longer_than_it() -> None:
    """Whole processes are compared; pandas or SciPy, imported by the way, would be half of one."""
    heavy = "{'pandas', 'scipy', 'sklearn', 'matplotlib'}"
    code = (
        "import sys; from benchmarks.example import accuracy; print(accuracy()); "
        f"sys.exit(', '.join({heavy} & set(sys.modules)) or None)"
    )
    env = os.environ | {"BENCH": "tiny"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, check=True, capture_output=True, text=True
    )
    assert 0 <= float(done.stdout) <= 1


def test_a_run_writes_every_table(run: Path) -> None:
    tables = Tables.read(run)
    for name, columns in COLUMNS.items():
        header = (run / f"{name}.csv").read_text().splitlines()[0]
        assert header == ",".join(columns)
        rows = list(tables.rows[name].values())
        assert rows
        assert all(row["status"] == OK for row in rows if "status" in columns), rows
    assert {"processor", "cores", "gemm_gflops_before", "gemm_gflops_after"} <= {
        *read_json(run / "machine.json")
    }


def test_contenders_agree_with_ours_before_their_time_counts(run: Path) -> None:
    rows = [r for r in Tables.read(run).rows["peers"].values() if r["contender"] != OURS]
    assert rows
    assert all(r["difference"] <= r["tolerance"] for r in rows)


def test_limits_hold_at_full_sizes_alone(run: Path) -> None:
    rows = Tables.read(run).rows["limits"].values()
    assert [r["name"] for r in rows] == [limit.name for limit in limits.all_limits()]
    assert {r["met"] for r in rows} == {"not run: sizes are tiny"}


def test_page_and_readme_tell_the_run(run: Path, tmp_path: Path) -> None:
    text = page.text(run, ROOT / page.PAGE)
    assert text.count("\n## ") == 6
    section = page.readme_section(run, tmp_path / "README.md")
    assert "released loop" in section
    assert "speed.png" in section


def test_page_shows_the_limits_of_another_machine(run: Path, tmp_path: Path) -> None:
    here = shutil.copytree(run, tmp_path / "bench")
    there = shutil.copytree(run, here / "other")
    stage = {"stage": "import kerhrm", "data": "-", "status": OK}
    Tables.read(there).put("stages", stage | times([0.4]))
    write_json(there / "machine.json", read_json(there / "machine.json") | {"sizes": "full"})
    limits.compare(there)
    (row,) = [r for r in page.text(here, ROOT / page.PAGE).splitlines() if "| import kerhrm," in r]
    assert row.split("|")[-2].strip() == "0.4, no"


@pytest.mark.skipif(not COMMITTED.exists(), reason="no run is committed")
def test_committed_page_is_that_of_the_committed_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert page.text(Path("results/bench")) == page.PAGE.read_text(encoding="utf-8")


@pytest.mark.skipif(not COMMITTED.exists(), reason="no run is committed")
def test_committed_limits_follow_from_the_committed_tables(tmp_path: Path) -> None:
    copy = shutil.copytree(COMMITTED, tmp_path / "bench")
    limits.compare(copy)
    assert (copy / "limits.csv").read_bytes() == (COMMITTED / "limits.csv").read_bytes()


def test_a_case_that_fails_keeps_its_reason(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    row: Row = {"task": "t", "contender": "a", "n": 1, "p": 1}
    for error in (NotRun("no memory"), ValueError("two\nlines")):
        tables.put("peers", row | {"contender": str(error)[:3], "status": not_run(error)})
    read = Tables.read(tmp_path).rows["peers"]
    told = ["not run: no memory", "not run: ValueError: two lines"]
    assert [r["status"] for r in read.values()] == told
    assert Tables.read(tmp_path).get("peers", "t", "no ") is None


def test_limits_are_compared(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    stage = {"stage": "import kerhrm", "data": "-", "status": OK}
    tables.put("stages", stage | times([0.1, 0.2, 0.3]))
    write_text(tmp_path / "machine.json", '{"sizes": "full"}')
    rows = limits.compare(tmp_path).rows["limits"]
    assert rows[("import",)]["met"] == "yes"
    assert rows[("nothing to do",)]["met"].startswith("not run: no row stage=nothing")
    tables.put("stages", stage | times([0.4]))
    assert limits.compare(tmp_path).rows["limits"][("import",)]["met"] == "no"


def test_times_of_others_are_multiples_of_ours(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    for who, seconds in (("other", 3.0), (OURS, 2.0), ("third", 1.0)):
        tables.put("peers", {"task": "t", "contender": who, "status": OK} | times([seconds]))
    rows = Tables.read(tmp_path).rows["peers"].values()
    assert [r["times_ours"] for r in rows] == [1.5, 1, 0.5]


def test_exponents() -> None:
    exponent, error = fit_exponent({n: 3.0 * n**2 for n in (1.0, 2.0, 4.0)})
    assert exponent == pytest.approx(2)
    assert error == pytest.approx(0, abs=1e-6)
    assert fit_exponent({1.0: 1.0}) == (None, None)


def test_operations_by_formula() -> None:
    sizes = (10, 1024, 1)
    assert flops.n_parameters(sizes) == 12_289
    assert flops.training_step(2000, sizes) == pytest.approx(2e-9 * 2000 * 1024 * (2 * 10 + 3))
    assert flops.gram(5, (3, 1)) == pytest.approx(2e-9 * 25 * 4)


def test_loops_and_matrix_are_the_same_features() -> None:
    mlp = init_mlp([0], (4, 8, 1))
    x = torch.randn(6, 4)
    module = as_module(mlp)
    phi = vmap_matrix(module, x, chunk=4).numpy()
    assert phi.shape == (6, mlp.n_parameters)
    assert plain_loop(module, x) == pytest.approx(phi, abs=1e-6)
    assert released_loop(module, x) == pytest.approx(phi, abs=1e-5)


def test_hand_fused_training_is_that_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.hand.BLOCK", 4)
    x, mlp = torch.randn(10, 3), init_mlp([1], (3, 6, 1))
    outputs = [loop(as_module(mlp), x, x[:, 0].sign(), 25, 1e-2) for loop in (plain, fused)]
    assert outputs[1].numpy() == pytest.approx(outputs[0].numpy(), abs=1e-4)
