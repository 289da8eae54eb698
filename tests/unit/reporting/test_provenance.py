"""Facts about the environment."""

import hashlib
import json
import os
import platform
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from kerhrm.reporting import provenance as module
from kerhrm.reporting.provenance import command, device, made_with, provenance, sha256

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
    monkeypatch.setattr(module, "requires", lambda name: ["no-such-package-at-all", "numpy"])
    assert list(provenance()["packages"]) == ["kerhrm", "numpy"]


def test_what_pins_the_packages_is_hashed(tmp_path: Path) -> None:
    lock = tmp_path / "envs" / "requirements.lock"
    lock.parent.mkdir()
    lock.write_bytes(b"numpy==2.0\n")
    facts = made_with(tmp_path)
    assert facts["locks"] == {"envs/requirements.lock": hashlib.sha256(b"numpy==2.0\n").hexdigest()}
    assert facts["commit"] is None
    assert len(facts["code"]) == 64
    assert sha256(lock) == facts["locks"]["envs/requirements.lock"]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"preset": "paper", "results": "results"}, "snakemake --cores 2 table1"),
        ({"preset": "fresh"}, "snakemake --cores 2 table1 --config preset=fresh"),
        (
            {"preset": "smoke", "results": "/tmp/x"},
            "snakemake --cores 2 table1 --config preset=smoke results=/tmp/x",
        ),
    ],
)
def test_the_command_that_makes_a_table(config: dict[str, str], told: str) -> None:
    assert command(config, "table1") == told


@pytest.mark.parametrize(
    ("asked", "build", "told"),
    [
        ("auto", "2.4.0+cpu", "cpu (auto, with a CPU build of PyTorch)"),
        ("auto", "2.4.0", "auto: a GPU if the machine had one"),
        ("cuda:1", "2.4.0", "cuda:1"),
    ],
)
def test_devices(asked: str, build: str, told: str) -> None:
    assert device({"device": asked}, {"torch": build}) == told
