"""A method of another package, from its entry point to a row of a table."""

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml
from dagtools import SMOKE, Checkout
from plugintools import install, write_info

pytestmark = pytest.mark.dag

MINE = {
    "learners": {"cvar": {"method": "cvar", "titles": {"model": "CVaR"}, "options": {"steps": 9}}},
    "tables": {
        "mine": {
            "title": "Of another package",
            "kind": "accuracy",
            "in_all": False,
            "settings": ["classification/r2=0.70"],
            "learners": ["cvar", "erm"],
        }
    },
}
TABLE = "results/smoke/tables/mine.csv"


@pytest.fixture
def copy(copies: Callable[[], Path], tmp_path: Path) -> Checkout:
    """A checkout in which nothing has run, and the package installed with it."""
    checkout = Checkout(copies())
    install(checkout.folder / "examples" / "outside_method", tmp_path / "site")
    path = os.pathsep.join([checkout.environment["PYTHONPATH"], str(tmp_path / "site")])
    checkout.environment["PYTHONPATH"] = path
    return checkout


def test_a_method_of_another_package(copy: Checkout, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump(MINE))
    options = (TABLE, "--configfile", str(mine), *SMOKE)
    copy.run(*options)
    assert {"CVaR", "ERM"} <= set(pd.read_csv(copy.folder / TABLE)["method"])
    # an edit of the package trains it again, and nothing before it
    assert copy.plan(*options) == []
    source = tmp_path / "site" / "kerhrm_cvar.py"
    source.write_text(source.read_text() + "EDITED = True\n")
    planned = {job.rule for job in copy.plan(*options)}
    assert "train" in planned
    assert not planned & {"generate_data", "extract_features"}


def test_a_broken_package_is_reported(copy: Checkout, tmp_path: Path) -> None:
    write_info(tmp_path / "site", "broken", {"kerhrm.methods": {"ruin": "ruin:METHOD"}})
    done = copy.snakemake("--dry-run", "table1", *SMOKE)
    assert done.returncode != 0
    for part in ("broken", "kerhrm.methods", "ruin", "pip uninstall broken"):
        assert part in done.stdout
    assert "Traceback" not in done.stdout
