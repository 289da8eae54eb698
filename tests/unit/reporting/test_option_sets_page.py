"""The page on tuning tells every choice, and is not stale."""

import json
from pathlib import Path

import pandas as pd

from kerhrm.reporting.option_sets_page import page
from kerhrm.scoring.tuning import COLUMNS

ROOT = Path(__file__).parents[3]


def test_the_committed_page_is_that_of_the_committed_choices() -> None:
    """Else: python -m kerhrm.reporting.option_sets_page."""
    committed = (ROOT / "docs/option_sets.md").read_text(encoding="utf-8")
    assert committed == page(ROOT / "config/tuned")


def test_every_rule_and_every_edge_is_told(tmp_path: Path) -> None:
    sets = [{"rho": rho, "steps": 100} for rho in (0.1, 2.0, 8.0)]
    rules = {"pooled validation": [0, 2, 1], "worst learned environment": [3, 2, 1]}
    rows = [
        ("dro", rule, "a", c, json.dumps(one), values[c], 0.0, 5)
        for rule, values in rules.items()
        for c, one in enumerate(sets)
    ]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(tmp_path / "classification.csv", index=False)
    lines = page(tmp_path).splitlines()
    (row,) = [line for line in lines if line.startswith("| DRO")]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    # own rule in bold; what never varied is no choice
    assert cells == ["DRO", "rho", "0.1, 2, 8", "**2**", "0.1\N{DAGGER}"]
    assert "3 option sets a method, 5 seeds, settings `a`." in lines
