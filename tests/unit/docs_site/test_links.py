"""Relative links of the hand-written pages lead to a file of the checkout, and a link's
anchor to a heading there.

On the site ``make site`` checks them, where ``docs/conf.py`` puts generated pages in
the place of some files: those of ``IN_PLACE``.
"""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from pagetools import ROOT

FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def tracked(pattern: str) -> list[Path]:
    """Files of the checkout that git knows, or would add; all where there is no git."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", pattern]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        return sorted(ROOT.glob(f"**/{pattern}"))
    files = (ROOT / line for line in listed.stdout.splitlines())
    return [file for file in files if file.is_file()]


FILES = set(tracked("*"))
PAGES = sorted(file for file in FILES if file.suffix == ".md")


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text("utf-8"))


def links(page: Path) -> Iterator[str]:
    """Targets without a scheme."""
    for target in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", target):
            yield unquote(target)


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub and MyST make them."""
    found: set[str] = set()
    for heading in HEADING.findall(prose(page)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        numbered = anchor
        while numbered in found:
            number += 1
            numbered = f"{anchor}-{number}"
        found.add(numbered)
    return found


def broken(page: Path) -> list[str]:
    wrong = []
    for target in links(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        is_folder = any(file in other.parents for other in FILES)
        if file not in FILES and not is_folder:
            wrong.append(f"{target}: no such file")
        elif anchor and (file.suffix != ".md" or anchor not in anchors(file)):
            wrong.append(f"{target}: no such heading")
    return wrong


def in_place() -> dict[str, str]:
    """``IN_PLACE`` of docs/conf.py, which imports Sphinx."""
    module = ast.parse((ROOT / "docs" / "conf.py").read_text("utf-8"))
    values = {
        ast.unparse(statement.targets[0]): statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
    }
    found: dict[str, str] = ast.literal_eval(values["IN_PLACE"])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert broken(page) == []


def test_there_are_links_and_anchors() -> None:
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "config/README.md", "results/README.md"} <= names
    assert {"CONTRIBUTING.md", "docs/index.md"} <= names
    targets = [target for page in PAGES for target in links(page)]
    assert len(targets) > 80
    assert sum("#" in target for target in targets) > 20


def test_pages_link_to_no_generated_file() -> None:
    """A checkout lacks them; the site has them in the place of others."""
    targets = [target for page in PAGES for target in links(page)]
    for file, page in in_place().items():
        assert any(re.fullmatch(rf"{file}(#.*)?", target) for target in targets), file
        assert page.startswith(("gallery/", "generated/"))
    generated = [
        target for target in targets if re.match(r"(gallery|generated)/", target)
    ]
    assert generated == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `two`\n\n[a](other.md) [b](#one-two) [c](#three)\n")
    FILES.add(page)
    assert broken(page) == ["other.md: no such file", "#three: no such heading"]
