"""Methods, penalties and data sets of other packages, from entry points to rows of
tables."""

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from dagtools import SMOKE, Checkout
from pagetools import ROOT, blocks, files
from plugintools import install, write_info

pytestmark = pytest.mark.dag

PAGE = ROOT / "docs/extending.md"
TABLES = "results/smoke/tables"


@pytest.fixture
def copy(copies: Callable[[], Path], tmp_path: Path) -> Checkout:
    """A checkout in which nothing has run, and the package installed with it."""
    checkout = Checkout(copies())
    install(checkout.folder / "examples" / "outside_method", tmp_path / "site")
    path = os.pathsep.join([checkout.environment["PYTHONPATH"], str(tmp_path / "site")])
    checkout.environment["PYTHONPATH"] = path
    return checkout


def test_the_page_about_extending(copy: Checkout, tmp_path: Path) -> None:
    """Its method, penalty, data set and tables, as a package of their own has them."""
    method, penalty, _, data = blocks(PAGE, "python")
    (project,) = blocks(PAGE, "toml")
    example = copy.folder / "examples" / "outside_method"
    assert (example / "kerhrm_cvar.py").read_text() == method
    assert (example / "pyproject.toml").read_text() == project
    site = tmp_path / "site"
    (site / "penalty.py").write_text(penalty)
    (site / "data.py").write_text(data)
    groups = {"penalties": {"curvature": "penalty:CurvatureVariance"}}
    groups["data_sets"] = {"flipped": "data:FLIPPED"}
    write_info(
        site, "page", {f"kerhrm.{group}": names for group, names in groups.items()}
    )
    written = files(PAGE) | {
        "curvature.yaml": "learners: {kerhrm: {options: {penalty: curvature}}}"
    }
    for name, text in written.items():
        (copy.folder / name).write_text(text)
    options = ("with_cvar", "flipped", "--configfile", *written, *SMOKE)
    copy.run(*options)
    assert {"CVaR", "ERM"} <= set(
        pd.read_csv(copy.folder / TABLES / "with_cvar.csv")["method"]
    )
    assert {"few", "many"} == set(
        pd.read_csv(copy.folder / TABLES / "flipped.csv")["setting"]
    )
    # an edit of the package trains it again, and nothing before it
    assert copy.plan(*options) == []
    source = site / "kerhrm_cvar.py"
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
