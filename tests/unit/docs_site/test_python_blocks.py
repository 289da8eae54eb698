"""Every Python block of the README and of the pages is run, page by page, as it stands."""

import doctest
from pathlib import Path

import pytest
from documents import ROOT, blocks, documents
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

#: what a page takes for granted: a table of the reader's
TABLE = """
import numpy as np
random = np.random.default_rng(0)
X, X_new = random.normal(size=(2, 300, 3))
y = X[:, 0] + np.where(random.random(300) < .2, -2, 2) * X[:, 1] + .3 * random.normal(size=300)
"""
GIVEN = {
    "README.md": TABLE,
    "docs/index.md": TABLE,
    "docs/heterogeneity.md": TABLE + "features = x = X",
}
#: pages that need more than a folder to run in, and the test that runs them
ELSEWHERE = {"docs/extending.md": "tests/unit/plugins/test_extending.py"}
PARSER = PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS)


def pages() -> list[str]:
    return [name for name in documents() if blocks(name, "python") and name not in ELSEWHERE]


@pytest.mark.parametrize("name", pages())
def test_blocks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Document.parse(str(ROOT / name), PARSER)
    exec(GIVEN.get(name, ""), page.namespace)
    examples = list(page)
    assert examples
    for example in examples:
        example.evaluate()


@pytest.mark.parametrize("page", ELSEWHERE)
def test_other_pages_are_run_by_their_own_tests(page: str) -> None:
    assert Path(page).name in (ROOT / ELSEWHERE[page]).read_text(encoding="utf-8")
