"""Findings of the report, against the numbers that they are of."""

from pathlib import Path

import pandas as pd
import pytest

from kerhrm_paper.evaluation.tables import AUTHORS_CODE
from kerhrm_paper.reporting.findings import (
    against_paper,
    of_authors_code,
    on_images,
)
from kerhrm_paper.reporting.run import Run

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")


def endpoints_of(outcomes: dict[str, list[str]], exact: str = "") -> pd.DataFrame:
    """Endpoints of methods in Tables 1 and 4, and one of a part."""
    rows = []
    for method, words in outcomes.items():
        for table, outcome in zip(("table1", "table4"), words, strict=True):
            row = {"table": table, "part": "", "method": method, "outcome": outcome}
            row["outcome_exact"] = exact or outcome
            rows.append(row)
            rows.append(row | {"part": "H=I", "outcome": "of a part"})
    return pd.DataFrame(rows)


def test_outcomes_are_those_of_the_run() -> None:
    outcomes = {
        "KerHRM": ["worse", "reproduced"],
        "KerHRM (as printed)": ["open", "better"],
        "ERM": ["better", "better"],
    }
    text = against_paper(endpoints_of(outcomes))
    assert text == (
        "Our version against the paper: worse in Table 1, reproduced in Table 4. "
        "The algorithm as printed: open in Table 1, better in Table 4."
    )
    if_exact = against_paper(endpoints_of(outcomes, "better"))
    end = " If the printed means have no error: better in Table 1."
    assert if_exact == text + end
    images = on_images(endpoints_of(outcomes))
    assert images == "Our version against the paper on Colored MNIST: reproduced."


def test_without_a_test_there_is_no_finding() -> None:
    of_erm = endpoints_of({"ERM": ["better", "better"]})
    assert against_paper(of_erm) == ""
    assert on_images(of_erm) == ""


def test_the_published_run_has_its_findings() -> None:
    text = against_paper(REFERENCE.endpoints())
    for words in ("better in Table 1", "better in Table 3", "open in Table 4"):
        assert words in text.partition("The algorithm")[0]
    assert "unprinted constants decide in Table 2" in text
    assert on_images(REFERENCE.endpoints()).endswith(": open.")
    assert of_authors_code(REFERENCE.scores("table1")) == (
        "Runs of the authors' code split: 48% reach 0.70, 36% stay below 0.50."
    )


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.7, 0.6, 0.5, 0.4], " split: 25% reach 0.70, 25% stay below 0.50."),
        ([0.8, 0.7, 0.7, 0.7], ": 100% reach 0.70, 0% stay below 0.50."),
        ([], ""),
    ],
)
def test_shares_of_the_authors_code_by_hand(values: list[float], text: str) -> None:
    """Other methods, metrics and criteria do not count."""
    rows = [
        (AUTHORS_CODE, "test_acc", "as released", value, seed)
        for seed, value in enumerate(values)
    ]
    if values:
        rows.append((AUTHORS_CODE, "test_acc", "oracle", 0.9, 0))
    rows.append(("KerHRM", "test_acc", "as released", 0.9, 0))
    rows.append((AUTHORS_CODE, "train_acc", "as released", 0.9, 0))
    names = ["method", "metric", "selection", "value", "seed"]
    scores = pd.DataFrame(rows, columns=names).assign(setting="s", data="d")
    expected = f"Runs of the authors' code{text}" if text else ""
    assert of_authors_code(scores) == expected
