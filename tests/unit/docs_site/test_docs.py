"""Python blocks of README and pages run as they stand; public docstrings follow numpydoc.

Links and the API pages are checked by ``make site``, which turns warnings into errors.
"""

import doctest
import tomllib
from pathlib import Path

import pytest
from numpydoc.validate import validate
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

import kerhrm

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PARSER = PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS)
CHECKS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]["checks"]
)
#: options describe their fields, records their attributes
WITHOUT_PARAMETERS = {"KerHRMOptions", "NetworkOptions", "Problem", "Fit", "NTFMap", "NystroemMap"}


@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in p.read_text()], ids=str)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name != "configuration.md":  # reads config/ of the checkout
        monkeypatch.chdir(tmp_path)
    for example in Document.parse(str(page), PARSER):
        example.evaluate()


@pytest.mark.parametrize("name", sorted(set(kerhrm.__all__) - {"METHODS", "plots"}))
def test_docstrings_follow_numpydoc(name: str) -> None:
    found = {code: text for code, text in validate(f"kerhrm.{name}")["errors"] if code in CHECKS}
    if name in WITHOUT_PARAMETERS:
        found = {c: t for c, t in found.items() if c not in ("PR01", "PR02", "EX01")}
    assert not found
