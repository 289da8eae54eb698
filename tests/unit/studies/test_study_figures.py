"""Figures of the published studies: words that can be read where a page shows them."""

from pathlib import Path

import pandas as pd
import pytest

from kerhrm.entries import load_entry
from kerhrm_paper.reporting import figures
from kerhrm_paper.studies.registry import STUDIES
from tests.unit.reporting.legible import assert_legible, drawn_words

PUBLISHED = Path(__file__).parents[3] / "results" / "study"
DRAWN = [
    name
    for name, declaration in STUDIES.items()
    if declaration.figures
    and all((PUBLISHED / f"{table}.csv").exists() for table in declaration.tables)
]


@pytest.mark.parametrize("name", DRAWN)
def test_words_can_be_read_and_are_no_keys(name: str) -> None:
    declaration = STUDIES[name]
    tables = {}
    for table in declaration.tables:
        tables[table] = pd.read_csv(PUBLISHED / f"{table}.csv")
    study = load_entry(declaration.entry)
    with figures.style():
        drawn = study.figures(tables)
    for figure in drawn.values():
        assert_legible(figure)
        for text, _ in drawn_words(figure):
            assert "_" not in text.get_text()
