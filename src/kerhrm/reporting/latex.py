"""The tables as LaTeX, for a page whose text is 5.5 in wide.

A float for each metric; in it panels of as many settings as fit, one below the other.  Beside
ours stands the paper's number and a sign for the verdict, which the notes below the first float
explain.  Captions have no number of their own: LaTeX counts.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from kerhrm.methods.registry import ORACLE, is_headline, position
from kerhrm.reporting.layout import (
    GROUPS,
    ORACLE_NOTE,
    OTHER_RULES,
    cells_are,
    legend,
    mean_and_spread,
    outcome,
)
from kerhrm.reporting.tables import headline, metric_name, metrics_of
from kerhrm.reporting.variants import in_words

#: points of TeX: the text's width, the room that names of methods need, a column's gap
TEXT, NAMES, GAP = 5.5 * 72.27, 84.0, 6.0
#: of a digit and of other characters in 8 pt, rather too much than too little
DIGIT, OTHER = 4.05, 4.4
#: lines of all panels of a float, and characters of a name in a line
LINES, CHARACTERS = 52, 24
#: keys that a column's value says by itself
SAID_BY_VALUES = ("period", "iteration")
#: by outcome: sign, what it means, colour (HTML, at least 4.5:1 on white)
SIGNS = {
    "agrees": ("$=$", "agrees", "00695C"),
    "higher (good)": (r"$\uparrow^{+}$", "higher (good)", "0B3D91"),
    "lower (good)": (r"$\downarrow^{+}$", "lower (good)", "0B3D91"),
    "higher (bad)": (r"$\uparrow^{-}$", "higher (bad)", "A33B00"),
    "lower (bad)": (r"$\downarrow^{-}$", "lower (bad)", "A33B00"),
    "higher": (r"$\uparrow$", "higher", "6A1B9A"),
    "lower": (r"$\downarrow$", "lower", "6A1B9A"),
    "undecided": ("?", "undecided", "5F5F00"),
    "not comparable": (r"$\circ$", "not comparable", "5A5A5A"),
    "failed": (r"$\times$", "failed", "B00020"),
}
#: what LaTeX would misread in running text; asterisks are Markdown's
SPECIAL = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", "\u2013": "--", "*": "", "|": "$|$", "<": "$<$", ">": "$>$"}
)


class Panel(NamedTuple):
    """Settings side by side, with what they have in common."""

    title: str
    settings: list[str]


def to_latex(table: pd.DataFrame, title: str) -> str:
    """A table environment, or several, for each metric; needs the packages booktabs and xcolor.

    ``title`` is the captions', without the table's number.
    """
    own = headline(table)
    others = table.drop(index=own.index)
    label = f"tab:{table['table'].iloc[0]}"
    parts = ["% needs \\usepackage{booktabs,xcolor}; 5.5 in wide"]
    parts += _floats(own, title, label, legend(own, {}, _signs(own)))
    if len(others):
        note = f"{cells_are(others)} {ORACLE_NOTE}"
        parts += _floats(others, f"{title}, {OTHER_RULES.lower()}", f"{label}-others", note)
    return "\n".join(parts)


def escape(text: str) -> str:
    """Running text as LaTeX."""
    return text.translate(SPECIAL)


def _floats(table: pd.DataFrame, title: str, label: str, note: str) -> Iterator[str]:
    """Floats of every metric; the first one has the notes."""
    number = 0
    for metric in metrics_of(table):
        cells = table[table["metric"] == metric]
        caption = f"{title}: {metric_name(metric)}"
        own = is_headline(cells["method"].iloc[0], cells["selection"].iloc[0])
        compared = own and bool(cells["paper"].notna().any())  # other rules have no verdict
        for panels in _pages(_panels(cells, compared), cells):
            number += 1
            names = {name for panel in panels for name in panel.settings}
            failed = cells[(cells["verdict"] == "failed") & cells["setting"].isin(names)]
            reasons = [f"{c.method}, {c.setting}: {c.reason}." for c in failed.itertuples()]
            notes = [*([note] if number == 1 else []), *reasons]
            yield _float(cells, panels, compared, f"{caption}.", f"{label}-{number}", notes)
            caption = f"{title}: {metric_name(metric)}, continued"


def _panels(cells: pd.DataFrame, compared: bool) -> Iterator[Panel]:
    """Settings in their order, those of one variant together, as many as the page is wide."""
    settings = list(dict.fromkeys(cells["setting"]))
    runs: dict[str, list[str]] = {}
    for setting in settings:
        runs.setdefault(setting.partition(",")[2], []).append(setting)
    keys = {tuple(item.partition("=")[0] for item in name.split(",")) for name in settings}
    sizes = {len(run) for run in runs.values()}
    if len(keys) == 1 or len(sizes) > 1 or sizes == {1}:  # no variants of the same settings
        runs = {"": settings}
    for marks, run in runs.items():
        title = in_words(marks) if len(runs) > 1 else ""
        most = max(int((TEXT - NAMES) / _column(cells, Panel(title, run), compared)), 1)
        for part in _evenly(run, most):
            yield Panel(title, part)


def _evenly(settings: Sequence[str], most: int) -> Iterator[list[str]]:
    """Parts of at most ``most`` settings, no two of which differ by more than one."""
    parts = -(-len(settings) // most)
    for part in range(parts):
        begin, end = (len(settings) * (part + i) // parts for i in (0, 1))
        yield list(settings[begin:end])


def _pages(panels: Iterator[Panel], cells: pd.DataFrame) -> Iterator[list[Panel]]:
    """Panels by float, none of which is longer than a page."""
    page: list[Panel] = []
    used = 0
    for panel in panels:
        lines = 4 + sum(
            len(textwrap.wrap(name, CHARACTERS)) or 1
            for group in _rows(cells, panel).values()
            for name in ["", *group]
        )
        if page and used + lines > LINES:
            yield page
            page, used = [], 0
        page.append(panel)
        used += lines
    yield page


def _rows(cells: pd.DataFrame, panel: Panel) -> dict[str, dict[str, dict[str, Any]]]:
    """Cells of a panel by group, row and setting, in the reader's order."""
    here = cells[cells["setting"].isin(panel.settings)]
    own = all(map(is_headline, here["method"], here["selection"]))
    order = {rule: n for n, rule in enumerate(dict.fromkeys(here["selection"]))}
    chosen = list(zip(here["method"], here["selection"], strict=True))
    rules = [0 if own else order[rule] for _, rule in chosen]  # others stand rule by rule
    place = [(s == ORACLE, n, position(m)) for (m, s), n in zip(chosen, rules, strict=True)]
    frame = here.assign(place=place)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in frame.sort_values("place", kind="stable").to_dict("records"):
        group = GROUPS[cell["track"]] if own else str(cell["selection"])
        name = cell["method"].removeprefix("ref: ")
        name = name[0].upper() + name[1:]
        found.setdefault(group, {}).setdefault(name, {})[cell["setting"]] = cell
    return found


def _float(
    cells: pd.DataFrame,
    panels: list[Panel],
    compared: bool,
    caption: str,
    label: str,
    notes: Sequence[str],
) -> str:
    lines = [
        r"\begin{table}[t]",
        r"\centering\fontsize{8}{9.6}\selectfont\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{{label}}}",
    ]
    for number, panel in enumerate(panels):
        lines += [r"\par\medskip"] if number else []
        lines += _tabular(cells, panel, compared)
    if notes:
        lines += [
            r"\par\smallskip",
            r"\begin{minipage}{\textwidth}\footnotesize",
            *(_marked(note) for note in notes),
            r"\end{minipage}",
        ]
    return "\n".join([*lines, r"\end{table}", ""])


def _tabular(cells: pd.DataFrame, panel: Panel, compared: bool) -> Iterator[str]:
    groups, each = _rows(cells, panel), 3 if compared else 1
    heads = [_stacked(_head(setting, panel)) for setting in panel.settings]
    names = TEXT - len(heads) * _column(cells, panel, compared) - GAP
    longest = max(_width(name) for group in groups.values() for name in group)
    one = r"r@{\hspace{6pt}}r@{\hspace{3pt}}l" if compared else "r"
    width = f"{min(names, longest + 8):.0f}pt"
    yield rf"\begin{{tabular}}{{@{{}}p{{{width}}}{len(heads) * one}@{{}}}}"
    yield r"\toprule"
    kind = f"\\multicolumn{{{each}}}{{c}}" if compared else r"\multicolumn{1}{r}"
    title = rf"\emph{{{escape(panel.title)}}}" if panel.title else ""
    yield f"{title} & " + " & ".join(f"{kind}{{{head}}}" for head in heads) + r" \\"
    if compared:
        spans = [(2 + each * n, 1 + each * (n + 1)) for n in range(len(heads))]
        yield "".join(rf"\cmidrule(lr){{{first}-{last}}}" for first, last in spans)
        yield " & " + " & ".join(["ours & paper & "] * len(heads)) + r" \\"
    yield r"\midrule"
    for group, rows in groups.items():
        if group:
            columns = 1 + each * len(heads)
            yield r"\addlinespace[2pt]"
            yield rf"\multicolumn{{{columns}}}{{@{{}}l}}{{\emph{{{escape(group)}}}}} \\"
        for name, row in rows.items():
            texts = [t for s in panel.settings for t in _cell(row.get(s), compared)]
            yield rf"\raggedright\hangindent=1em {escape(name)} & " + " & ".join(texts) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _column(cells: pd.DataFrame, panel: Panel, compared: bool) -> float:
    """Points that a setting takes: its widest number or line of its head, and the gaps."""
    shown = cells[cells["setting"].isin(panel.settings)]
    number = max(_width(_text(cell)) for cell in shown.to_dict("records"))
    if compared:
        number += _width("0.000") + _width("xx") + 2 * GAP
    heads = [_width(line) for setting in panel.settings for line in _head(setting, panel)]
    return max([number, *heads]) + GAP


def _stacked(lines: Sequence[str]) -> str:
    return "\\shortstack{" + r"\\".join(lines) + "}" if len(lines) > 1 else lines[0]


def _cell(cell: Mapping[str, Any] | None, compared: bool) -> list[str]:
    """Ours and, in a table with such columns, the paper's number and the verdict's sign."""
    if cell is None:
        return ["--", "", ""] if compared else ["--"]
    ours = escape(_text(cell)).replace(r" $\pm$ ", r"\,$\pm$\,")
    if ours[-1].isdigit() and "pm" not in ours:  # its point below the others'
        ours += r"\phantom{\,$\pm$\,0.000}"
    if not compared:
        return [ours]
    if pd.isna(cell["paper"]):
        return [ours, "", ""]
    sign, _, colour = SIGNS[_words(cell)]
    return [ours, f"{cell['paper']:.3f}", rf"\textcolor[HTML]{{{colour}}}{{{sign}}}"]


def _text(cell: Mapping[str, Any]) -> str:
    return "failed" if cell["verdict"] == "failed" else mean_and_spread(cell)


def _width(text: str) -> float:
    """Points of a text in 8 pt."""
    narrow = sum(c in " .," for c in text)
    digits = sum(c.isdigit() for c in text)
    return DIGIT * digits + DIGIT / 2 * narrow + OTHER * (len(text) - digits - narrow)


def _words(cell: Mapping[str, Any]) -> str:
    """The key of a verdict's sign."""
    return outcome(cell["verdict"].partition(": ")[2] or cell["verdict"], cell["direction"])


def _signs(table: pd.DataFrame) -> str:
    """Signs of the verdicts that a table has, between at signs for :func:`_marked`."""
    judged = table[table["paper"].notna() & (table["verdict"] != "")]
    found = set(map(_words, judged.to_dict("records")))
    signs = [f"@{words}@ {words}" for words in SIGNS if words in found]
    return f"Beside: the paper's number and the verdict of code ({', '.join(signs)})."


def _marked(note: str) -> str:
    """A note as LaTeX, its signs put in."""
    parts = enumerate(note.split("@"))
    return "".join(SIGNS[part][0] if n % 2 and part in SIGNS else escape(part) for n, part in parts)


def _head(setting: str, panel: Panel) -> list[str]:
    """A setting's name over its column, line by line, without what the panel's title says."""
    items = setting.split(",")
    return [_item(item) for item in (items[:1] if panel.title else items)]


def _item(item: str) -> str:
    key, equals, value = item.partition("=")
    if not equals:
        return escape(item)
    if key in SAID_BY_VALUES:
        return escape(value).replace("-", "--")
    if match := re.fullmatch(r"([A-Za-z])(\d?)", key):
        letter = f"{match[1]}_{match[2]}" if match[2] else match[1]
        return f"${letter} =$ {escape(value)}"
    return f"{escape(key)} {escape(value)}"
