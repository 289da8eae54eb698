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

#: a method in one module with the page's penalties
TWIN = """
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.methods.base import Method
from kerhrm.methods.kerhrm import train_kerhrm


class Twin(KerHRMOptions):
    penalty: str = "risk_variance"
    k: list[int] = [5]
    alpha: list[float] = [1.0]
    n_iterations: int = 1
    n_init: int = 2
    steps: int = 5
    pretest: None = None


METHOD = Method("twin", Twin, train_kerhrm, needs_features=True, outputs=("linear",))
"""
PAGE = ROOT / "docs/extending.md"
TABLES = "results/smoke/tables"


@pytest.fixture
def copy(copies: Callable[[], Path], tmp_path: Path) -> Checkout:
    """A checkout in which nothing has run, and the package installed with it."""
    checkout = Checkout(copies())
    site = tmp_path / "site"
    install(checkout.folder / "examples" / "outside_method", site)
    path = os.pathsep.join([checkout.environment["PYTHONPATH"], str(site)])
    checkout.environment |= {"PYTHONPATH": path, "KERHRM_PLUGINS": str(site)}
    return checkout


def test_the_page_about_extending(copy: Checkout, tmp_path: Path) -> None:
    """Its method, penalties, data set and tables, as other packages have them."""
    _, _, method, penalty, losses, _, data = blocks(PAGE, "python")
    (project,) = blocks(PAGE, "toml")
    example = copy.folder / "examples" / "outside_method"
    assert (example / "kerhrm_cvar.py").read_text() == method
    assert (example / "pyproject.toml").read_text() == project
    site = tmp_path / "site"
    (site / "penalty.py").write_text("\n".join([penalty, losses, TWIN]))
    (site / "data.py").write_text(data)
    names = {"curvature": "CurvatureVariance", "risk_variance": "RiskVariance"}
    groups = {"penalties": {name: f"penalty:{one}" for name, one in names.items()}}
    groups["data_sets"] = {"flipped": "data:FLIPPED"}
    groups["methods"] = {"twin": "penalty:METHOD"}
    write_info(
        site, "page", {f"kerhrm.{group}": names for group, names in groups.items()}
    )
    written = files(PAGE) | {
        "curvature.yaml": "learners: {kerhrm: {options: {penalty: curvature}}}",
        "twin.yaml": "learners: {twin: {method: twin, titles: {linear: Twin}}}\n"
        "data: {flipped: {seeds: 2}}\n"
        "tables: {flipped: {learners: [erm, kerhrm, twin]}}",
    }
    for name, text in written.items():
        (copy.folder / name).write_text(text)
    options = ("with_cvar", "flipped", "--configfile", *written, *SMOKE)
    copy.run(*options)
    assert {"CVaR", "ERM"} <= set(
        pd.read_csv(copy.folder / TABLES / "with_cvar.csv")["method"]
    )
    copy.plan("flipped", "--configfile", "flipped.yaml")  # as the page asks for it
    flipped = pd.read_csv(copy.folder / TABLES / "flipped.csv")
    assert {"few", "many"} == set(flipped["setting"])
    assert "Twin" in set(flipped["method"])
    assert flipped["mean"].notna().all()
    # an edit of the package trains it again, and nothing before it
    assert copy.plan(*options) == []
    source = site / "kerhrm_cvar.py"
    source.write_text(source.read_text() + "EDITED = True\n")
    planned = {job.rule for job in copy.plan(*options)}
    assert "train" in planned
    assert not planned & {"generate_data", "extract_features"}
    # so does an edit of a penalty, by M_p
    assert "learn_direction" not in planned
    source = site / "penalty.py"
    source.write_text(source.read_text() + "EDITED = True\n")
    jobs = copy.plan(*options)
    assert "learn_direction" in {job.rule for job in jobs}
    made = {file for job in jobs for file in job.output}
    assert "results/smoke/flipped+share=0.1/twin/predictions.npz" in made


def test_a_broken_package_is_reported(copy: Checkout, tmp_path: Path) -> None:
    write_info(tmp_path / "site", "broken", {"kerhrm.methods": {"ruin": "ruin:METHOD"}})
    done = copy.snakemake("--dry-run", "table1", *SMOKE)
    assert done.returncode != 0
    for part in ("broken", "kerhrm.methods", "ruin", "pip uninstall broken"):
        assert part in done.stdout
    assert "Traceback" not in done.stdout
