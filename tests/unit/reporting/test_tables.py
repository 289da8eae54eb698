"""The tables' contract, and the three forms they are written in."""

import io
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.scores import COLUMNS as SCORE_COLUMNS
from kerhrm.reporting.tables import (
    base_setting,
    build_table,
    is_headline,
    is_stand_in,
    layout,
    title,
    to_latex,
    to_markdown,
)

CONTRACT = "table,setting,method,metric,mean,std,n_seeds,ci_low,ci_high,paper,data_source,selection"
OWN, POOLED, ORACLE = "worst learned environment", "pooled validation", "oracle"
ROWS = [
    ("ERM", POOLED),
    ("KerHRM-s", OWN),
    ("KerHRM (NTF)", OWN),
    ("KerHRM (NTF)", ORACLE),  # before the last headline row, on purpose
    ("KerHRM (NTF)", POOLED),
    ("KerHRM (network)", OWN),
]
METRICS = ["train_acc", "test_acc"]
SEEDS = 4
PAPER = PaperValues(
    {("table1", s, m, metric): value
     for (s, value), m, metric in product([("r2=0.70", 0.724), ("r2=0.80", 0.693)],
                                          ["ERM", "KerHRM"], METRICS)}
)  # fmt: skip


def scores(settings: list[str], source: str = "synthetic", seeds: int = SEEDS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (setting, method, seed, metric, rng.uniform(0.4, 0.9), selection, source)
        for setting, (method, selection), metric, seed in product(
            settings, ROWS, METRICS, range(seeds)
        )
    ]
    return pd.DataFrame(rows, columns=SCORE_COLUMNS)


def table(
    settings: list[str], source: str = "synthetic", preset: str = "paper", seeds: int = SEEDS
) -> pd.DataFrame:
    return build_table(scores(settings, source, seeds), "table1", preset, PAPER, resamples=100)


@pytest.fixture
def table1() -> pd.DataFrame:
    return table(["r2=0.70", "r2=0.80"])


def test_columns_are_the_contract(table1: pd.DataFrame) -> None:
    text = table1.to_csv(index=False)
    assert text.splitlines()[0] == CONTRACT
    assert len(table1) == 2 * len(ROWS) * len(METRICS)
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(text)), table1, check_dtype=False)


def test_every_row_summarises_its_seeds(table1: pd.DataFrame) -> None:
    per_seed = scores(["r2=0.70", "r2=0.80"])
    keys = ["setting", "method", "metric", "selection"]
    for row in table1.to_dict("records"):
        here = (per_seed[keys] == [row[key] for key in keys]).all(axis=1)
        values = per_seed.loc[here, "value"].to_numpy()
        assert len(values) == row["n_seeds"] == SEEDS
        assert row["table"] == "table1"
        assert row["mean"] == pytest.approx(values.mean())
        assert row["std"] == pytest.approx(values.std(ddof=1))
        assert values.min() <= row["ci_low"] <= row["mean"] <= row["ci_high"] <= values.max()


def test_rows_keep_the_order_of_the_scores(table1: pd.DataFrame) -> None:
    found = list(zip(table1["setting"], table1["method"], table1["selection"], strict=True))
    expected = [(s, *row) for s in ("r2=0.70", "r2=0.80") for row in ROWS for _ in METRICS]
    assert found == expected


def test_the_papers_numbers_stand_beside_ours(table1: pd.DataFrame) -> None:
    cells = table1.set_index(["setting", "method", "metric", "selection"])["paper"]
    assert cells["r2=0.70", "KerHRM (NTF)", "test_acc", OWN] == 0.724
    assert cells["r2=0.80", "KerHRM (network)", "train_acc", OWN] == 0.693
    assert pd.isna(cells["r2=0.70", "KerHRM-s", "test_acc", OWN])  # not in this transcription


@pytest.mark.parametrize(
    ("preset", "source"),
    [("smoke", "synthetic"), ("paper", "stand-in:digits"), ("smoke", "stand-in:digits")],
)
def test_nothing_else_is_compared_with_the_paper(preset: str, source: str) -> None:
    found = table(["r2=0.70"], source, preset)
    assert found["paper"].isna().all()
    assert set(found["data_source"]) == {source}
    for text in (to_markdown(found, "x"), to_latex(found, "x")):
        assert "0.724" not in text


def test_a_marked_setting_is_compared_with_its_base() -> None:
    found = table(["r2=0.70,k=extended"])
    assert set(found["paper"].dropna()) == {0.724}
    assert set(found["setting"]) == {"r2=0.70,k=extended"}
    assert base_setting("r2=0.80,K=3") == "r2=0.80,K=3"
    # a yardstick is not the paper's setting
    assert table(["r2=0.70,colour=random"])["paper"].isna().all()


@pytest.mark.parametrize(
    ("source", "expected"),
    [("stand-in:digits", True), ("mnist", False), ("synthetic", False), ("no stand-in:", False)],
)
def test_stand_ins_are_known_by_name(source: str, expected: bool) -> None:
    assert is_stand_in(source) is expected


def test_titles_say_what_the_numbers_are_not() -> None:
    assert title("Table 1", "paper", ["synthetic"]) == "Table 1"
    smoke = title("Table 1", "smoke", ["synthetic"])
    assert smoke.startswith("Table 1 ")
    assert "preset smoke" in smoke
    assert "not for comparison" in smoke
    both = title("Table 4", "smoke", ["stand-in:digits", "mnist", "stand-in:digits"])
    assert "preset smoke" in both
    assert both.count("stand-in:digits") == 1
    assert "not the real data" in both
    assert "stand-in:digits" in title("Table 4", "paper", ["stand-in:digits"])


def test_the_own_rule_is_the_headline() -> None:
    assert is_headline("ERM", POOLED)
    assert not is_headline("ERM", OWN)
    for method in ("KerHRM-s", "KerHRM (NTF)", "KerHRM (network)"):
        assert is_headline(method, OWN)
        assert not is_headline(method, POOLED)
        assert not is_headline(method, ORACLE)


def test_oracles_come_last_and_are_called_so(table1: pd.DataFrame) -> None:
    assert list(layout(table1).index) == [
        "ERM",
        "KerHRM-s",
        "KerHRM (NTF)",
        "KerHRM (NTF), pooled validation",
        "KerHRM (network)",
        "KerHRM (NTF), oracle",
    ]


def test_missing_cells_are_dashes(table1: pd.DataFrame) -> None:
    here = (table1["method"] == "ERM") & (table1["setting"] == "r2=0.80")
    wide = layout(table1[~here])
    assert set(wide.loc["ERM", "r2=0.80"]) == {"–"}  # noqa: RUF001
    assert "–" not in "".join(wide.drop(index="ERM").to_numpy().ravel())  # noqa: RUF001
    assert list(wide.columns) == list(product(["r2=0.70", "r2=0.80"], ["train", "test"]))


def expected_cell(table: pd.DataFrame, method: str, rule: str, setting: str, metric: str) -> str:
    keys = ["method", "selection", "setting", "metric"]
    (row,) = table[(table[keys] == [method, rule, setting, metric]).all(axis=1)].to_dict("records")
    paper = "" if pd.isna(row["paper"]) else f" ({row['paper']:.3f})"
    return f"{row['mean']:.3f} ± {row['std']:.3f}{paper}"


def test_markdown_holds_every_number(table1: pd.DataFrame) -> None:
    text = to_markdown(table1, "Table 1: a heading")
    heading, *body = text.splitlines()
    assert heading == "### Table 1: a heading"
    lines = [line for line in body if line.startswith("|")]
    cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    header, rule, *rows = cells
    assert header == ["", "r2=0.70 train", "r2=0.70 test", "r2=0.80 train", "r2=0.80 test"]
    assert all(re.fullmatch(r":?-+:?", c) for c in rule)
    assert {len(row) for row in cells} == {5}
    assert len(rows) == len(ROWS)
    for name, *values in rows:
        method, _, selection = name.partition(", ")
        selection = selection or (OWN if method.startswith("KerHRM") else POOLED)
        for (setting, metric), value in zip(
            product(["r2=0.70", "r2=0.80"], METRICS), values, strict=True
        ):
            assert value == expected_cell(table1, method, selection, setting, metric)
    assert f"over {SEEDS} seeds" in text
    assert "a bound, not a result" in text
    assert "in brackets the paper's" in text


def test_unequal_numbers_of_seeds_are_told(table1: pd.DataFrame) -> None:
    table1.loc[0, "n_seeds"] = 10
    assert "over 4 or 10 seeds" in to_markdown(table1, "x")


class Latex:
    """As much of LaTeX as a booktabs table needs; refuses what would not compile."""

    SPECIAL = re.compile(r"(?<!\\)[#%_^~]")

    def __init__(self, text: str) -> None:
        self.text = text
        assert text.isascii()
        self.check_braces()
        self.check_environments()
        assert not self.SPECIAL.search(text), self.SPECIAL.search(text)
        assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0
        match = re.search(r"\\begin\{tabular\}\{(\w+)\}\n(.*)\\end\{tabular\}", text, re.DOTALL)
        assert match
        self.columns = match[1]
        self.head, self.body = self.between_rules(match[2])

    def check_braces(self) -> None:
        depth = 0
        for brace in re.findall(r"(?<!\\)[{}]", self.text):
            depth += 1 if brace == "{" else -1
            assert depth >= 0
        assert depth == 0

    def check_environments(self) -> None:
        stack = []
        for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", self.text):
            if kind == "begin":
                stack.append(name)
            else:
                assert stack.pop() == name
        assert not stack

    def between_rules(self, content: str) -> tuple[list[list[str]], list[list[str]]]:
        """Rows above and below ``midrule``, each as wide as the column specification."""
        parts = re.split(r"\\(toprule|midrule|bottomrule)\n", content)
        before, *rest, after = parts
        assert before.strip() == after.strip() == ""
        assert rest[::2] == ["toprule", "midrule", "bottomrule"]
        return self.rows(rest[1]), self.rows(rest[3])

    def rows(self, content: str) -> list[list[str]]:
        *lines, last = re.split(r"\\\\\n", content)
        assert last == ""
        rows = []
        for line in lines:
            cells: list[str] = []
            for cell in re.split(r"(?<!\\)&", line):
                span = re.fullmatch(r"\\multicolumn\{(\d+)\}\{c\}\{(.*)\}", cell.strip())
                cells += [span[2]] * int(span[1]) if span else [cell.strip()]
            assert len(cells) == len(self.columns)
            rows.append(cells)
        return rows


def test_latex_compiles_to_the_same_table(table1: pd.DataFrame) -> None:
    here = (table1["method"] == "ERM") & (table1["setting"] == "r2=0.80")
    table1 = table1[~here]
    parsed = Latex(to_latex(table1, "Table 1: a heading"))
    assert parsed.columns == "lrrrr"
    assert parsed.head == [
        ["", "r2=0.70", "r2=0.70", "r2=0.80", "r2=0.80"],
        ["", "train", "test", "train", "test"],
    ]
    wide = layout(table1)
    names, *_ = zip(*parsed.body, strict=True)
    assert list(names) == list(wide.index)
    for (_, *cells), expected in zip(parsed.body, wide.to_numpy(), strict=True):
        shown = [c.replace(r"$\pm$", "±").replace("--", "–") for c in cells]  # noqa: RUF001
        assert shown == list(expected)
    assert r"\caption{Table 1: a heading. Cells: mean $\pm$ standard" in parsed.text
    assert r"\label{tab:table1}" in parsed.text
    assert "a bound, not a result" in parsed.text


@pytest.mark.parametrize("character", list("&%$#_{}~^\\"))
def test_latex_escapes_what_it_must(table1: pd.DataFrame, character: str) -> None:
    odd = f"Q{character}Z"
    table1["setting"] = table1["setting"].replace("r2=0.70", odd)
    table1["method"] = table1["method"].replace("ERM", odd)
    table1["selection"] = table1["selection"].replace(ORACLE, odd)
    parsed = Latex(to_latex(table1, f"Heading {odd}"))
    for text in (parsed.head[0][1], parsed.body[0][0], parsed.text.partition("caption")[2]):
        found = re.findall("Q(.+?)Z", text)
        assert found
        assert all(len(escaped) > 1 and escaped[0] == "\\" for escaped in found)


def test_the_parser_refuses_what_latex_would(table1: pd.DataFrame) -> None:
    good = to_latex(table1, "x")
    Latex(good)
    for spoilt in (
        good.replace("ERM &", "ERM"),
        good.replace("ERM &", "ER_M &"),
        good.replace("ERM &", "ER%M &"),
        good.replace("ERM &", "ER{M &"),
        good.replace("\\midrule\n", ""),
        good.replace("\\end{tabular}\n", ""),
        good.replace("$\\pm$", "±"),
        good.replace("{lrrrr}", "{lrrr}"),
        good.replace("\\pm$", "\\pm", 1),
    ):
        assert spoilt != good
        with pytest.raises(AssertionError):
            Latex(spoilt)


def test_the_scores_file_is_enough(tmp_path: Path) -> None:
    scores(["r2=0.70"]).to_csv(tmp_path / "scores.csv", index=False)
    read = pd.read_csv(tmp_path / "scores.csv")
    again = build_table(read, "table1", "paper", PAPER, resamples=100)
    pd.testing.assert_frame_equal(again, table(["r2=0.70"]))
