"""Sentences that state results come from the tables, or are checked against them here.

Of hand-written text the running text and its tables are searched, without code, formulae in code,
links and generated sections, for what looks like a result: a number with a decimal point, ``±``, a
percentage, ``N of M``, a duration or a size.  Each has to stand in ``prose.yaml``.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from scipy import stats

from kerhrm.config.resolve import resolve
from kerhrm.reporting.published import load
from kerhrm.reporting.readme import written
from kerhrm.reporting.results_page import PAGE, REFERENCE, names, pages
from kerhrm.scoring import statistics

ROOT = Path(__file__).parents[3]
PROSE = yaml.safe_load(Path(__file__).with_name("prose.yaml").read_text(encoding="utf-8"))
CURE = "python -m kerhrm.reporting.results_page"
NUMBER = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty)"
UNIT = r"(?:s|seconds?|min|minutes?|h|hours?|core-minutes?|[MG]B)"
RESULT = re.compile(
    rf"(?<![\w.])\d*\.\d+|±|\d\s?%|\b{NUMBER} (?:of|in) (?:the |its |all )?{NUMBER}\b|"
    rf"\b{NUMBER} {UNIT}\b",
    re.IGNORECASE,
)
#: what is no running text: generated sections, comments, fenced and indented code, code in a line,
#: targets of links
CODE = re.compile(
    r"<!-- begin (\w+) -->.*?<!-- end \1 -->|<!--.*?-->|^```.*?^```|(?<=\n\n)(?: {4}[^\n]*\n)+|"
    r"`[^`\n]*(?:\n[^`\n]+)?`|\]\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)


def running(text: str) -> str:
    """Running text in one line."""
    return " ".join(CODE.sub(" ", text).split())


def unknown(text: str, said: list[str]) -> list[str]:
    """Numbers that look like results and stand in no fragment, with their surroundings."""
    rest = running(text)
    for pattern in (*map(re.escape, map(running, said)), *PROSE["plain"]):
        rest = re.sub(pattern, "#", rest)
    return [rest[max(0, m.start() - 60) : m.end() + 30] for m in RESULT.finditer(rest)]


def hand_written() -> list[str]:
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [path.relative_to(ROOT).as_posix() for path in files]
    return [name for name in found if name not in PROSE["generated"]]


def entries(file: str) -> list[dict[str, str]]:
    return [entry for entry in PROSE["checked"] if entry["file"] == file]


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """What expressions may use."""

    def code(name: str) -> Any:
        module, _, what = name.partition(":")
        return getattr(import_module(module), what)

    def text(name: str) -> str:
        return (ROOT / name).read_text(encoding="utf-8")

    config = resolve({}, ROOT / "config").plain()["experiments"]
    more = {"config": config, "scoring": statistics, "t": stats.t, "code": code, "text": text}
    return names(load(ROOT / REFERENCE)) | more


@pytest.mark.parametrize("file", hand_written())
def test_no_sentence_states_a_result_unchecked(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    found = unknown(text, [entry["says"] for entry in entries(file)])
    assert not found, "generate these, or check them in prose.yaml"


@pytest.mark.parametrize("entry", PROSE["checked"], ids=lambda entry: entry["says"][:40])
def test_checked_sentences_stand_and_are_true(entry: dict[str, str], known: dict[str, Any]) -> None:
    assert running(entry["says"]) in running((ROOT / entry["file"]).read_text(encoding="utf-8"))
    if "by" in entry:
        path, _, name = entry["by"].partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
    else:
        assert bool(eval(entry["holds"], dict(known))) is True


@pytest.mark.parametrize(
    "sentence",
    [
        "ERM reaches .311 here.", "It is 0.751 in all.", "Better in 5 of 6 settings.",
        "In five of the six tables", "0.5 ± 0.1", "It covers 84 % of them.", "It took 30 minutes.",
        "Every job takes two seconds.", "It leaves 13 GB.", "| ERM | 2.18 |",
    ],
)  # fmt: skip
def test_a_new_result_is_found(sentence: str) -> None:
    assert unknown(f"# Title\n\nA line.\n{sentence}\n\nMore.\n", [])
    assert not unknown(f"A line.\n{sentence}\n", [sentence])


@pytest.mark.parametrize(
    "text",
    [
        "`alpha: 0.1` is an option", "```sh\nrun --ridge 0.01\n```\n", "Text:\n\n    rho = 0.5\n\n",
        "<!-- begin times -->\n3.5\n<!-- end times -->", "[Table](results/1.5.md)",
        "With Python 3.11 or newer", "one of them, and five grids in all",
    ],
)  # fmt: skip
def test_code_and_generated_sections_are_no_prose(text: str) -> None:
    assert not unknown(text, [])


def test_what_is_generated_is_there_and_is_up_to_date() -> None:
    """Else: run the command ``CURE``."""
    page, sections = pages(ROOT / REFERENCE, ROOT)
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page, CURE
    for path, text in written(ROOT, sections).items():
        assert path.read_text(encoding="utf-8") == text, CURE
