"""Python blocks of README and pages run as they stand; public docstrings follow
numpydoc.

Links and the API pages are checked by ``make site``, which turns warnings into errors.
"""

import doctest
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from numpydoc.validate import validate
from pagetools import PAGES, ROOT, blocks, commands
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

import kerhrm
from kerhrm.cli import main

PARSER = PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS)
CHECKS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"][
        "checks"
    ]
)
ENCODER = ROOT / "build" / "encoder"
#: options describe their fields, records their attributes
WITHOUT_PARAMETERS = {
    "KerHRMOptions",
    "NetworkOptions",
    "Problem",
    "Fit",
    "NTFMap",
    "NystroemMap",
}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```python" in page.read_text()],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_python_blocks_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if page.name != "configuration.md":  # reads config/ of the checkout
        monkeypatch.chdir(tmp_path)
    if page.name == "embeddings.md":  # its encoder is a package of its own
        if not (ENCODER / "wordllama").is_dir():
            pytest.skip("no encoder; make build/encoder/installed, by a network")
        monkeypatch.syspath_prepend(ENCODER)
    document = Document.parse(str(page), PARSER)
    for example in document:
        example.evaluate()
    if page.name == "README.md":  # its command leaves the file to the reader
        X = document.namespace["X"]
        y = document.namespace["y"]
        table = pd.DataFrame(X)
        table.assign(y=y).to_csv("data.csv", index=False)
    changed = [
        line[1:].split() for diff in blocks(page, "diff") for line in diff.splitlines()
    ]
    checks = commands(page) + changed[1::2]  # the second line of a diff
    shown = iter(blocks(page, "text"))
    for words in (words for words in checks if words[:2] == ["kerhrm", "check"]):
        assert main(words[1:]) == 0
        found = " ".join(capsys.readouterr().out.split())
        block = next(shown, "")
        compared = [
            line for line in block.splitlines() if line.startswith(("predicts", "test"))
        ]
        assert compared or not block, block
        for line in compared:
            assert " ".join(line.split()).removesuffix(" ...") in found


@pytest.mark.parametrize("name", sorted(set(kerhrm.__all__) - {"METHODS", "plots"}))
def test_docstrings_follow_numpydoc(name: str) -> None:
    found = {
        code: text
        for code, text in validate(f"kerhrm.{name}")["errors"]
        if code in CHECKS
    }
    if name in WITHOUT_PARAMETERS:
        found = {c: t for c, t in found.items() if c not in ("PR01", "PR02", "EX01")}
    assert not found
