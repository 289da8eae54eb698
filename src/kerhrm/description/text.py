"""A description as lines of text, and as HTML."""

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from kerhrm.errors import escaped
from kerhrm.tables.wording import NONE, counted, number

if TYPE_CHECKING:
    from kerhrm.description.result import Description

MOST_COLUMNS = 5  #: whose smallest changes are shown
NAME = 24  #: characters of a column's name
ROW = 16  #: characters of a row's label
SHARE = "share of rows"  #: mean membership
CLEAR = "clear (90 % or more)"  #: share of an environment's rows that are
NARROW = "95 % intervals, too narrow: the same rows made the split"
SLOPES = "slopes that differ most, and the level at their means"
CHANGES = (
    "smallest difference of a slope that is seen in 80 % of such tables, if the level "
    "stays the same"
)
NO_CHANGES = (
    f"{CHANGES}: none can be told, for the rows are too few or no column varies"
)
#: headings of :attr:`Description.smallest_changes`
SD = "sd of the column"
SLOPE = "slope in all rows"
KNOWN = "if environments were noted"
#: the pre-test's power is known for a fifth of the rows, whatever was found
A_FIFTH = "in a hidden fifth"


def lines(description: "Description") -> list[str]:
    """Lines for a terminal, some forty at most."""
    d = description
    found = [d.verdict]
    if d.limits:
        limits = [f"  {limit}" for limit in d.limits]
        found += ["", "not excluded:", *limits]
    if d.mark:
        found += ["", split_line(d)]
    if d.stability is not None:
        found += ["", f"stability: {d.stability}"]
    if d.environments is not None:
        table = table_of(d)
        found += ["", *_table_lines(table)]
    if d.slopes is not None:
        table_of_slopes = slopes_of(d)
        found += ["", slopes_heading(d), *_table_lines(table_of_slopes)]
    if d.tree is not None:
        rules = [f"  {escaped(rule)}" for rule in rules_of(d)]
        found += ["", told_apart(d), *rules]
    if not d.detected:
        table_of_changes = changes_of(d)
        if _tells(table_of_changes):
            found += ["", changes_heading(d), *_table_lines(table_of_changes)]
        else:
            found += ["", NO_CHANGES]
    if d.notes:
        found += ["", *d.notes]
    return found


def _table_lines(table: pd.DataFrame) -> list[str]:
    return table.to_string().splitlines()


def to_html(description: "Description") -> str:
    """Tables and lines; names from the data are escaped."""
    d = description
    verdict = html.escape(d.verdict)
    parts = [f"<p><b>{verdict}</b></p>"]
    if d.limits:
        parts += [_paragraph("not excluded:"), _list(d.limits)]
    if d.mark:
        parts.append(_paragraph(split_line(d)))
    if d.stability is not None:
        parts.append(_paragraph(f"stability: {d.stability}"))
    if d.environments is not None:
        parts.append(_scrolling(table_of(d), "environment"))
    if d.slopes is not None:
        parts.append(_paragraph(slopes_heading(d)))
        parts.append(_scrolling(slopes_of(d), "column"))
    if d.tree is not None:
        parts += [_paragraph(told_apart(d)), _list(rules_of(d))]
    changes = changes_of(d)
    if _tells(changes):
        heading = _paragraph(changes_heading(d))
        parts += [heading, _scrolling(changes, "column")]
    else:
        parts.append(_paragraph(NO_CHANGES))
    for note in d.notes:
        parts.append(_paragraph(note))
    return "".join(parts)


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _scrolling(table: pd.DataFrame, rows: str) -> str:
    """A table that a narrow page scrolls by itself, and what its rows are."""
    named = table.rename_axis(index=None, columns=rows)
    return f"<div tabindex='0'>{named.to_html(border=0)}</div>"


def _list(texts: Sequence[str]) -> str:
    items = [f"<li>{html.escape(text)}</li>" for text in texts]
    return f"<ul>{''.join(items)}</ul>"


def split_line(description: "Description") -> str:
    """What to think of the split."""
    mark = description.mark
    if description.split == "mixture":
        return f"most likely split, {mark}"
    return mark


def table_of(description: "Description") -> pd.DataFrame:
    """Environments, how sure their rows are, and the most certain ones, as text."""
    d = description
    assert d.environments is not None
    assert d.certain is not None
    labels = d.certain["row"]
    texts = pd.Series(short_names(labels, ROW), labels.index)
    by_environment = texts.groupby(d.certain["environment"])
    certain = by_environment.agg(", ".join)
    names = d.environments.index
    total = d.environments["rows"].sum()
    lines = []
    for name, environment in d.environments.iterrows():
        size = int(environment["rows"])
        line = {
            SHARE: f"{environment['share']:.0%}",
            "likeliest for": f"{counted(size)} ({size / total:.0%})",
            CLEAR: f"{environment['clear']:.0%}" if size else NONE,
            "sd of noise": number(environment["noise"]),
            "most certain rows, by index": certain.get(name, ""),
        }
        lines.append(line)
    return pd.DataFrame(lines, names)


def slopes_heading(description: "Description") -> str:
    """What the coefficients are; those of a split that may be noise have no
    intervals."""
    heading = f"{SLOPES}{in_shares(description)}"
    if description.split == "fit":
        heading += f" ({NARROW})"
    return heading


def changes_heading(description: "Description") -> str:
    """What the smallest changes are."""
    return f"{CHANGES}{in_shares(description)}"


def in_shares(description: "Description") -> str:
    """The unit of slopes of a target of labels, which a reader has to know for their
    sign; nothing of numbers."""
    if description.label is None:
        return ""
    return f", in shares of label {shortened(description.label, ROW)}"


def slopes_of(description: "Description") -> pd.DataFrame:
    """A row for each column, a cell for each environment, as text."""
    slopes = description.slopes
    assert slopes is not None
    cells = []
    for _, row in slopes.iterrows():
        text = number(row["coefficient"])
        low = number(row["low"])
        high = number(row["high"])
        is_exact = low == high
        if description.split == "fit" and text != NONE and not is_exact:
            text += f" [{low}, {high}]"
        cells.append(text)
    shown = slopes.assign(text=cells)
    wide = shown.pivot(index="column", columns="environment", values="text")
    in_order = dict.fromkeys(shown["column"])
    wide = wide.loc[list(in_order)]
    wide.index = pd.Index(short_names(wide.index))
    return wide.rename_axis(columns=None)


def told_apart(description: "Description") -> str:
    """How well the columns tell the environments apart."""
    tree = description.tree
    assert tree is not None
    if not tree.says_more:
        return "no rule by two columns tells them apart"
    rules = f"rules name the right one for {tree.accuracy:.0%} of rows left out"
    majority = f"the larger one is right for {tree.majority:.0%}"
    return f"the columns tell them apart: {rules}, and {majority}"


def rules_of(description: "Description") -> tuple[str, ...]:
    """Rules, if they say more than the larger environment does."""
    tree = description.tree
    assert tree is not None
    return tree.rules if tree.says_more else ()


def changes_of(description: "Description") -> pd.DataFrame:
    """Smallest changes of the first columns, as text."""
    changes = description.smallest_changes.dropna(how="all", axis=1)
    if description.slopes is not None:
        first = [c for c in description.slopes["column"] if c in changes.index]
        in_order = dict.fromkeys([*first, *changes.index])
        changes = changes.loc[list(in_order)]
    headings = {"sd": SD, "slope": SLOPE, "known": KNOWN, "hidden": A_FIFTH}
    first_columns = changes.iloc[:MOST_COLUMNS]
    shown = first_columns.rename(columns=headings)
    shown.index = pd.Index(short_names(shown.index))
    return shown.map(number)


def _tells(changes: pd.DataFrame) -> bool:
    """Whether a table of smallest changes holds any."""
    return not {KNOWN, A_FIFTH}.isdisjoint(changes.columns)


def short_names(names: Iterable[object], length: int = NAME) -> list[str]:
    """Names of columns, or labels of rows, as lines can hold them; those that would be
    alike in full."""
    names = list(names)
    short = [shortened(name, length) for name in names]
    counts = Counter(short)
    return [
        text if counts[text] == 1 else escaped(str(name))
        for name, text in zip(names, short, strict=True)
    ]


def shortened(name: object, length: int = NAME) -> str:
    """A name or label as a line can hold it."""
    text = escaped(str(name))
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[:half]}...{text[-half:]}"
