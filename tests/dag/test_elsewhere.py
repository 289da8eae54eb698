"""Runs in other folders than the checkout, which may be read-only, and as a module."""

import shutil
from pathlib import Path

import pytest
from dagtools import SMOKE, TARGETS, Checkout, read_only

pytestmark = pytest.mark.dag

RULES = ("generate_data", "train_method", "summarise", "render_notebook")
ERM = "smoke/classification/r2=0.70+H=I/predictions/erm.npz"


def test_a_read_only_checkout_serves_a_run_elsewhere(
    checkout: Checkout, tmp_path: Path, results: Path
) -> None:
    """It trains and reports, in a folder of its own, what a run inside the checkout does."""
    elsewhere = Checkout(tmp_path / "elsewhere")
    elsewhere.environment = checkout.environment
    made = elsewhere.folder / "mine"
    for kind in ("scores", "restarts", "choices"):
        (made / "smoke" / kind).mkdir(parents=True)
        shutil.copy(results / kind / "clusters.csv", made / "smoke" / kind)
    there = (
        "--snakefile",
        str(checkout.folder / "Snakefile"),
        "--directory",
        str(elsewhere.folder),
    )
    targets = [f"mine/{ERM}", "mine/smoke/notebooks/table2.ipynb"]
    options = (*SMOKE, "results=mine")
    with read_only(checkout.folder):
        with pytest.raises(OSError, match=r"Read-only|Permission"):
            (checkout.folder / "new").touch()
        assert len(elsewhere.plan(*there, *TARGETS, *options)) > 100
        elsewhere.run(*there, *targets, "--allowed-rules", *RULES, *options)
    for name in (ERM, "smoke/tables/table2.csv"):
        assert (made / name).read_bytes() == (results.parent / name).read_bytes(), name
    assert (made / "smoke/notebooks/table2.ipynb").is_file()


def test_another_workflow_takes_this_one_as_a_module(checkout: Checkout, tmp_path: Path) -> None:
    """Its rules find their scripts, and the configuration; the caller chooses the results."""
    (tmp_path / "Snakefile").write_text(
        "module kerhrm:\n"
        f"    snakefile: '{checkout.folder}/Snakefile'\n"
        "    config: {'preset': 'smoke', 'results': 'mine'}\n\n"
        "use rule * from kerhrm as kerhrm_*\n"
    )
    caller = Checkout(tmp_path)
    caller.environment = checkout.environment
    planned = caller.plan("kerhrm_all")
    found = {job.rule.removeprefix("kerhrm_") for job in planned}
    assert found >= {"extract_ntf", "train_method", "train_on_features", "summarise"}
    made = [file for job in planned for file in job.output]
    assert all(file.startswith("mine/smoke/") for file in made)
    assert len(planned) > 80
    caller.run("mine/smoke/config.yaml")  # with the scripts of the checkout
