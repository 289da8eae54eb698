"""The tables as Markdown and LaTeX: one block per metric, settings as columns."""

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from kerhrm.reporting.methods import ORACLE, is_headline, position
from kerhrm.reporting.tables import METRIC_NAMES, base_setting, headline, is_marked
from kerhrm.reporting.verdicts import CRITERIA

MISSING = "\u2013"  # en dash
#: settings side by side, and characters of a failure's reason in a LaTeX cell
COLUMNS, CHARACTERS = 6, 22
#: a smaller standard deviation is rounding
SAME = 1e-12
#: what stands above the rows of a track
GROUPS = {"described": "", "reference": "References", "released": "Released code"}
#: a symbol for the eye; the word always stands beside it
SYMBOLS = {
    "reproduced": "\U0001f7e9",  # squares: green, blue, orange, white, red
    "better": "\U0001f7e6",
    "worse": "\U0001f7e7",
    "not comparable": "\u2b1c",
    "failed": "\U0001f7e5",
}
#: names of the package xcolor
COLOURS = {
    "reproduced": "teal",
    "better": "blue",
    "worse": "orange",
    "not comparable": "gray",
    "failed": "red",
}
OTHER_RULES = "Other selection rules"
ORACLE_NOTE = (
    f"Rows marked *{ORACLE}* pick hyper-parameters on the test set: a bound, not a result."
)
#: what LaTeX would misread in running text; asterisks are Markdown's
LATEX = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", MISSING: "--", "*": "", "|": "$|$", "<": "$<$", ">": "$>$"}
)

Render = Callable[[Mapping[Any, Any]], str]


def layout(table: pd.DataFrame, render: Render) -> pd.DataFrame:
    """Cells of one metric, methods as rows and settings as columns.

    Parameters
    ----------
    table : DataFrame
        Cells of :func:`kerhrm.reporting.tables.build_table`, all of one metric.
    render : callable
        From a cell, a mapping by column name, to its text.

    Returns
    -------
    DataFrame
        Texts; the index has the levels ``group``, a key of :data:`GROUPS`, and ``row``.
        Rows by :func:`kerhrm.reporting.methods.position`, oracles last.
    """
    frame = table.assign(
        group=table["track"],
        row=[_row_name(m, s) for m, s in zip(table["method"], table["selection"], strict=True)],
        text=[render(cell) for cell in table.to_dict("records")],
    )
    wide = frame.pivot(index=["group", "row"], columns="setting", values="text").fillna(MISSING)
    rows = frame.drop_duplicates(["group", "row"])
    order = sorted(
        rows[["selection", "method", "group", "row"]].itertuples(index=False),
        key=lambda row: (row.selection == ORACLE, position(row.method), row.selection),
    )
    return wide.loc[[(r.group, r.row) for r in order], list(dict.fromkeys(table["setting"]))]


def blocks(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Cells by metric, and for many settings by part, each no wider than a page.

    Parts end after :data:`COLUMNS` settings, marked ones apart from the paper's.
    """
    for metric in METRIC_NAMES:
        cells = table[table["metric"] == metric]
        settings = list(dict.fromkeys(cells["setting"]))
        if len(settings) > COLUMNS:
            settings.sort(key=is_marked)
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
        parts += [f"{_cells_are(others)} {ORACLE_NOTE}", "</details>"]
    return "\n\n".join(parts) + "\n"


def to_latex(table: pd.DataFrame, heading: str) -> str:
    """A table environment per metric; needs the packages booktabs and xcolor."""
    own = headline(table)
    others = table.drop(index=own.index)
    name = f"tab:{table['table'].iloc[0]}"
    parts = ["% needs \\usepackage{booktabs,xcolor}"]
    for number, (metric, cells) in enumerate(blocks(own), 1):
        caption = f"{heading}: {METRIC_NAMES[metric]}. {legend(cells, {})}"
        parts.append(_latex_block(cells, _latex_cell, caption, f"{name}-{number}"))
    for number, (metric, cells) in enumerate(blocks(others), 1):
        caption = f"{heading}, {OTHER_RULES.lower()}: {METRIC_NAMES[metric]}. {_cells_are(cells)}"
        caption += f" {ORACLE_NOTE}"
        parts.append(_latex_block(cells, _latex_plain, caption, f"{name}-others-{number}"))
    return "\n".join(parts)


def legend(table: pd.DataFrame, symbols: Mapping[str, str]) -> str:
    """What stands in the cells of headline rows, and by which rule a verdict was given."""
    sentences = [_cells_are(table)]
    compared = table[table["paper"].notna()]
    if len(compared):
        names = [f"{symbols.get(v, '')} {v}".strip() for v in COLOURS if v in set(table["verdict"])]
        judged = [m for m in METRIC_NAMES if m in set(compared["metric"])]
        margins = "; ".join(f"{METRIC_NAMES[m].partition(' (')[0]}: {_margin(m)}" for m in judged)
        sentences += [
            "Below: the paper's number and the verdict, which code alone gives "
            f"({', '.join(names)}).",
            "Reproduced: the paper's number lies in the 95 % bootstrap interval of our mean, or "
            f"differs from our mean by at most a tolerance ({margins}).",
            "Otherwise higher accuracies, gaps closer to zero and lower errors are better.",
        ]
        settings = set(compared["setting"])
        if any(base_setting(s) != s and not is_marked(s) for s in settings):
            sentences.append(
                "The paper does not say which H its numbers belong to; both are compared with them."
            )
    return " ".join(sentences)


def _cells_are(table: pd.DataFrame) -> str:
    seeds = sorted(set(table["n_seeds"]) - {1})
    if not seeds:
        return "Cells: the value of a single seed."
    counts = " or ".join(map(str, seeds))
    constant = any(not _varies(s) for s in table.loc[table["verdict"] != "failed", "std"])
    single = "; without ± a single value or the same in every seed" if constant else ""
    return f"Cells: mean ± standard deviation (ddof = 1) over {counts} seeds{single}."


def _varies(std: float) -> bool:
    return not pd.isna(std) and std > SAME


def _margin(metric: str) -> str:
    criterion = CRITERIA[metric]
    if criterion.relative:
        return f"{100 * criterion.tolerance:g} % of the paper's"
    return f"{criterion.tolerance:g}"


def _row_name(method: str, selection: str) -> str:
    return method if is_headline(method, selection) else f"{method}, {selection}"


def _plain(cell: Mapping[Any, Any]) -> str:
    if cell["verdict"] == "failed":
        return f"failed: {cell['reason']}"
    spread = f" ± {cell['std']:.3f}" if _varies(cell["std"]) else ""
    return f"{cell['mean']:.3f}{spread}"


def _lines(cell: Mapping[Any, Any]) -> list[str]:
    """Ours, and below it the paper's number where there is one."""
    return [_plain(cell)] if pd.isna(cell["paper"]) else [_plain(cell), f"{cell['paper']:.3f}"]


def _markdown_cell(cell: Mapping[Any, Any]) -> str:
    lines = _lines(cell)
    if cell["verdict"] == "failed":
        lines[0] = f"{SYMBOLS['failed']} {lines[0]}"
    elif len(lines) > 1:
        lines[1] += f" {SYMBOLS[cell['verdict']]} {cell['verdict']}"
    return "<br>".join(line.replace("|", r"\|") for line in lines)


def _latex_cell(cell: Mapping[Any, Any]) -> str:
    colour = COLOURS.get(cell["verdict"])
    ours, *papers = map(_escape, _lines(cell))
    if cell["verdict"] == "failed":
        reason = map(_escape, textwrap.wrap(_plain(cell), CHARACTERS))
        lines = [rf"\textcolor{{{colour}}}{{{line}}}" for line in reason] + papers
    else:
        lines = [ours] + [rf"{p} \textcolor{{{colour}}}{{{cell['verdict']}}}" for p in papers]
    return _stack(lines)


def _latex_plain(cell: Mapping[Any, Any]) -> str:
    return _stack([_escape(line) for line in textwrap.wrap(_plain(cell), CHARACTERS)])


def _stack(lines: list[str]) -> str:
    return lines[0] if len(lines) == 1 else "\\shortstack{" + "\\\\".join(lines) + "}"


def _with_group_rows(wide: pd.DataFrame, mark: Callable[[str], str]) -> pd.DataFrame:
    """The rows of :func:`layout` under one index, below each group's name a group's rows."""
    parts = []
    for group, rows in wide.groupby(level="group", sort=False):
        if GROUPS[group]:
            parts.append(pd.DataFrame("", index=[mark(GROUPS[group])], columns=wide.columns))
        parts.append(rows.droplevel("group"))
    return pd.concat(parts).rename_axis(index=None, columns=None)


def _markdown_blocks(table: pd.DataFrame, render: Render) -> Iterator[str]:
    for metric, cells in blocks(table):
        wide = _with_group_rows(layout(cells, render), "*{}*".format)
        name = METRIC_NAMES[metric]
        yield f"**{name[0].upper()}{name[1:]}**\n\n{wide.to_markdown()}"


def _latex_block(table: pd.DataFrame, render: Render, caption: str, label: str) -> str:
    wide = layout(table, render).replace(MISSING, "--")
    wide = wide.rename(index=_escape, level="row").rename(columns=_escape)
    text = _with_group_rows(wide, r"\emph{{{}}}".format).style.to_latex(
        hrules=True,
        caption=_escape(caption),
        label=label,
        column_format="l" + "r" * wide.shape[1],
        position="t",
        position_float="centering",
    )
    return text.replace("\\centering\n", "\\centering\\small\\setlength{\\tabcolsep}{3pt}\n", 1)


def _escape(text: str) -> str:
    return text.translate(LATEX)
