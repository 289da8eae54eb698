"""A method of another package, from its entry point to a row of scores."""

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml
from dagtools import SMALL, SMOKE, Checkout
from plugintools import install, write_info

pytestmark = pytest.mark.dag

MINE = SMALL | {
    "title": "Of another package",
    "table": "mine",
    "seeds": 1,
    "run": ["cvar"],
}
SCORES = "results/smoke/mine/one/scores.csv"


@pytest.fixture
def copy(copies: Callable[[], Path], tmp_path: Path) -> Checkout:
    """A checkout in which nothing has run, and the package installed beside it."""
    checkout = Checkout(copies())
    install(checkout.folder / "examples" / "outside_method", tmp_path / "site")
    path = os.pathsep.join([checkout.environment["PYTHONPATH"], str(tmp_path / "site")])
    checkout.environment["PYTHONPATH"] = path
    return checkout


def test_a_method_of_another_package(copy: Checkout, tmp_path: Path) -> None:
    said = tmp_path / "mine.yaml"
    said.write_text(
        yaml.safe_dump({"experiments": {"mine": MINE}, "methods": {"cvar": {"steps": 9}}})
    )
    given = (SCORES, "--configfile", str(said), *SMOKE)
    copy.run(*given)
    scores = pd.read_csv(copy.folder / SCORES)
    assert "CVaR" in set(scores["method"])
    # an edit of the package trains it again, and nothing before it
    assert copy.plan(*given) == []
    train = tmp_path / "site" / "kerhrm_cvar" / "train.py"
    train.write_text(train.read_text() + "EDITED = True\n")
    assert {job.rule for job in copy.plan(*given)} == {"train_method", "score"}


def test_a_broken_package_is_told(copy: Checkout, tmp_path: Path) -> None:
    write_info(tmp_path / "site", "broken", {"kerhrm.methods": {"ruin": "ruin:METHOD"}})
    done = copy.snakemake("--dry-run", "table1", *SMOKE)
    assert done.returncode != 0
    told = "package broken 0.1, kerhrm.methods: ruin: cannot load 'ruin:METHOD'"
    assert told in done.stdout
    assert "pip uninstall broken" in done.stdout
    assert "Traceback" not in done.stdout
