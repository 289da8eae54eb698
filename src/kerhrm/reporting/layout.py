"""The tables as Markdown: one block per metric, settings as columns.

:mod:`kerhrm.reporting.latex` writes them as LaTeX.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from kerhrm.methods.registry import ORACLE, is_headline, position
from kerhrm.reporting.tables import UNNAMED, has_key, headline, metric_name, metrics_of
from kerhrm.scoring.verdicts import CRITERIA

MISSING = "\u2013"  # en dash
#: settings side by side
COLUMNS = 6
#: a smaller standard deviation is rounding
SAME = 1e-12
#: what stands above the rows of a track
GROUPS = {"described": "", "reference": "References", "released": "Released code"}
#: by outcome, a square for the eye; the word always stands beside it
SYMBOLS = {
    "agrees": "\U0001f7e9",  # green
    "differs (good)": "\U0001f7e6",  # blue
    "differs (bad)": "\U0001f7e7",  # orange
    "differs": "\U0001f7ea",  # violet
    "undecided": "\U0001f7e8",  # yellow
    "not comparable": "\u2b1c",  # white
    "failed": "\U0001f7e5",  # red
}
OTHER_RULES = "Other selection rules"
ORACLE_NOTE = (
    f"Rows marked *{ORACLE}* pick hyper-parameters on the test set: a bound, not a result."
)
Render = Callable[[Mapping[Any, Any]], str]


def layout(table: pd.DataFrame, render: Render) -> pd.DataFrame:
    """Texts of the cells of one metric, methods as rows and settings as columns.

    ``render`` makes a cell's text of its columns.  The index has the levels ``track`` and
    ``row``, in the order of :func:`kerhrm.methods.registry.position`, oracles last.
    """
    chosen = list(zip(table["method"], table["selection"], strict=True))
    frame = table.assign(
        row=[m if is_headline(m, s) else f"{m}, {s}" for m, s in chosen],
        place=[(s == ORACLE, position(m), s) for m, s in chosen],
        text=[render(cell) for cell in table.to_dict("records")],
    )
    wide = frame.pivot(index=["track", "row"], columns="setting", values="text").fillna(MISSING)
    rows = frame.drop_duplicates(["track", "row"]).sort_values("place")[["track", "row"]]
    return wide.loc[pd.MultiIndex.from_frame(rows), list(dict.fromkeys(table["setting"]))]


def blocks(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Cells by metric, and for many settings by part of :data:`COLUMNS`, a page's width."""
    for metric in metrics_of(table):
        cells = table[table["metric"] == metric]
        settings = list(dict.fromkeys(cells["setting"]))
        for first in range(0, len(settings), COLUMNS):
            yield metric, cells[cells["setting"].isin(settings[first : first + COLUMNS])]


def to_markdown(table: pd.DataFrame, heading: str) -> str:
    """A Markdown section: heading, a table per metric, legend, and the other rules' rows."""
    own = headline(table)
    others = table.drop(index=own.index)
    parts = [f"### {heading}", *_markdown_blocks(own, _markdown_cell), legend(own, SYMBOLS)]
    if len(others):
        parts.append(f"<details>\n<summary>{OTHER_RULES}</summary>")
        parts += _markdown_blocks(others, _plain)
        parts += [f"{cells_are(others)} {ORACLE_NOTE}", "</details>"]
    return "\n\n".join(parts) + "\n"


def excerpt(table: pd.DataFrame, heading: str) -> str:
    """The beginning of :func:`to_markdown`: the first block of cells, and the legend."""
    own = headline(table)
    first = next(_markdown_blocks(own, _markdown_cell))
    return "\n\n".join([f"### {heading}", first, legend(own, SYMBOLS)]) + "\n"


def outcome(verdict: str, direction: str) -> str:
    """A verdict without the way in which ours differs, and with whether that is good."""
    return verdict.partition(":")[0] + (f" ({direction})" if direction else "")


def outcomes(table: pd.DataFrame) -> list[str]:
    """Outcome of every cell, "" without a verdict."""
    return list(map(outcome, table["verdict"], table["direction"]))


def legend(table: pd.DataFrame, symbols: Mapping[str, str], where: str = "") -> str:
    """What stands in the cells of headline rows, and by which rule a verdict was given.

    ``where`` says it of the paper's number and the verdict; by itself they stand below ours.
    """
    sentences = [cells_are(table)]
    compared = table[table["paper"].notna()]
    if len(compared):
        found = set(outcomes(table))
        names = [f"{symbols.get(name, '')} {name}".strip() for name in SYMBOLS if name in found]
        margins = "; ".join(
            f"{metric_name(m).partition(' (')[0]}: {_margin(m)}" for m in metrics_of(compared)
        )
        sentences += [
            where
            or "Below: the paper's number and the verdict, which code alone gives "
            f"({', '.join(names)}).",
            f"Agrees: the means are closer than a margin ({margins}), by two one-sided t tests at "
            "5 %. Higher, lower: they differ, by a t test at 5 % after Holm's correction over the "
            "table. Undecided: neither. Higher test accuracies, gaps closer to zero and lower "
            "errors are good; training accuracy has no good direction. More: docs/verdicts.md.",
        ]
        if any(has_key(setting, UNNAMED) for setting in compared["setting"]):
            sentences.append(
                "The paper does not say which H its numbers belong to; both are compared with them."
            )
    return " ".join(sentences)


def cells_are(table: pd.DataFrame) -> str:
    """The first sentence of a legend."""
    seeds = sorted(set(table["n_seeds"]) - {1})
    if not seeds:
        return "Cells: the value of a single seed."
    counts = " or ".join(map(str, seeds))
    varies = table.loc[table["verdict"] != "failed", "std"] > SAME
    single = "" if varies.all() else "; without ± a single value or the same in every seed"
    return f"Cells: mean ± standard deviation (ddof = 1) over {counts} seeds{single}."


def _margin(metric: str) -> str:
    criterion = CRITERIA[metric]
    if criterion.relative:
        return f"{100 * criterion.tolerance:g} % of the paper's"
    return f"{criterion.tolerance:g}"


def _verdict(cell: Mapping[Any, Any]) -> tuple[str, str]:
    """A verdict in few words, and the key of its looks."""
    words = outcome(cell["verdict"].partition(": ")[2] or cell["verdict"], cell["direction"])
    return words, outcome(cell["verdict"], cell["direction"])


def mean_and_spread(cell: Mapping[Any, Any]) -> str:
    """A cell's number, and the standard deviation where there is one."""
    spread = f" ± {cell['std']:.3f}" if cell["std"] > SAME else ""
    return f"{cell['mean']:.3f}{spread}"


def _plain(cell: Mapping[Any, Any]) -> str:
    if cell["verdict"] == "failed":
        return f"failed: {cell['reason']}"
    return mean_and_spread(cell)


def _lines(cell: Mapping[Any, Any]) -> list[str]:
    """Ours, and below it the paper's number where there is one."""
    return [_plain(cell)] if pd.isna(cell["paper"]) else [_plain(cell), f"{cell['paper']:.3f}"]


def _markdown_cell(cell: Mapping[Any, Any]) -> str:
    lines = _lines(cell)
    if cell["verdict"] == "failed":
        lines[0] = f"{SYMBOLS['failed']} {lines[0]}"
    elif len(lines) > 1:
        words, key = _verdict(cell)
        lines[1] += f" {SYMBOLS[key]} {words}"
    return "<br>".join(line.replace("|", r"\|") for line in lines)


def _with_group_rows(wide: pd.DataFrame, mark: Callable[[str], str]) -> pd.DataFrame:
    """The rows of :func:`layout` under one index, each track's below its name."""
    parts = []
    for track, rows in wide.groupby(level="track", sort=False):
        if GROUPS[track]:
            parts.append(pd.DataFrame("", index=[mark(GROUPS[track])], columns=wide.columns))
        parts.append(rows.droplevel("track"))
    return pd.concat(parts).rename_axis(index=None, columns=None)


def _markdown_blocks(table: pd.DataFrame, render: Render) -> Iterator[str]:
    for metric, cells in blocks(table):
        wide = _with_group_rows(layout(cells, render), "*{}*".format)
        name = metric_name(metric)
        yield f"**{name[0].upper()}{name[1:]}**\n\n{wide.to_markdown()}"
