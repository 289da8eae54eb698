"""Durations stand in one place, and pages that repeat one say the same."""

import re

from pagetools import ROOT

from kerhrm_paper.studies.registry import STUDIES

WORDS = {"half an hour": 30, "an hour": 60}


def minutes(text: str) -> int:
    """Minutes that a comment begins with."""
    for words, number in WORDS.items():
        if text.startswith(words):
            return number
    found = re.match(r"(\d+) minutes", text)
    assert found, text
    return int(found[1])


def test_minutes_of_studies_are_those_of_their_declarations() -> None:
    page = (ROOT / "docs" / "studies.md").read_text("utf-8")
    lines = re.findall(r"^snakemake --cores 2 study_(\w+) +# (.*)$", page, re.M)
    assert {name: minutes(text) for name, text in lines} == {
        name: study.minutes for name, study in STUDIES.items()
    }


def test_make_help_repeats_the_minutes_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    in_readme = re.search(r"^make smoke .*: (\d+) minutes$", readme, re.M)
    in_help = re.search(r"^smoke: env .*, (\d+) minutes with env", makefile, re.M)
    assert in_readme
    assert in_help
    assert in_readme[1] == in_help[1]
