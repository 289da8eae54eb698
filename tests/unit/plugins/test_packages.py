"""Methods and penalties of other packages: imported in any order, trained, refused in a
line."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from plugintools import install, write_info

from kerhrm import KerhrmError
from kerhrm.plugins import with_plugins

EXAMPLE = Path(__file__).parents[3] / "examples" / "outside_method"

TRAINED = """
import numpy as np, torch
from scipy.optimize import minimize_scalar
from kerhrm import METHODS, NetworkOptions, build
from kerhrm.methods.inputs import Inputs

method = METHODS["cvar"]
torch.manual_seed(0)
x = torch.randn(60, 2)
y = x[:, 0] + 2 * (torch.rand(60) < 0.1) * torch.randn(60)
inputs = Inputs(x, y, x, y, "regression", 0, build(NetworkOptions(widths=[8]), 0, 2))
worst = []
for share in (0.1, 1.0):
    options = method.options(share=share, steps=300, learning_rate=1e-2)
    losses = ((method.train(inputs, options).predict(x)["model"] - y) ** 2).numpy()
    dual = lambda eta: eta + np.maximum(losses - eta, 0).sum() / (0.1 * len(losses))
    worst.append(minimize_scalar(dual, bounds=(-2, 20), method="bounded").fun)
assert worst[0] < 0.9 * worst[1], worst
"""


def run(code: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr


def test_the_example_trains(tmp_path: Path) -> None:
    """Conditional value at risk is smaller where it is what training minimises."""
    install(EXAMPLE, tmp_path)
    run("import kerhrm_cvar" + TRAINED, tmp_path)  # also before kerhrm


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("shelf:absent", "has no attribute 'absent'"),
        ("absent:method", "No module named 'absent'"),
        ("ruin:method", "ZeroDivisionError"),
    ],
)
def test_a_package_that_is_broken(
    entry: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shelf.py").write_text("fine = 1\n")
    (tmp_path / "ruin.py").write_text("1 / 0  # on\n")
    monkeypatch.syspath_prepend(tmp_path)
    write_info(tmp_path, "my-shelf", {"kerhrm.things": {"mine": entry}})
    with pytest.raises(KerhrmError, match=problem) as error:
        with_plugins("kerhrm.things", {"ours": 0})
    assert "package my-shelf, kerhrm.things: mine: " in str(error.value)
    assert "\n" not in str(error.value)


def test_registries_are_sorted_and_names_are_taken_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write_info(tmp_path, "my-shelf", {"kerhrm.things": {"b": "math:pi", "a": "math:e"}})
    assert list(with_plugins("kerhrm.things", {"ours": 0}).items()) == [
        ("ours", 0),
        ("a", math.e),
        ("b", math.pi),
    ]
    with pytest.raises(KerhrmError, match="a: the name is taken"):
        with_plugins("kerhrm.things", {"a": 0})
    assert with_plugins("kerhrm.plants", {"ours": 0}) == {"ours": 0}


def test_what_is_no_method_of_its_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shelf.py").write_text("fine = 1\n")
    write_info(tmp_path, "my-shelf", {"kerhrm.methods": {"mine": "shelf:fine"}})
    code = (
        "import kerhrm\ntry: kerhrm.METHODS\nexcept kerhrm.KerhrmError as e: print(e)\n"
    )
    code += "else: raise SystemExit(1)"
    run(code, tmp_path)
