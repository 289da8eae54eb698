"""The same bytes again: in another folder, with other numbers of cores and threads."""

from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout

pytestmark = pytest.mark.dag

# What must not matter, apart from the folder itself.
OTHER = {
    "PYTHONHASHSEED": "1",
    "OMP_NUM_THREADS": "2",
    "TZ": "Asia/Tokyo",
    "LC_ALL": "C",
}
ONE_CORE = [
    "results/smoke/classification/r2=0.70/predictions/kerhrm-ntf.npz",
    "results/smoke/colored_mnist/cmnist/psi.npz",
]
VARIES = {"logs", "benchmarks"}


@pytest.fixture(scope="module")
def again(pristine: Path, smoke: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a second run: a part of it on one core, then Table 1."""
    empty = Checkout(pristine, smoke.environment.get("KERHRM_RAW_DIR"))
    copy = empty.copy(tmp_path_factory.mktemp("again") / "another name")
    copy.run(*ONE_CORE, *SMOKE, cores=1, env=OTHER)
    copy.run("table1", *SMOKE, cores=2, env=OTHER)
    return copy.folder / "results" / "smoke"


def files(folder: Path) -> dict[str, Path]:
    """Result files by name."""
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    return {name: p for name, p in found.items() if name.split("/")[0] not in VARIES}


def test_second_run_is_identical(again: Path, results: Path) -> None:
    first, second = files(results), files(again)
    assert {"tables/table1.csv", "tables/table1.md", "tables/table1.tex"} <= second.keys()
    assert {"notebooks/table1.ipynb", "scores/classification.csv", "raw/mnist.npz"} <= second.keys()
    assert sum(name.endswith(".npz") for name in second) > 40
    differ = [
        name for name, path in second.items() if path.read_bytes() != first[name].read_bytes()
    ]
    assert differ == []


def test_settings_and_seeds_are_not_copies(results: Path) -> None:
    """Equal bytes above would prove little if everything were equal."""
    tables = [p.read_bytes() for p in sorted(results.glob("*/*/scores.csv"))]
    assert len(set(tables)) == len(tables) >= 5
