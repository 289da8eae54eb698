"""Numbers in hand-written pages are those of the published tables.

A comment at the end of a line names, in order, the cell of every decimal number before
it::

    Table 1 has .77, ERM .37. <!-- table1 test_acc: KerHRM; ERM -->

An item is ``METHOD[.COLUMN] [[SELECTION]] [@SETTING]``: the mean over the settings
unless one is named, the method's own selection criterion, column ``mean``; ``min`` and
``max`` are taken over the settings, ``skip`` is a number from elsewhere.
"""

import functools
import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ROOT / "results" / "reference" / "tables", ROOT / "results" / "study"
COMMENT = re.compile(r"<!-- (?P<table>[\w/-]+) (?P<metric>\w+): (?P<items>.+?) -->")
NUMBER = re.compile(r"(?<![\w.])[-\N{MINUS SIGN}]?\d*\.\d+(?!\w|\.\d)")
ITEM = re.compile(
    r"(?P<method>.+?)(\.(?P<column>paper|std|min|max|(exact_)?(low|high)|base"
    r"|lowest|highest))?"
    r"( \[(?P<selection>[^]]+)\])?( @(?P<setting>.+))?"
)


#: what names files: hand-written pages, settings and code, but not its tests
NAMING = ("*.md", "docs/*.md", "profiles/*/*", "config/**/*.yaml", "Makefile")
NAMING += ("workflow/**/*", "src/**/*.py", "envs/*", "Snakefile", "pyproject.toml")
FILE = re.compile(
    r"(?<![\w/.{}])(?:docs|config|src|tests|workflow|profiles|envs|studies)/"
    r"[\w./-]*\w\.(?:md|py|pyi|yaml|smk|sh|toml)\b"
)


def lines() -> list[tuple[str, str, re.Match[str]]]:
    """Page, text before the comment, and comment."""
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for line in page.read_text().splitlines():
            start = 0
            for comment in COMMENT.finditer(line):
                found.append((page.name, line[start : comment.start()], comment))
                start = comment.end()
    return found


@functools.cache
def read(path: Path) -> pd.DataFrame:
    """A table; it is named by many comments."""
    return pd.read_csv(path)


def value(table: str, metric: str, item: str) -> float:
    """Number that an item names."""
    part = ITEM.fullmatch(item)
    assert part is not None, item
    if table == "endpoints":  # METHOD[.[exact_]low|.[exact_]high] @TABLE[,PART]; or
        # METHOD.lowest, METHOD.highest: means of a band
        rows = read(ROOT / "results/reference/endpoints.csv")
        of_table, _, of_part = part["setting"].partition(",")
        (row,) = rows[
            (rows["method"] == part["method"])
            & (rows["table"] == of_table)
            & (rows["part"].fillna("") == of_part)
        ].index
        exact, _, end = (part["column"] or "").rpartition("_")
        column = f"ci_{end}_{exact}".removesuffix("_") if end else metric
        if end in ("lowest", "highest"):
            column = end
        return float(rows.loc[row, column])
    if table.startswith("choices"):  # METHOD[.base|.low|.high] @ALTERNATIVE, the
        # limits those of the difference; on synthetic data if no other is named
        data = table.removeprefix("choices").removeprefix("_")
        of_data = [data] if data else ["classification", "regression"]
        rows = read(ROOT / "results/reference/choices.csv")
        rows = rows[rows["data"].isin(of_data) & (rows["metric"] == metric)]
        rows = rows[
            (rows["method"] == part["method"])
            & (rows["alternative"] == part["setting"])
        ]
        column = part["column"] or "changed"
        if column in ("low", "high"):
            column = f"ci_{column}"
        return float(rows[column].item())
    rows = read(
        next(f for f in FOLDERS if (f / f"{table}.csv").exists()) / f"{table}.csv"
    )
    rows = rows[(rows.metric == metric) & (rows.method == part["method"])]
    if part["setting"]:
        rows = rows[rows.setting == part["setting"]]
    own = rows.selection.iloc[0] if len(rows) else None
    rows = rows[rows.selection == (part["selection"] or own)]
    assert len(rows), f"{table} has no cell {item!r}"
    if part["column"] in ("min", "max"):
        return float(rows["mean"].agg(part["column"]))
    column = part["column"] or "mean"
    if column not in rows:
        column = f"ci_{column}"
    return float(rows[column].mean())


@pytest.mark.parametrize(
    ("page", "text", "comment"), lines(), ids=lambda x: x if isinstance(x, str) else ""
)
def test_numbers_are_those_of_the_tables(
    page: str, text: str, comment: re.Match[str]
) -> None:
    numbers = NUMBER.findall(text)
    items = comment["items"].split("; ")
    assert len(numbers) == len(items), f"{page}: {numbers} against {items}"
    for number, item in zip(numbers, items, strict=True):
        if item != "skip":
            digits = len(number.split(".")[1])
            in_table = value(comment["table"], comment["metric"], item)
            shown = round(in_table, digits)
            expected = float(number.replace("\N{MINUS SIGN}", "-"))
            assert shown == pytest.approx(expected), f"{page}: {item} is {shown}"


def test_files_that_a_text_names_are_there() -> None:
    """But those whose name has a word in capitals, which stands for any."""
    named = set()
    for pattern in NAMING:
        for path in ROOT.glob(pattern):
            if path.name != "CHANGELOG.md" and path.is_file():
                names = FILE.findall(path.read_text("utf-8", "ignore"))
                named |= {(str(path.relative_to(ROOT)), name) for name in names}
    assert len(named) > 50
    for path, name in named:
        stands_for_any = re.search(r"\b[A-Z]{3,}\b", name)
        assert stands_for_any or (ROOT / name).exists(), f"{path} names {name}"
