"""Methods and penalties of other packages: imported in any order, trained, refused in a
line."""

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dagtools import Checkout
from plugintools import install, run, show, write_info
from refusals import refusal

from kerhrm import KerhrmError
from kerhrm.entries import load_entry
from kerhrm.plugins import Registry

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "outside_method"

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
        ("leave:method", "SystemExit: 0"),
        ("no colon here!", "'no colon here!' is not an entry point; write"),
    ],
)
def test_a_package_that_is_broken(
    entry: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shelf.py").write_text("fine = 1\n")
    (tmp_path / "ruin.py").write_text("1 / 0  # on\n")
    (tmp_path / "leave.py").write_text("raise SystemExit(0)  # no main\n")
    show(monkeypatch, tmp_path)
    write_info(tmp_path, "my-shelf", {"kerhrm.things": {"mine": entry}})
    registry = Registry("kerhrm.things", {"ours": 0})
    for _ in range(2):  # it is not taken for loaded
        with refusal(problem) as error:
            registry.load()
        assert "package my-shelf, kerhrm.things: mine: " in str(error.value)
        assert "\n" not in str(error.value)
    assert registry["ours"] == 0


def test_a_line_of_entry_points_without_a_value_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, tmp_path)
    info = write_info(tmp_path, "my-shelf", {})
    text = "[kerhrm.things]\n# mine\nmine shelf:fine\n"
    (info / "entry_points.txt").write_text(text)
    registry = Registry("kerhrm.things", {"ours": 0})
    with pytest.raises(KerhrmError) as error:
        registry.load()
    assert str(error.value) == (
        "package my-shelf: entry_points.txt: 'mine shelf:fine' must be "
        "NAME = MODULE:OBJECT; correct the package, or pip uninstall my-shelf"
    )
    monkeypatch.setenv("KERHRM_PLUGINS", "")  # it does not count
    assert registry.load() == {}
    assert registry.hint("mine") is None


def test_a_name_in_a_misspelt_group_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, tmp_path)
    write_info(tmp_path, "my-shelf", {"kerhrm.thing": {"mine": "shelf:fine"}})
    registry = Registry("kerhrm.things", {"ours": 0})
    with pytest.raises(KerhrmError) as error:
        registry.known("mine")
    hint = "package my-shelf has it in the group kerhrm.thing, and not in kerhrm.things"
    assert error.value.hint == hint
    assert registry.hint("theirs") is None


def test_what_a_package_prints_is_no_output(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Commands print tables, and JSON, that other programs read."""
    (tmp_path / "loud.py").write_text("print('hello')\nthing = 1\n")
    show(monkeypatch, tmp_path)
    write_info(tmp_path, "my-loud", {"kerhrm.things": {"mine": "loud:thing"}})
    assert Registry("kerhrm.things", {})["mine"] == 1
    assert capsys.readouterr() == ("", "hello\n")


def test_a_package_that_changes_the_folder_moves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workflow's files have relative names."""
    before = os.getcwd()
    leave = "import os\nos.chdir(os.path.dirname(__file__))\nthing = 1\n"
    for name in ("moving", "going"):
        (tmp_path / f"{name}.py").write_text(leave)
    show(monkeypatch, tmp_path)
    write_info(tmp_path, "my-moving", {"kerhrm.things": {"mine": "moving:thing"}})
    assert Registry("kerhrm.things", {})["mine"] == 1
    assert os.getcwd() == before
    assert load_entry("going:thing") == 1
    assert os.getcwd() == before


def test_registries_are_sorted_and_names_are_taken_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, tmp_path)
    things = {"kerhrm.things": {"b": "math:pi", "a": "math:e"}}
    write_info(tmp_path, "my-shelf", things)
    registry = Registry("kerhrm.things", {"ours": 0})
    assert list(registry.items()) == [("ours", 0), ("a", math.e), ("b", math.pi)]
    assert len(registry) == 3
    assert "a" in registry
    assert "c" not in registry
    with refusal("a: the name is taken by kerhrm"):
        Registry("kerhrm.things", {"a": 0}).load()
    other = {"kerhrm.things": {"a": "math:tau"}}
    write_info(tmp_path, "my-table", other)
    taken = r"package my-(shelf|table), .*: a: the name is taken by package my-"
    with refusal(taken) as error:
        Registry("kerhrm.things", {}).load()
    assert {"my-shelf", "my-table"} <= set(re.findall(r"my-\w+", str(error.value)))
    alone = Registry("kerhrm.plants", {"ours": 0})
    assert dict(alone) == {"ours": 0}


@pytest.mark.parametrize(
    ("group", "registry", "problem"),
    [
        ("methods", "kerhrm.methods.registry:METHODS", "not a Method called mine"),
        (
            "penalties",
            "kerhrm.algorithm.registry:PENALTIES",
            "not a subclass of Penalty",
        ),
        ("data_sets", "kerhrm_paper.data.registry:DATA_SETS", "not a Generator"),
    ],
)
def test_what_does_not_belong_there_is_refused(
    group: str, registry: str, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "shelf.py").write_text("fine = 1\n")
    write_info(tmp_path, "my-shelf", {f"kerhrm.{group}": {"mine": "shelf:fine"}})
    module, name = registry.split(":")
    code = f"from {module} import {name} as registry\nfrom kerhrm import KerhrmError\n"
    code += "try: registry['mine']\nexcept KerhrmError as error: print(error)"
    (line,) = run(code, tmp_path).splitlines()
    assert problem in line


BOTH = '''
"""A method and a penalty in one module."""

import torch

from kerhrm import METHODS, NTFMap
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.methods.base import Method
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.kerhrm import train_kerhrm
from kerhrm.methods.registry import METHODS as SAME
from kerhrm_paper.data.generator import Generator
from kerhrm_paper.data.registry import DATA_SETS

assert METHODS is SAME and METHODS["kerhrm"].options is KerHRMOptions
DATA = DATA_SETS["regression"]


class Twice(GradientVariance):
    def unit(self, psi):
        return 2 * super().unit(psi)


class TwiceOptions(KerHRMOptions):
    penalty: str = "twice"


METHOD = Method("kerhrm_twice", TwiceOptions, train_kerhrm, needs_features=True)
'''
#: what a job, the configuration, or a user's script does first
FIRST = {
    "train": "load_entry('both:TwiceOptions')",
    "learn_direction": "import kerhrm.algorithm.invariance as i",
    "methods": "from kerhrm import METHODS as M; M['kerhrm_twice']",
    "plugin": "import both",
}


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_one_module_has_a_method_and_a_penalty(first: str, tmp_path: Path) -> None:
    """Whatever is imported first, in an interpreter as a job starts."""
    (tmp_path / "both.py").write_text(BOTH)
    groups = {"methods": {"kerhrm_twice": "both:METHOD"}}
    groups |= {"penalties": {"twice": "both:Twice"}, "data_sets": {"mine": "both:DATA"}}
    write_info(
        tmp_path, "both", {f"kerhrm.{kind}": one for kind, one in groups.items()}
    )
    code = f"from kerhrm.entries import load_entry; {first}\n"
    code += "from kerhrm import METHODS as M; from kerhrm.algorithm import registry\n"
    code += "import kerhrm_paper.data.registry as r; import both\n"
    code += (
        "assert M['kerhrm_twice'] is both.METHOD, r.DATA_SETS['mine'] is both.DATA\n"
    )
    code += "assert M['kerhrm_twice'].options().penalty in registry.PENALTIES\n"
    code += "assert registry.PENALTIES['twice'] is both.Twice"
    run(code, tmp_path)


#: fails if it sees a data set of another package
SENSITIVE = "test_data_sets.py::test_the_options_here_are_those_of_every_data_set"


def test_tests_see_no_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages that are broken, in a folder that Python imports from."""
    kinds = ("methods", "penalties", "data_sets")
    groups = {f"kerhrm.{kind}": {"mine": "absent:thing"} for kind in kinds}
    write_info(tmp_path, "my-shelf", groups)
    monkeypatch.syspath_prepend(tmp_path)
    assert not any(Registry(group, {}).load() for group in groups)
    assert Checkout(tmp_path).environment["KERHRM_PLUGINS"] == ""
    # a user's own command does see them, and the tests that this user starts do not
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("KERHRM_PLUGINS")
    with refusal("my-shelf"):
        Registry("kerhrm.methods", {}).load()
    test = str(ROOT / "tests" / "unit" / "data" / SENSITIVE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    subprocess.run(command, cwd=ROOT, check=True)


def refused(kind: str) -> Callable[[str, Any], None]:
    """A registry's check that refuses whatever is ``kind``."""

    def check(name: str, thing: Any) -> None:
        if kind == "told":
            raise KerhrmError("it is no thing", "make it one")
        raise ValueError("two\nlines")

    return check


@pytest.mark.parametrize(
    ("kind", "message"),
    [("told", "it is no thing; make it one"), ("raw", "ValueError: two lines")],
)
def test_what_is_refused_names_its_package(
    kind: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shelf.py").write_text("fine = 1\n")
    show(monkeypatch, tmp_path)
    write_info(tmp_path, "my-shelf", {"kerhrm.things": {"mine": "shelf:fine"}})
    with pytest.raises(KerhrmError) as error:
        Registry("kerhrm.things", {}, refused(kind)).load()
    text = str(error.value)
    assert text.startswith(f"package my-shelf, kerhrm.things: mine: {message}")
    assert "\n" not in text


def test_a_folder_of_packages_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = f"{tmp_path}{os.pathsep}{tmp_path / 'nowhere'}"
    monkeypatch.setenv("KERHRM_PLUGINS", places)
    registry = Registry("kerhrm.things", {"ours": 0})
    with refusal("nowhere is not a folder") as error:
        registry.load()
    assert str(error.value).startswith(f"KERHRM_PLUGINS={places}: ")
    assert registry["ours"] == 0
    monkeypatch.delenv("KERHRM_PLUGINS")  # as the hint says
    assert registry.load() == {}
