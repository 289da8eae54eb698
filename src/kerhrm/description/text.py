"""A description as lines of text, and as HTML."""

import html
from typing import TYPE_CHECKING

import pandas as pd

from kerhrm.description.memberships import bars
from kerhrm.tables.wording import escaped

if TYPE_CHECKING:
    from kerhrm.description.result import Description

MOST_COLUMNS = 5  #: whose smallest changes are shown
NAME = 24  #: characters of a column's name
ROW = 16  #: characters of a row's label
NARROW = "95 % intervals, too narrow: the same rows made the split"
SLOPES = f"slopes that differ most, and the level at their means ({NARROW})"
CHANGES = "smallest difference of a slope that would be seen in 80 % of such tables"
#: headings of :attr:`Description.smallest_changes`
CHANGES_BY = {
    "sd": "sd of the column",
    "known": "if environments were known",
    "hidden": "hidden, as here",
}


def lines(description: "Description") -> list[str]:
    """Lines for a terminal, some forty at most."""
    d = description
    found = [d.verdict]
    if d.mark:
        found += [
            "",
            f"Most likely split, {d.mark}" if d.split == "mixture" else d.mark,
        ]
    if d.environments is not None:
        found += ["", *table_of(d).to_string().splitlines()]
    if d.slopes is not None:
        found += ["", SLOPES, *slopes_of(d.slopes).to_string().splitlines()]
    if d.tree is not None:
        found += ["", told_apart(d), *(f"  {escaped(rule)}" for rule in d.tree.rules)]
    if d.stability is not None:
        found += ["", f"stability: {d.stability}"]
    found += ["", CHANGES, *changes_of(d).to_string().splitlines()]
    return [*found, *(["", *d.notes] if d.notes else [])]


def to_html(description: "Description") -> str:
    """Tables and lines; names from the data are escaped."""
    d = description
    parts = [f"<p><b>{html.escape(d.verdict)}</b></p>"]
    if d.mark:
        parts.append(f"<p>{html.escape(d.mark)}</p>")
    if d.environments is not None:
        parts.append(table_of(d).to_html(border=0))
    if d.slopes is not None:
        parts += [f"<p>{SLOPES}</p>", slopes_of(d.slopes).to_html(border=0)]
    if d.tree is not None:
        rules = "".join(f"<li>{html.escape(rule)}</li>" for rule in d.tree.rules)
        parts.append(f"<p>{html.escape(told_apart(d))}</p><ul>{rules}</ul>")
    if d.stability is not None:
        parts.append(f"<p>stability: {html.escape(str(d.stability))}</p>")
    parts += [f"<p>{CHANGES}</p>", changes_of(d).to_html(border=0)]
    parts += [f"<p>{html.escape(note)}</p>" for note in d.notes]
    return "".join(parts)


def table_of(description: "Description") -> pd.DataFrame:
    """Environments with their bars and most certain rows, as text."""
    d = description
    assert d.environments is not None
    assert d.rootogram is not None
    assert d.certain is not None
    certain = d.certain.groupby("environment")["row"]
    rows = {
        name: ", ".join(escaped(str(label))[:ROW] for label in labels)
        for name, labels in certain
    }
    names = d.environments.index
    n_rows = d.environments["rows"].sum()
    return pd.DataFrame(
        {
            "rows": [f"{n} ({n / n_rows:.0%})" for n in d.environments["rows"]],
            "membership": [f"{share:.0%}" for share in d.environments["share"]],
            "sd of noise": [f"{noise:.3g}" for noise in d.environments["noise"]],
            "memberships 0 to 1": [f"|{bars(d.rootogram[name])}|" for name in names],
            "most certain rows": [rows.get(name, "") for name in names],
        },
        names,
    )


def slopes_of(slopes: pd.DataFrame) -> pd.DataFrame:
    """A row for each column, a cell for each environment, as text."""
    shown = slopes.assign(
        text=[
            f"{b:.3g} [{low:.3g}, {high:.3g}]"
            for b, low, high in zip(
                slopes["coefficient"], slopes["low"], slopes["high"], strict=True
            )
        ]
    )
    wide = shown.pivot(index="column", columns="environment", values="text")
    wide = wide.loc[list(dict.fromkeys(shown["column"]))]
    wide.index = pd.Index([shortened(name) for name in wide.index])
    return wide.rename_axis(columns=None)


def told_apart(description: "Description") -> str:
    """How well the columns tell the environments apart."""
    tree = description.tree
    assert tree is not None
    rates = f"rules name the right one for {tree.accuracy:.0%} of rows left out"
    rates += f", and the larger one is right for {tree.majority:.0%}"
    if tree.says_more:
        return f"the columns tell them apart: {rates}"
    return f"the columns hardly tell them apart: {rates}"


def changes_of(description: "Description") -> pd.DataFrame:
    """Smallest changes of the first columns, as text."""
    changes = description.smallest_changes.dropna(how="all", axis=1)
    if description.slopes is not None:
        first = [c for c in description.slopes["column"] if c in changes.index]
        others = [c for c in changes.index if c not in set(first)]
        changes = changes.loc[list(dict.fromkeys([*first, *others]))]
    shown = changes.iloc[:MOST_COLUMNS].rename(columns=CHANGES_BY)
    shown.index = pd.Index([shortened(name) for name in shown.index])
    return shown.map(lambda value: f"{value:.3g}")


def shortened(name: object) -> str:
    """A column's name as a line can hold it."""
    text = escaped(str(name))
    return text if len(text) <= NAME else f"{text[: NAME - 3]}..."
