"""The tables as Markdown, read back by a parser."""

import re
from collections.abc import Iterator
from itertools import product
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from kerhrm.reporting.layout import (
    SYMBOLS,
    blocks,
    excerpt,
    layout,
    outcome,
    to_markdown,
)
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table, headline
from kerhrm.scoring.verdicts import CRITERIA, Direction, Verdict

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]
OWN, POOLED, ORACLE = "worst learned environment", "pooled validation", "oracle"
ROWS = {  # in another order than the tables'
    ("KerHRM (released)", "as released"): (0.50, 0.7),
    ("KerHRM (network)", ORACLE): (0.78, 0.78),
    ("KerHRM (network)", OWN): (0.77, 0.76),
    ("KerHRM (network)", POOLED): (0.79, 0.73),
    ("ERM", POOLED): (0.85, 0.40),
    ("DRO", POOLED): (0.80, 0.30),
    ("ref: Bayes pooled", "none"): (0.848, 0.479),
}
SETTINGS = ["r2=0.70", "r2=0.80"]
PAPER = PaperValues(
    {("table1", s, m, "test_acc"): value
     for s, (m, value) in product(SETTINGS, [("ERM", 0.4), ("KerHRM", 0.7), ("DRO", 0.5)])}
)  # fmt: skip


def build(settings: list[str] = SETTINGS, preset: str = "paper", seeds: int = 3) -> pd.DataFrame:
    rows = []
    for setting, ((method, rule), values) in product(settings, ROWS.items()):
        for metric, value in zip(("train_acc", "test_acc"), values, strict=True):
            for seed in range(seeds):
                spread = 0.0 if rule == "none" else 0.001 * (seed - 1)
                rows.append((setting, method, seed, metric, value + spread, rule, "synthetic", ""))
    scores = pd.DataFrame(rows, columns=COLUMNS)
    bad = (scores["method"] == "DRO") & (scores["setting"] == "r2=0.80") & (scores["seed"] == 1)
    scores.loc[bad, ["value", "reason"]] = [np.nan, "diverged at step 5"]
    return build_table(scores, "table1", preset, PAPER)


@pytest.fixture
def table1() -> pd.DataFrame:
    return build()


def markdown_tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Title and rows, the header first, of every table."""
    for match in re.finditer(r"\*\*(.+?)\*\*\n\n((?:\|.*\n?)+)", text):
        lines = match[2].strip().splitlines()
        cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        assert all(re.fullmatch(r":?-+:?", c) for c in cells[1])
        assert len({len(row) for row in cells}) == 1
        yield match[1], [cells[0], *cells[2:]]


def test_a_table_a_metric_the_result_first(table1: pd.DataFrame) -> None:
    heading, *_ = text = to_markdown(table1, "Table 1: a heading").splitlines()
    assert heading == "### Table 1: a heading"
    found = list(markdown_tables("\n".join(text)))
    assert [name for name, _ in found] == ["Test accuracy", "Training accuracy"] * 2
    for _, (header, *_) in found:
        assert header == ["", *SETTINGS]


def test_rows_stand_in_the_readers_order(table1: pd.DataFrame) -> None:
    text = to_markdown(table1, "x")
    (_, own), _, (_, others), _ = markdown_tables(text)
    assert [row[0] for row in own[1:]] == [
        "ERM", "DRO", "KerHRM (network)", "*References*", "ref: Bayes pooled", "*Released code*",
        "KerHRM (released)",
    ]  # fmt: skip
    assert [row[0] for row in others[1:]] == [
        "KerHRM (network), pooled validation",
        "KerHRM (network), oracle",
    ]
    before, _, after = text.partition("<details>\n<summary>Other selection rules</summary>\n\n")
    assert "a bound, not a result" in after
    assert "oracle" not in before
    assert after.endswith("\n\n</details>\n")  # blank lines, or GitHub shows the tables as text


def test_cells_hold_number_paper_and_verdict(table1: pd.DataFrame) -> None:
    (_, test), (_, train), (_, others), _ = markdown_tables(to_markdown(table1, "x"))
    cells = {row[0]: row[1:] for row in test[1:]}
    assert cells["ERM"][0] == f"0.400 ± 0.001<br>0.400 {SYMBOLS['agrees']} agrees"
    assert cells["DRO"] == [
        f"0.300 ± 0.001<br>0.500 {SYMBOLS['differs (bad)']} lower (bad)",
        f"{SYMBOLS['failed']} failed: diverged at step 5 (1 of 3 seeds)<br>0.500",
    ]
    better = f"0.760 ± 0.001<br>0.700 {SYMBOLS['differs (good)']} higher (good)"
    assert cells["KerHRM (network)"][1] == better
    assert cells["ref: Bayes pooled"] == ["0.479", "0.479"]  # no ± 0.000
    assert cells["*References*"] == ["", ""]
    # no number of the paper's: ours alone
    assert {row[0]: row[1] for row in train[1:]}["ERM"] == "0.850 ± 0.001"
    # other rules have no verdict of their own
    assert others[1][1] == "0.730 ± 0.001"


def test_the_legend_names_what_is_there_and_its_rule(table1: pd.DataFrame) -> None:
    text = to_markdown(table1, "x").partition("<details>")[0]
    assert "over 3 seeds; without ± a single value or the same in every seed." in text
    for name in ("agrees", "differs (good)", "differs (bad)", "failed"):
        assert f"{SYMBOLS[name]} {name}" in text
    for name in ("not comparable", "undecided"):
        assert SYMBOLS[name] not in text
    assert "(test accuracy: 0.02)" in text
    assert "which H" not in text
    errors = table1.replace({"metric": {"test_acc": "mean_error"}})
    assert "(mean error: 10 % of the paper's)" in to_markdown(errors, "x")


def test_the_legend_says_that_h_is_not_known() -> None:
    text = to_markdown(build(["r2=0.70", "r2=0.70,H=I"]), "x")
    assert "The paper does not say which H its numbers belong to" in text


def test_a_preset_of_ours_shows_no_number_of_the_papers() -> None:
    smoke = build(preset="smoke")
    for text in (to_markdown(smoke, "x"),):
        assert "paper" not in text
        assert "0.700" not in text.replace("0.700 ±", "").replace(r"0.700 $\pm$", "")


@pytest.mark.parametrize("write", [to_markdown])
def test_a_single_seed_has_no_deviation(write: object) -> None:
    text = write(build(["r2=0.70"], seeds=1), "x")  # type: ignore[operator]
    assert "nan" not in text.lower()
    assert "±" not in text
    assert r"\pm" not in text
    assert "Cells: the value of a single seed." in text


def test_missing_cells_are_dashes(table1: pd.DataFrame) -> None:
    here = (table1["method"] == "ERM") & (table1["setting"] == "r2=0.80")
    _, cells = next(blocks(headline(table1[~here])))
    wide = layout(cells, lambda cell: cell["method"])
    assert list(wide.loc[("described", "ERM")]) == ["ERM", "–"]  # noqa: RUF001
    assert list(wide.columns) == SETTINGS


def test_blocks_are_no_wider_than_a_page() -> None:
    settings = [f"period={1900 + 20 * i}-{1919 + 20 * i}" for i in range(8)]
    parts = list(blocks(build(settings)))
    shown = [(metric, list(dict.fromkeys(cells["setting"]))) for metric, cells in parts]
    assert shown == [
        (metric, part)
        for metric in ("test_acc", "train_acc")
        for part in (settings[:6], settings[6:])
    ]


def test_an_excerpt_is_the_first_block_with_its_legend(table1: pd.DataFrame) -> None:
    full, shown = to_markdown(table1, "Table 1"), excerpt(table1, "Table 1")
    first, _, rest = full.partition("\n\n**Training accuracy**")
    assert shown.startswith(first + "\n\nCells: mean")
    assert shown.removeprefix(first) in rest
    assert "details" not in shown


@pytest.mark.parametrize("write", [to_markdown])
def test_another_experiment_needs_no_number_of_the_papers(write: object) -> None:
    """Names of settings and metrics that no table of the paper has."""
    settings = ["k=5", "k=10,price=log", "H=I"]
    scores = build(settings).drop(columns=["paper", "verdict"])
    table = scores.assign(table="mine", paper=np.nan, verdict="", mean=0.25)
    table["metric"] = table["metric"].replace("test_acc", "worst_acc")
    text = write(table, "Mine")  # type: ignore[operator]
    assert "paper" not in text
    assert "not comparable" not in text
    for name in ("orst_acc", "raining accuracy", *settings):
        assert name in text.replace("\\_", "_")


def test_training_accuracy_is_neither_good_nor_bad(table1: pd.DataFrame) -> None:
    train = table1.assign(metric="train_acc", direction="")
    text = to_markdown(train[train["metric"].ne(table1["metric"])], "x")
    assert f"0.700 {SYMBOLS['differs']} higher |" in text


def test_every_verdict_has_a_symbol() -> None:
    found = {outcome(v, d) for v in get_args(Verdict) for d in get_args(Direction)
             if v and (not d or v.startswith("differs"))}  # fmt: skip
    assert set(SYMBOLS) == found
    assert len(set(SYMBOLS.values())) == len(SYMBOLS)


def test_every_metric_can_be_shown(table1: pd.DataFrame) -> None:
    for metric in CRITERIA:
        one = table1[table1["metric"] == "test_acc"].assign(metric=metric)
        assert len(list(markdown_tables(to_markdown(one, "x")))) == 2
