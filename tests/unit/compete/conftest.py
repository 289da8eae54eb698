"""The template as a file of a user, with changes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from method_text import TEMPLATE, Write

from kerhrm_paper.compete.method_file import MethodFile, load_method


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Write the template, or another text."""

    def write(text: str = TEMPLATE) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    yield write
    imported = [name for name in sys.modules if name.startswith("compete_")]
    for name in imported:
        del sys.modules[name]


@pytest.fixture
def method(write: Write) -> MethodFile:
    """The template's method."""
    return load_method(write(), [], [])
