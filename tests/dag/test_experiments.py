"""Experiments come and go by one file each."""

from pathlib import Path

import nbformat
import pytest
import yaml
from dagtools import SMALL, SMOKE, Checkout
from expected import EXPERIMENTS

from kerhrm.reporting.tables import read_table
from kerhrm.storage.arrays import load_arrays

pytestmark = pytest.mark.dag

MINE = SMALL | {
    "title": "An experiment of mine",
    "about": "Nothing of KerHRM in it.",
    "table": "mine",
    "seeds": [3, 5],
    "run": ["erm"],
}


def test_a_file_makes_an_experiment(checkout: Checkout, tmp_path: Path) -> None:
    """Its table, notebook and target, with a baseline alone; then as a file of one's own."""
    file = checkout.folder / "config" / "experiments" / "mine.yaml"
    file.write_text(yaml.safe_dump(MINE))
    checkout.run("mine", *SMOKE)
    results = checkout.folder / "results" / "smoke"
    table = read_table(results / "tables" / "mine.csv")
    assert set(table["setting"]) == {"one"}
    assert "ERM" in set(table["method"])
    assert not any("KerHRM" in method for method in table["method"])
    assert set(table["n_seeds"]) == {2}
    assert set(table["verdict"]) == {""}
    notebook = nbformat.read(results / "notebooks" / "mine.ipynb", as_version=4)
    text = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    shown = text + str([cell.get("outputs") for cell in notebook.cells])
    assert MINE["title"] in shown
    assert MINE["about"] in shown

    file.unlink()
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump({"experiments": {"mine": MINE}}))
    assert checkout.plan("mine", "--configfile", str(mine), *SMOKE) == []
    other = MINE | {"seeds": [3, 7]}
    mine.write_text(yaml.safe_dump({"experiments": {"mine": other}}))
    planned = checkout.plan("all", "--configfile", str(mine), *SMOKE)
    assert "results/smoke/mine/one/data/train.npz" in {f for job in planned for f in job.output}


@pytest.mark.parametrize("name", ["classification", "colored_mnist", "houses", "iterations"])
def test_an_experiment_may_go(checkout: Checkout, name: str) -> None:
    """Those that share its work make it themselves; these four have something of their own."""
    (checkout.folder / "config" / "experiments" / f"{name}.yaml").unlink()
    preset = checkout.folder / "config" / "presets" / "smoke.yaml"
    content = yaml.safe_load(preset.read_text())
    del content["experiments"][name]
    preset.write_text(yaml.safe_dump(content))
    planned = checkout.plan("all", "tune", *SMOKE)
    made = {file for job in planned for file in job.output}
    assert made
    folders = {file.split("/")[2] for file in made}
    assert not folders & {name, f"tune-{name}"}
    for other in EXPERIMENTS.keys() - {name}:
        assert f"results/smoke/scores/{other}.csv" in made


def test_an_experiment_that_is_not_in_all_has_its_target(checkout: Checkout) -> None:
    """Full Colored MNIST: features by landmarks, nested starts, steps chosen by the rule."""
    checkout.run("full_mnist", *SMOKE)
    results = checkout.folder / "results" / "smoke"
    table = read_table(results / "tables" / "full_mnist.csv")
    assert {"ERM", "KerHRM (NTF)", "KerHRM (network)"} < set(table["method"])
    features = results / "full_mnist" / "14x14"
    assert (features / "features" / "landmarks.npz").exists()
    assert not (features / "ntf").exists()
    environments = [f"{features}/iterations/{t}/environments.npz" for t in (1, 2)]
    first, second = (load_arrays(path)[0]["n_starts"] for path in environments)
    assert (first == [[6, 2]] * 2).all()  # by k: three random starts, then one; two ridges
    assert (second == 2).all()
    planned = checkout.run("--dry-run", "all", *SMOKE)
    assert "full_mnist" not in planned
