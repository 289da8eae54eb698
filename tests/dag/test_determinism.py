"""The same bytes again: in another folder and order, with other numbers of cores and threads."""

from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout
from expected import TABLES

pytestmark = pytest.mark.dag

# Settings that must not matter, apart from the folder itself.
OTHER = {
    "PYTHONHASHSEED": "1",
    "OMP_NUM_THREADS": "2",
    "TZ": "Asia/Tokyo",
    "LC_ALL": "C",
}
VARIES = {"logs", "benchmarks", "provenance", "temporary"}


@pytest.fixture(scope="module")
def again(pristine: Path, raw_dir: str | None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of another run of a part of the DAG, its jobs in another order."""
    copy = Checkout(pristine, raw_dir).copy(tmp_path_factory.mktemp("again") / "another name")
    copy.run("table1", "table4", "--scheduler", "ilp", *SMOKE, cores=8, env=OTHER)
    return copy.folder / "results" / "smoke"


def files(folder: Path) -> dict[str, Path]:
    """Result files by name."""
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    return {name: p for name, p in found.items() if name.split("/")[0] not in VARIES}


def test_second_run_is_identical(again: Path, results: Path) -> None:
    first, second = files(results), files(again)
    assert {"tables/table1.csv", "tables/table4.csv"} <= second.keys()
    assert sum(name.endswith(".npz") for name in second) > 30
    assert [n for n, p in second.items() if p.read_bytes() != first[n].read_bytes()] == []


def test_reports_are_the_same_bytes_again(smoke: Checkout, results: Path) -> None:
    """Tables, notebooks and figures, from the same scores."""
    names = ["tables/table1.csv", "tables/table1.md", "tables/table1.tex"]
    names += ["notebooks/figure2.ipynb", "figures/figure2.png"]
    before = {name: (results / name).read_bytes() for name in names}
    times = {name: (results / name).stat().st_mtime_ns for name in names}
    targets = [f"results/smoke/{name}" for name in names]
    smoke.run("--force", *targets, *SMOKE, cores=1, env=OTHER)
    assert all((results / name).stat().st_mtime_ns > times[name] for name in names)
    assert {name: (results / name).read_bytes() for name in names} == before


def test_tables_are_not_copies(results: Path) -> None:
    """Equal bytes above would prove little if everything were equal."""
    tables = {(results / "tables" / f"{name}.csv").read_bytes() for name in TABLES}
    assert len(tables) == len(TABLES) >= 5
