"""A description as lines of text, and as HTML."""

import html
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kerhrm.tables.wording import escaped

if TYPE_CHECKING:
    from kerhrm.description.result import Description

MOST_COLUMNS = 5  #: whose smallest changes are shown
NAME = 24  #: characters of a column's name
ROW = 16  #: characters of a row's label
SURE = 0.9  #: membership from which on a row is called sure
DIGITS = 3  #: of numbers
#: numbers from and below which are written in full
IN_FULL = 1e-3, 1e7
NARROW = "95 % intervals, too narrow: the same rows made the split"
SLOPES = "slopes that differ most, and the level at their means"
CHANGES = "smallest difference of a slope that is seen in 80 % of such tables"
#: headings of :attr:`Description.smallest_changes`
SD, KNOWN = "sd of the column", "known environments"
#: hidden environments are those that were detected, else a fifth of the rows
AS_DETECTED, A_FIFTH = "hidden, as these", "a hidden fifth"


def lines(description: "Description") -> list[str]:
    """Lines for a terminal, some forty at most."""
    d = description
    found = [d.verdict]
    if d.limits:
        found += ["", "not excluded:", *(f"  {limit}" for limit in d.limits)]
    if d.mark:
        found += ["", split_line(d)]
    if d.environments is not None:
        found += ["", *table_of(d).to_string().splitlines()]
    if d.slopes is not None:
        heading = slopes_heading(d)
        found += ["", heading, *slopes_of(d).to_string().splitlines()]
    if d.tree is not None:
        found += ["", told_apart(d), *(f"  {escaped(rule)}" for rule in rules_of(d))]
    if d.stability is not None:
        found += ["", f"stability: {d.stability}"]
    if not d.detected:
        found += ["", CHANGES, *changes_of(d).to_string().splitlines()]
    return [*found, *(["", *d.notes] if d.notes else [])]


def to_html(description: "Description") -> str:
    """Tables and lines; names from the data are escaped."""
    d = description
    parts = [f"<p><b>{html.escape(d.verdict)}</b></p>"]
    if d.limits:
        limits = "".join(f"<li>{html.escape(limit)}</li>" for limit in d.limits)
        parts.append(f"<p>not excluded:</p><ul>{limits}</ul>")
    if d.mark:
        parts.append(f"<p>{html.escape(split_line(d))}</p>")
    if d.environments is not None:
        parts.append(table_of(d).to_html(border=0))
    if d.slopes is not None:
        heading = slopes_heading(d)
        parts += [f"<p>{heading}</p>", slopes_of(d).to_html(border=0)]
    if d.tree is not None:
        rules = "".join(f"<li>{html.escape(rule)}</li>" for rule in rules_of(d))
        parts.append(f"<p>{html.escape(told_apart(d))}</p><ul>{rules}</ul>")
    if d.stability is not None:
        parts.append(f"<p>stability: {html.escape(str(d.stability))}</p>")
    parts += [f"<p>{CHANGES}</p>", changes_of(d).to_html(border=0)]
    parts += [f"<p>{html.escape(note)}</p>" for note in d.notes]
    return "".join(parts)


def split_line(description: "Description") -> str:
    """What to think of the split."""
    mark = description.mark
    return f"most likely split, {mark}" if description.split == "mixture" else mark


def table_of(description: "Description") -> pd.DataFrame:
    """Environments, how sure their rows are, and the most certain ones, as text."""
    d = description
    assert d.environments is not None
    assert d.memberships is not None
    assert d.certain is not None
    certain = d.certain.groupby("environment")["row"]
    rows = {
        name: ", ".join(escaped(str(label))[:ROW] for label in labels)
        for name, labels in certain
    }
    names = d.environments.index
    sizes = d.environments["rows"]
    memberships = d.memberships.dropna()
    likeliest = memberships.idxmax(axis=1)
    sure = [(memberships.loc[likeliest == name, name] >= SURE).mean() for name in names]
    return pd.DataFrame(
        {
            "likeliest for": [f"{n} rows ({n / sizes.sum():.0%})" for n in sizes],
            "sure of them": [f"{share:.0%}" for share in sure],
            "sd of noise": [number(noise) for noise in d.environments["noise"]],
            "most certain rows, by index": [rows.get(name, "") for name in names],
        },
        names,
    )


def slopes_heading(description: "Description") -> str:
    """What the coefficients are; those of a split that may be noise have no
    intervals."""
    fitted = description.split == "fit"
    return f"{SLOPES} ({NARROW})" if fitted else SLOPES


def slopes_of(description: "Description") -> pd.DataFrame:
    """A row for each column, a cell for each environment, as text."""
    slopes = description.slopes
    assert slopes is not None
    cells = []
    for _, row in slopes.iterrows():
        text = number(row["coefficient"])
        if description.split == "fit":
            text += f" [{number(row['low'])}, {number(row['high'])}]"
        cells.append(text)
    shown = slopes.assign(text=cells)
    wide = shown.pivot(index="column", columns="environment", values="text")
    wide = wide.loc[list(dict.fromkeys(shown["column"]))]
    wide.index = pd.Index([shortened(name) for name in wide.index])
    return wide.rename_axis(columns=None)


def told_apart(description: "Description") -> str:
    """How well the columns tell the environments apart."""
    tree = description.tree
    assert tree is not None
    if not tree.says_more:
        return "no rule by two columns tells them apart"
    return (
        f"the columns tell them apart: rules name the right one for {tree.accuracy:.0%}"
        f" of rows left out, and the larger one is right for {tree.majority:.0%}"
    )


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
        others = [c for c in changes.index if c not in set(first)]
        changes = changes.loc[list(dict.fromkeys([*first, *others]))]
    fitted = description.detected and description.split == "fit"
    hidden = AS_DETECTED if fitted else A_FIFTH
    headings = {"sd": SD, "known": KNOWN, "hidden": hidden}
    shown = changes.iloc[:MOST_COLUMNS].rename(columns=headings)
    shown.index = pd.Index([shortened(name) for name in shown.index])
    return shown.map(number)


def shortened(name: object) -> str:
    """A column's name as a line can hold it."""
    text = escaped(str(name))
    if len(text) <= NAME:
        return text
    half = (NAME - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def number(value: float) -> str:
    """Three digits of a number, in full unless it is very small or large."""
    least, most = IN_FULL
    if not least <= abs(value) < most:
        return f"{value:.{DIGITS}g}"
    return np.format_float_positional(
        value, precision=DIGITS, unique=False, fractional=False, trim="-"
    )
