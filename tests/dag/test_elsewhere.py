"""Runs in other folders than the checkout, which may be read-only, and as a module."""

from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout, read_only

pytestmark = pytest.mark.dag

ERM = "smoke/classification/r2=0.70+H=I/erm/predictions.npz"


def test_a_read_only_checkout_serves_a_run_elsewhere(
    checkout: Checkout, tmp_path: Path, results: Path
) -> None:
    """It trains, in a folder of its own, what a run inside the checkout does."""
    elsewhere = Checkout(tmp_path / "elsewhere")
    elsewhere.folder.mkdir()
    elsewhere.environment = checkout.environment
    there = (
        "--snakefile",
        str(checkout.folder / "Snakefile"),
        "--directory",
        str(elsewhere.folder),
    )
    options = (*SMOKE, "results=mine")
    with read_only(checkout.folder):
        with pytest.raises(OSError, match=r"Read-only|Permission"):
            (checkout.folder / "new").touch()
        assert len(elsewhere.plan(*there, "all", *options)) > 60
        elsewhere.run(*there, f"mine/{ERM}", *options)
    assert (elsewhere.folder / "mine" / ERM).read_bytes() == (results.parent / ERM).read_bytes()


@pytest.mark.parametrize("prefix", ["", "    prefix: 'sub'\n"], ids=["plain", "prefix"])
def test_another_workflow_takes_this_one_as_a_module(
    checkout: Checkout, tmp_path: Path, prefix: str
) -> None:
    """Its rules find their scripts, and the configuration; the caller chooses the results."""
    (tmp_path / "Snakefile").write_text(
        "module kerhrm:\n"
        f"    snakefile: '{checkout.folder}/Snakefile'\n"
        "    config: {'preset': 'smoke', 'results': 'mine'}\n"
        f"{prefix}\n"
        "use rule * from kerhrm as kerhrm_*\n"
    )
    caller = Checkout(tmp_path)
    caller.environment = checkout.environment
    planned = caller.plan("kerhrm_all")
    found = {job.rule.removeprefix("kerhrm_") for job in planned}
    assert found >= {"extract_features", "train", "score", "make_table"}
    place = "sub/mine/smoke" if prefix else "mine/smoke"
    assert all(file.startswith(f"{place}/") for job in planned for file in job.output)
    target = f"{place}/classification/r2=0.70/data/train.npz"
    caller.run(target)  # with the scripts of the checkout
    assert (tmp_path / target).is_file()
