"""Citation, archive and changelog say what pyproject.toml, the licence and the tables say."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from kerhrm.reporting.summaries import verdict_counts
from kerhrm.reporting.tables import read_table

ROOT = Path(__file__).parents[3]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: of the Citation File Format 1.2: what a file must have, and what else ours does
REQUIRED = {"cff-version", "message", "title", "authors"}
ALLOWED = REQUIRED | {
    "type", "abstract", "version", "date-released", "license", "keywords", "preferred-citation",
}  # fmt: skip
CITED = {"type", "title", "authors", "year", "collection-title", "conference", "doi"}
#: of the paper's title page; its source is no part of the repository
PAPER = "Kernelized Heterogeneous Risk Minimization"
AUTHORS = ("Jiashuo Liu", "Zheyuan Hu", "Peng Cui", "Bo Li", "Zheyan Shen")


@pytest.fixture(scope="module")
def citation() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def archive() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def changes() -> dict[str, str]:
    """What the changelog says of each version, the newest first."""
    parts = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    return {part.split(None, 1)[0]: part for part in parts[1:]}


def test_the_citation_has_the_fields_of_its_format(citation: dict[str, Any]) -> None:
    assert REQUIRED <= citation.keys() <= ALLOWED
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["preferred-citation"].keys() == CITED
    assert re.fullmatch(r"10\.\d{4,}/\S+", citation["preferred-citation"]["doi"])


def test_the_paper_is_cited_with_all_its_authors(citation: dict[str, Any]) -> None:
    paper = citation["preferred-citation"]
    assert (paper["title"], paper["year"]) == (PAPER, 2021)
    named = [f"{author['given-names']} {author['family-names']}" for author in paper["authors"]]
    assert tuple(named) == AUTHORS
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert PAPER in readme
    assert all(author.split()[-1] in readme for author in AUTHORS)


def test_one_version_stands_everywhere(
    citation: dict[str, Any], archive: dict[str, Any], changes: dict[str, str]
) -> None:
    newest, *_ = changes
    said = {PROJECT["version"], citation["version"], archive["version"], newest}
    assert len(said) == 1, said
    assert changes[newest].startswith(f"{newest} ({citation['date-released']})")
    assert f"git tag v{newest}" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_one_licence_and_one_holder(citation: dict[str, Any], archive: dict[str, Any]) -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert licence.startswith(f"{PROJECT['license']} License")
    assert {PROJECT["license"], citation["license"], archive["license"]} == {"MIT"}
    (author,), (creator,) = citation["authors"], archive["creators"]
    assert author == creator
    assert licence.splitlines()[2].endswith(author["name"])


def test_the_archive_says_what_the_citation_says(
    citation: dict[str, Any], archive: dict[str, Any]
) -> None:
    assert archive["title"] == citation["title"]
    assert archive["keywords"] == citation["keywords"]
    assert re.sub(r"<.*?>", "", archive["description"]).endswith(citation["abstract"][-200:])
    assert archive["upload_type"] == citation["type"]
    (related,) = archive["related_identifiers"]
    assert related["identifier"] == citation["preferred-citation"]["doi"]


def test_every_version_tells_its_verdicts(changes: dict[str, str]) -> None:
    assert all("### Verdicts" in text for text in changes.values())


def test_the_verdicts_are_those_of_the_published_tables(changes: dict[str, str]) -> None:
    """The version that made the tables has their counts, to be copied from the message."""
    reference = ROOT / "results" / "reference"
    made = json.loads((reference / "versions.json").read_text())["packages"]["kerhrm"]
    paths = [p for p in sorted(reference.glob("tables/*.csv")) if "-" not in p.stem]
    counted = _rows(verdict_counts(read_table(*paths), by=("table",)))
    for row in counted.values():
        row.pop("agree at half the margin")
        row.pop("at twice")
    told = _rows(changes[made].partition("### Verdicts")[2])
    assert told == counted, f"CHANGELOG.md, {made}, has to say: {counted}"


def _rows(text: str) -> dict[str, dict[str, str]]:
    """A Markdown table by the first cell of each row; names of columns without symbols."""
    lines = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.strip().startswith("|") and "---" not in line
    ]
    header = [re.sub(r"^\W+", "", name) for name in lines[0]]
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in lines[1:]}
