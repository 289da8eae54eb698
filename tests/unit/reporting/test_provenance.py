"""Facts about the environment."""

import json
import os
import platform
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from kerhrm.reporting import publication
from kerhrm.reporting.publication import provenance

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_the_facts_are_this_machines() -> None:
    facts = provenance()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["python"] == platform.python_version()
    assert facts["cpu_count"] == os.cpu_count()
    assert facts["packages"]["numpy"] == np.__version__
    assert facts["packages"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert provenance() == facts


def test_everything_that_a_run_needs_is_named_and_tools_are_not() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    required = project["dependencies"] + project["optional-dependencies"]["workflow"]
    names = {r.partition(">")[0].partition("=")[0] for r in required}
    found = list(provenance()["packages"])
    assert found[0] == "kerhrm"
    assert names <= set(found)
    assert "hypothesis" not in found
    assert found[1:] == sorted(found[1:], key=str.lower)


def test_what_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication, "requires", lambda name: ["no-such-package-at-all", "numpy"])
    assert list(provenance()["packages"]) == ["kerhrm", "numpy"]
