"""The scripts of the gallery run, and their titles say what they find."""

import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from pagetools import ROOT

GALLERY = ROOT / "examples" / "gallery"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Names of a script that has run, and its figure."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("agg")

    def script(name: str) -> dict[str, Any]:
        found = runpy.run_path(str(GALLERY / name))
        found["figure"].canvas.draw()
        return found

    yield script
    plt.close("all")


def test_hidden_environments(run: Any) -> None:
    found = run("plot_1_hidden_environments.py")
    taken, hidden = found["found"], found["reversed_rows"]
    assert found["model"].heterogeneity_.detected
    assert (taken & hidden).sum() > 0.7 * hidden.sum()
    assert (taken & ~hidden).sum() < 0.03 * (~hidden).sum()


def test_price(run: Any) -> None:
    found = run("plot_2_price.py")
    errors, rare = found["errors"], found["rare"]
    assert errors.loc["all rows", "KerHRM"] > errors.loc["all rows", "ERM"]
    assert errors.loc[rare, "KerHRM"] < errors.loc[rare, "ERM"]
    squares = errors**2
    gain = squares["ERM"] - squares["KerHRM"]
    crossing = gain[found["common"]] / (gain[found["common"]] - gain[rare])
    assert found["break_even"].low < crossing < found["break_even"].high


def test_known_environments(run: Any) -> None:
    found = run("plot_3_known_environments.py")
    for name, share in found["shares"].items():
        holds = name.endswith("holds")
        assert share < 0.1 if holds else share > 0.9
    assert found["accuracies"]["ERM"] < 0.5 < found["accuracies"]["KerHRM"]


def test_embeddings(run: Any) -> None:
    accuracies = run("plot_4_embeddings.py")["accuracies"]
    inferred = min(accuracies["KerHRM's environments"])
    assert inferred > min(accuracies["no environments"]) + 0.2
    assert np.isclose(inferred, min(accuracies["the true sources"]), atol=0.03)


def test_own_method(run: Any) -> None:
    errors = run("plot_5_own_method.py")["errors"]
    worst = {name: max(both) for name, both in errors.items()}
    assert worst["KerHRM"] < worst["GroupDRO, groups given"] + 0.02
    assert worst["KerHRM"] < worst["FitTwice (yours)"] < worst["ERM"]


def test_every_script_is_tried() -> None:
    tests = Path(__file__).read_text("utf-8")
    names = [file.name for file in GALLERY.glob("plot_*.py")]
    assert len(names) == 5
    for name in names:
        assert f'run("{name}")' in tests
