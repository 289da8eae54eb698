"""The tables as Markdown and LaTeX, read back by parsers."""

import re
from collections.abc import Iterator
from itertools import product
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from pylatexenc.latexwalker import (
    LatexEnvironmentNode,
    LatexMacroNode,
    LatexNode,
    LatexWalker,
    LatexWalkerParseError,
    get_default_latex_context_db,
)
from pylatexenc.macrospec import MacroSpec, std_macro

from kerhrm.reporting.layout import (
    COLOURS,
    SYMBOLS,
    blocks,
    excerpt,
    layout,
    outcome,
    to_latex,
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
    for text in (to_markdown(smoke, "x"), to_latex(smoke, "x")):
        assert "paper" not in text
        assert "0.700" not in text.replace("0.700 ±", "").replace(r"0.700 $\pm$", "")


@pytest.mark.parametrize("write", [to_markdown, to_latex])
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


@pytest.mark.parametrize("write", [to_markdown, to_latex])
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


def test_every_verdict_has_a_symbol_and_a_colour() -> None:
    found = {outcome(v, d) for v in get_args(Verdict) for d in get_args(Direction)
             if v and (not d or v.startswith("differs"))}  # fmt: skip
    assert set(SYMBOLS) == set(COLOURS) == found
    assert len(set(SYMBOLS.values())) == len(set(COLOURS.values())) == len(SYMBOLS)


# What the tables use beyond the parser's own list of macros and environments.
CONTEXT = get_default_latex_context_db()
CONTEXT.add_context_category(
    "booktabs, xcolor",
    macros=[
        *(MacroSpec(name, "") for name in ("toprule", "midrule", "bottomrule", "centering")),
        MacroSpec("caption", "{"),
        MacroSpec("setlength", "{{"),
        MacroSpec("shortstack", "[{"),
        std_macro("textcolor", "{{"),
    ],
    prepend=True,
)


def nodes_of(nodes: list[LatexNode]) -> Iterator[LatexNode]:
    """All nodes below, groups and arguments opened."""
    for node in nodes:
        if node is None:
            continue
        yield node
        yield from nodes_of(list(getattr(node, "nodelist", None) or []))
        arguments = getattr(node, "nodeargd", None)
        yield from nodes_of(list(arguments.argnlist) if arguments else [])


def parse(text: str) -> list[LatexEnvironmentNode]:
    """The tabulars of a document; refuses what does not parse."""
    walker = LatexWalker(text, latex_context=CONTEXT, tolerant_parsing=False)
    nodes, _, _ = walker.get_latex_nodes()
    tables = [node for node in nodes if isinstance(node, LatexEnvironmentNode)]
    assert {node.environmentname for node in tables} == {"table"}
    return [
        node
        for node in nodes_of(nodes)
        if isinstance(node, LatexEnvironmentNode) and node.environmentname == "tabular"
    ]


def rows_of(tabular: LatexEnvironmentNode) -> list[list[str]]:
    """Cells of a tabular as LaTeX, split at its own `&` and `\\` and at no inner ones."""
    rows: list[list[str]] = [[""]]
    for node in tabular.nodelist:
        if isinstance(node, LatexMacroNode) and node.macroname == "\\":
            rows.append([""])
        elif isinstance(node, LatexMacroNode) and node.macroname.endswith("rule"):
            assert rows[-1][0].strip() == ""  # a rule begins a line
        elif node.latex_verbatim() == "&":
            rows[-1].append("")
        else:
            rows[-1][-1] += node.latex_verbatim()
    assert [cell.strip() for cell in rows.pop()] == [""]
    return [[cell.strip() for cell in row] for row in rows]


def test_latex_parses_to_the_same_table(table1: pd.DataFrame) -> None:
    text = to_latex(table1, "Table 1: a heading")
    tabulars = parse(text)
    assert text.isascii()
    assert "booktabs,xcolor" in text.splitlines()[0]
    assert len(tabulars) == 4  # two metrics, two blocks
    for tabular in tabulars:
        specification = tabular.nodeargd.argnlist[-1].latex_verbatim()
        assert specification == "{lrr}"
        assert {len(row) for row in rows_of(tabular)} == {3}
    header, *body = rows_of(tabulars[0])
    assert header == ["", *SETTINGS]
    cells = {row[0]: row[1:] for row in body}
    assert list(cells) == [
        "ERM", "DRO", "KerHRM (network)", r"\emph{References}", "ref: Bayes pooled",
        r"\emph{Released code}", "KerHRM (released)",
    ]  # fmt: skip
    assert cells["ERM"][0] == (r"\shortstack{0.400 $\pm$ 0.001\\0.400 \textcolor{teal}{agrees}}")
    assert r"\textcolor{red}{failed: diverged at}" in cells["DRO"][1]
    assert cells["ref: Bayes pooled"] == ["0.479", "0.479"]
    labels = re.findall(r"\\label\{(.+?)\}", text)
    assert labels == ["tab:table1-1", "tab:table1-2", "tab:table1-others-1", "tab:table1-others-2"]
    assert text.count(r"\caption{Table 1: a heading") == 4
    assert text.count("a bound, not a result") == 2


def test_dashes_are_latexs(table1: pd.DataFrame) -> None:
    here = (table1["method"] == "ERM") & (table1["setting"] == "r2=0.80")
    first, *_ = parse(to_latex(table1[~here], "x"))
    assert rows_of(first)[1][2] == "--"


@pytest.mark.parametrize("character", list("&%$#_{}~^\\"))
def test_latex_escapes_what_it_must(table1: pd.DataFrame, character: str) -> None:
    odd = f"Q{character}Z"
    table1["setting"] = table1["setting"].replace("r2=0.70", odd)
    table1["reason"] = table1["reason"].mask(table1["verdict"] == "failed", odd)
    text = to_latex(table1, f"Heading {odd}")
    tabulars = parse(text)
    assert {len(row) for row in rows_of(tabulars[0])} == {3}
    found = re.findall("Q(.+?)Z", text)
    assert len(found) > len(tabulars) * 2
    assert all(len(escaped) > 1 and escaped[0] == "\\" for escaped in found)


def test_the_parser_refuses_what_latex_would(table1: pd.DataFrame) -> None:
    good = to_latex(table1, "x")
    parse(good)
    for spoilt in (
        good.replace(r"\end{tabular}", "", 1),
        good.replace("ERM &", "ER{M &", 1),
        good.replace(r"0.001\\0.400", r"0.001}\\0.400", 1),
        good.replace(r"$\pm$", r"$\pm", 1),
        good.replace(r"\end{tabular}", r"\end{table}", 1),
    ):
        assert spoilt != good
        with pytest.raises((LatexWalkerParseError, AssertionError)):
            parse(spoilt)


def test_every_metric_can_be_shown(table1: pd.DataFrame) -> None:
    for metric in CRITERIA:
        one = table1[table1["metric"] == "test_acc"].assign(metric=metric)
        assert len(list(markdown_tables(to_markdown(one, "x")))) == 2
