"""Public docstrings: numpydoc's rules, and examples that run.

The rules that count are those of ``[tool.numpydoc_validation]`` in pyproject.toml.
"""

import doctest
import importlib
import inspect
import tomllib
import warnings
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from documents import ROOT
from numpydoc.validate import validate

import kerhrm
from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.estimators.notices import KerhrmWarning
from kerhrm.sections import Section

CHECKS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "numpydoc_validation"
    ]["checks"]
)
#: rules about parameters: fields of dataclasses are attributes, those of sections describe
#: themselves, and an abstract class is told by its methods
PARAMETERS = {"PR01", "PR02", "PR07"}
STEPS = ["kerhrm.heterogeneity.verdict.heterogeneity_test"]
SECTIONS = [
    f"kerhrm.algorithm.options.{name}"
    for name in ("Clustering", "Invariance", "IGD", "Heterogeneity")
]
METHODS = {
    "fit", "predict", "predict_proba", "decision_function", "predict_environment_proba", "score",
    "save", "load", "transform",
}  # fmt: skip


def plots() -> list[str]:
    return [f"kerhrm.plots.{name}" for name in importlib.import_module("kerhrm.plots").__all__]


def penalties() -> list[str]:
    own = [entry for entry in PENALTIES.values() if entry.startswith("kerhrm.")]
    return ["kerhrm.algorithm.penalties.base.Penalty", *(e.replace(":", ".") for e in own)]


def found(name: str) -> Any:
    module, _, what = name.rpartition(".")
    return getattr(importlib.import_module(module), what)


ENTRIES = [f"kerhrm.{name}" for name in kerhrm.__all__ if name != "plots"]
WITH_EXAMPLES = [*ENTRIES, *STEPS, *plots()]
PUBLIC = [*WITH_EXAMPLES, *SECTIONS, *penalties()]


def methods() -> list[str]:
    """Public methods of the estimators and of the feature map, with those that they inherit."""
    return [
        f"{name}.{method}"
        for name in ENTRIES
        for method in sorted(METHODS)
        if name == "kerhrm.NTFMap" or hasattr(found(name), "get_params")
        if inspect.getattr_static(found(name), method, None) is not None
    ]


@pytest.mark.parametrize("name", [*PUBLIC, *methods()])
def test_docstrings_follow_numpydoc(name: str) -> None:
    told = {code: text for code, text in validate(name)["errors"] if code in CHECKS}
    public = found(name) if name in PUBLIC else None
    if public is not None and inspect.isclass(public):
        told = {c: t for c, t in told.items() if not (c in PARAMETERS and quiet(public))}
    if name not in WITH_EXAMPLES or (inspect.isclass(public) and issubclass(public, Section)):
        told.pop("EX01", None)
    assert not told


def quiet(public: type) -> bool:
    """Whether a class is described otherwise than by parameters of its constructor."""
    return is_dataclass(public) or issubclass(public, Section) or inspect.isabstract(public)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    (case,) = doctest.DocTestFinder(recurse=False).find(found(name), name, globs={})
    section = inspect.isclass(found(name)) and issubclass(found(name), Section)
    assert bool(case.examples) is not section
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KerhrmWarning)
        assert doctest.DocTestRunner().run(case).failed == 0
