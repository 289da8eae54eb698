"""The shipped configuration, free to change, and how a refused one is told."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from configtools import SHIPPED, Spoil, Told, Write

from kerhrm.config.resolve import resolve
from kerhrm.errors import KerhrmError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped files, without what `tune` has chosen, in the working directory."""
    shutil.copytree(SHIPPED, tmp_path / "config", ignore=shutil.ignore_patterns("tuned"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config"


@pytest.fixture
def write(folder: Path) -> Write:
    """Write a file of the configuration."""

    def content(name: str, tree: dict[str, Any]) -> None:
        path = folder / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(tree, sort_keys=False))

    return content


@pytest.fixture
def told(folder: Path) -> Told:
    """The message of a refused configuration: one line."""

    def message(top: dict[str, Any]) -> str:
        with pytest.raises(KerhrmError) as caught:
            resolve(top, folder)
        text = str(caught.value)
        assert "\n" not in text
        return text

    return message


@pytest.fixture
def spoilt(folder: Path, told: Told) -> Spoil:
    """What is told of ``text``, when a preset over the paper's sizes says nothing else."""

    def message(text: str) -> str:
        (folder / "presets" / "smoke.yaml").write_text(text)
        start = "config/presets/smoke.yaml: "
        found = told({"preset": "smoke"})
        assert found.startswith(start)
        return found.removeprefix(start)

    return message
