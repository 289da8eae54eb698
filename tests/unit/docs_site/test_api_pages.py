"""The page of every class on docs/api.md lists all that is public of it, and has an
example.

Methods stand in the page's source, which sphinx-autogen writes; parameters, fields and
attributes of a fit stand in the docstring, and properties have one of their own.
"""

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpydoc.docscrape import ClassDoc
from pagetools import ROOT
from pydantic import BaseModel

import kerhrm

NAMES = re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(), re.M)
#: what the bases of options and errors have, and names of earlier versions
OF_BASES = {*dir(BaseModel), *dir(ValueError), "renamed"}
#: few steps, for attributes alone
FEW_STEPS: dict[str, dict[str, Any]] = {
    "KerHRMClassifier": {"k": 2, "n_init": 1, "n_iterations": 1},
    "KerHRMRegressor": {"k": 2, "n_init": 1, "n_iterations": 1},
    "EIIL": {"inference_steps": 5},
    "EVaLS": {"inference_steps": 5},
    "EDNIL": {"rounds": 1},
    "HRM": {"gate_steps": 500, "cluster_steps": 50, "n_iterations": 1},
}


def named(name: str) -> Any:
    """What a line of the page names."""
    module, _, attribute = name.rpartition(".")
    package = f"kerhrm.{module}" if module else "kerhrm"
    return getattr(importlib.import_module(package), attribute)


CLASSES = [name for name in NAMES if inspect.isclass(named(name))]
ESTIMATORS = [name for name in CLASSES if hasattr(named(name), "get_params")]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the sources of the pages."""
    folder = tmp_path_factory.mktemp("generated")
    command = [sys.executable, "-m", "sphinx.ext.autosummary.generate"]
    command += ["-t", str(ROOT / "docs" / "templates"), "-o", str(folder)]
    command.append(str(ROOT / "docs" / "api.md"))
    subprocess.run(command, check=True, capture_output=True)
    return folder


def methods_listed(pages: Path, name: str) -> set[str]:
    page = (pages / f"kerhrm.{name}.rst").read_text("utf-8")
    assert re.search("^   :members:$", page, re.MULTILINE)  # shows each of them
    return set(re.findall(r"^ +~[\w.]+\.(\w+)$", page, re.MULTILINE))


def described(kind: type) -> set[str]:
    """Parameters and attributes in a class's docstring."""
    doc = ClassDoc(kind, config={"show_class_members": False})
    entries = [*doc["Parameters"], *doc["Attributes"]]
    names = {name for entry in entries for name in entry.name.split(", ")}
    for name in names:
        assert re.fullmatch(r"\w+", name), name
    return names


def public(kind: type) -> set[str]:
    """Public names of a class, and fields that have no default."""
    names = {name for name in dir(kind) if not name.startswith("_")} - OF_BASES
    if dataclasses.is_dataclass(kind):
        names |= {field.name for field in dataclasses.fields(kind)}
    return names | set(getattr(kind, "model_fields", {}))


def documented_properties(kind: type) -> set[str]:
    return {
        name
        for name, value in inspect.getmembers(kind)
        if isinstance(value, property) and value.__doc__ and not name.startswith("_")
    }


def test_pages_have_all_public_names_but_options_of_the_configuration() -> None:
    elsewhere = {"KerHRMOptions", "NetworkOptions", "METHODS"}
    assert set(kerhrm.__all__) - elsewhere <= set(NAMES)
    assert {f"plots.{name}" for name in kerhrm.plots.__all__} <= set(NAMES)


@pytest.mark.parametrize("name", CLASSES)
def test_the_page_of_a_class_lists_all_of_it(pages: Path, name: str) -> None:
    kind = named(name)
    methods = methods_listed(pages, name)
    expected = public(kind)
    others = documented_properties(kind) | described(kind)
    assert methods | others & expected == expected
    for method in methods:
        assert inspect.getdoc(getattr(kind, method)), method
    assert ">>> " in (inspect.getdoc(kind) or "")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_page_of_an_estimator_lists_what_a_fit_leaves(name: str) -> None:
    kind = named(name)
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(100, 2)), columns=["a", "b"])
    y = X["a"] + random.normal(size=100)
    if name != "KerHRMRegressor":
        y = np.where(y > 0, "high", "low")
    given = {}
    if "environments" in inspect.signature(kind.fit).parameters:
        given["environments"] = random.integers(2, size=100)
    model = kind(random_state=0, **FEW_STEPS.get(name, {}))
    few = {"steps": 5, "network": (8,)}.items()
    model.set_params(**{k: v for k, v in few if k in model.get_params()})
    with warnings.catch_warnings(action="ignore"):
        model.fit(X, y, **given)
    left = {attribute for attribute in vars(model) if not attribute.startswith("_")}
    assert {"seed_", "n_features_in_", "feature_names_in_"} <= left
    assert left | set(model.get_params(deep=False)) <= described(kind)
