"""The shipped configuration, free to change, and how a refused one is told."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kerhrm.config.resolve import resolve
from kerhrm.errors import KerhrmError

SHIPPED = Path(__file__).resolve().parents[3] / "config"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped files, without what `tune` has written."""
    ignore = shutil.ignore_patterns("tuned")
    return Path(shutil.copytree(SHIPPED, tmp_path / "config", ignore=ignore))


@pytest.fixture
def told() -> Callable[[dict[str, Any], Path], str]:
    """The message of a refused configuration: one line."""

    def message(top: dict[str, Any], folder: Path) -> str:
        with pytest.raises(KerhrmError) as caught:
            resolve(top, folder)
        text = str(caught.value)
        assert "\n" not in text
        return text

    return message


@pytest.fixture
def spoilt(folder: Path, told: Callable[[dict[str, Any], Path], str]) -> Callable[[str], str]:
    """The message when a preset, over the paper's sizes, says ``text`` alone."""

    def message(text: str) -> str:
        (folder / "presets" / "smoke.yaml").write_text(text)
        return told({"preset": "smoke"}, folder)

    return message
