"""Links from pages to files that are no pages (docs/_ext/repository.py)."""

import runpy
from types import SimpleNamespace
from typing import Any

import pytest
from documents import ROOT
from docutils import nodes
from sphinx.errors import ExtensionError

EXTENSION = runpy.run_path(str(ROOT / "docs" / "_ext" / "repository.py"))


def app(base: str = "", later: tuple[str, ...] = ()) -> Any:
    """What the extension asks of Sphinx, for a site in build/site."""
    return SimpleNamespace(
        srcdir=ROOT / "docs",
        config=SimpleNamespace(repository_base=base, later_pages=list(later)),
        builder=SimpleNamespace(
            get_outfilename=lambda name: str(ROOT / "build" / "site" / f"{name}.html")
        ),
    )


def marked(text: str, page: str = "results", later: tuple[str, ...] = ()) -> str:
    source = [text]
    EXTENSION["mark"](app(later=later), page, source)
    return source[0]


def resolved(uri: str, page: str = "results", base: str = "") -> str:
    tree = nodes.document(None, None)  # type: ignore[arg-type]
    tree += nodes.reference("", "x", refuri=uri)
    EXTENSION["resolve"](app(base), tree, page)
    (link,) = tree.findall(nodes.reference)
    return str(link["refuri"])


@pytest.mark.parametrize(
    ("page", "link", "path"),
    [
        ("results", "[a](../LICENSE)", "LICENSE"),
        ("results", "[a](../src/kerhrm/errors.py#L3)", "src/kerhrm/errors.py#L3"),
        ("results", "[folder](../results/reference)", "results/reference"),
        ("profiles/slurm", "[a](../../Makefile)", "Makefile"),
    ],
)
def test_links_out_of_the_docs(page: str, link: str, path: str) -> None:
    text = link.partition("]")[0]
    assert marked(link, page) == f"{text}](repository:{path})"


@pytest.mark.parametrize(
    "text",
    [
        "[a](verdicts.md)", "[a](#here)", "[a](https://example.org)", "![a](../LICENSE)",
        "[a](profiles/slurm.md#b)", "array[0] (see)",
    ],
)  # fmt: skip
def test_other_links_stay(text: str) -> None:
    assert marked(text) == text


def test_a_link_to_nothing_is_an_error() -> None:
    with pytest.raises(ExtensionError, match=r"docs/results\.md links to \.\./nothing"):
        marked("[a](../nothing)")


def test_a_page_that_a_run_will_write_is_no_link_yet() -> None:
    assert marked("see [later](later.md).", later=("later.md",)) == "see later."
    assert marked("verdicts\nlater\nspeed\n", later=("later.md",)) == "verdicts\nspeed\n"
    assert marked("[v](verdicts.md)", later=("verdicts.md",)) == "[v](verdicts.md)"


def test_addresses() -> None:
    uri = "repository:src/kerhrm/errors.py"
    assert resolved(uri) == "../../src/kerhrm/errors.py"
    assert resolved(uri, "profiles/slurm") == "../../../src/kerhrm/errors.py"
    assert (
        resolved(uri, base="https://example.org/x") == "https://example.org/x/src/kerhrm/errors.py"
    )
    assert resolved("https://example.org") == "https://example.org"
