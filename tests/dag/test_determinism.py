"""The same bytes again: in another folder and order, with other numbers of cores and threads."""

from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout
from expected import EXPERIMENTS, SUFFIXES, stems

pytestmark = pytest.mark.dag

# What must not matter, apart from the folder itself.
OTHER = {
    "PYTHONHASHSEED": "1",
    "OMP_NUM_THREADS": "2",
    "TZ": "Asia/Tokyo",
    "LC_ALL": "C",
}
SETTING = "classification/r2=0.70"
#: a setting with nearly every method, and what only other experiments run
AGAIN = [
    f"results/smoke/{SETTING}/scores.csv",
    "results/smoke/houses/houses/predictions/least_squares.npz",
    "results/smoke/colored_mnist/cmnist/predictions/grayscale.npz",
    "results/smoke/cnn/cnn/predictions/kerhrm-ntf.npz",
]
VARIES = {"logs", "benchmarks", "temporary"}


@pytest.fixture(scope="module")
def again(
    pristine: Path,
    raw_dir: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Results of another run of a part of the DAG, its jobs in another order."""
    empty = Checkout(pristine, raw_dir)
    copy = empty.copy(tmp_path_factory.mktemp("again") / "another name")
    copy.run(*AGAIN, "--scheduler", "ilp", *SMOKE, cores=8, env=OTHER)
    return copy.folder / "results" / "smoke"


def files(folder: Path) -> dict[str, Path]:
    """Result files by name."""
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    return {name: p for name, p in found.items() if name.split("/")[0] not in VARIES}


def test_second_run_is_identical(again: Path, results: Path) -> None:
    first, second = files(results), files(again)
    methods = stems(EXPERIMENTS["classification"].settings["r2=0.70"].run)
    expected = {f"{SETTING}/predictions/{method}.npz" for method in methods}
    expected |= {name.removeprefix("results/smoke/") for name in AGAIN}
    assert expected <= second.keys()
    assert sum(name.endswith(".npz") for name in second) > 30
    differ = [
        name for name, path in second.items() if path.read_bytes() != first[name].read_bytes()
    ]
    assert differ == []


def test_pages_are_the_same_bytes_again(smoke: Checkout, results: Path) -> None:
    """Tables, notebooks and figures, from the same scores."""
    names = [f"tables/table1.{suffix}" for suffix in SUFFIXES]
    names += ["notebooks/figure2.ipynb", "figures/figure2.png", "figures/figure2.pdf"]
    before = {name: (results / name).read_bytes() for name in names}
    times = {name: (results / name).stat().st_mtime_ns for name in names}
    targets = [f"results/smoke/{name}" for name in names]
    smoke.run("--force", *targets, *SMOKE, cores=1, env=OTHER)
    assert all((results / name).stat().st_mtime_ns > times[name] for name in names)
    assert {name: (results / name).read_bytes() for name in names} == before


def test_settings_and_experiments_are_not_copies(results: Path) -> None:
    """Equal bytes above would prove little if everything were equal."""
    tables = [p.read_bytes() for p in sorted(results.glob("*/*/scores.csv"))]
    assert len(set(tables)) == len(tables) >= 5
