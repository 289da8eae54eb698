"""The version stands in ``pyproject.toml``; files that need one of their own agree."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "version"
]


def test_the_citation_is_of_the_newest_release() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    release = re.search(r"^## (\d\S*) \((.*)\)$", changes, re.MULTILINE)
    assert release is not None
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert release[1] == citation["version"] == VERSION
    assert release[2] == citation["date-released"]


def test_the_library_reads_it() -> None:
    """No module of the package has a version of its own."""
    for module in (ROOT / "src").rglob("*.py"):
        assert VERSION not in module.read_text("utf-8"), module
