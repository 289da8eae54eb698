"""Tables of cells, our mean and the paper's value, in three formats."""

import html
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pandas.io.formats.style import Styler

from kerhrm.files import write_text
from kerhrm_paper.evaluation.tables import RESULTS, primary, where
from kerhrm_paper.reporting.page import framed, page

Kind = Literal["markdown", "latex", "html"]
#: in the order in which a reader meets them; others follow under their own names
TITLES = {
    "test_acc": "test accuracy",
    "worst_acc": "test accuracy in the worst test environment",
    "train_acc": "training accuracy",
    "generalisation_gap": "generalisation gap (test less training accuracy)",
    "mean_error": "mean error",
    "worst_error": "error in the worst test environment",
    "error_sd": "standard deviation of the error over the test environments",
    "mse": "mean squared error",
    "d_kl": "divergence of P(Y | C) between the inferred environments",
}
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$<>&])")
#: signs of Markdown that a backslash does not free everywhere
ENTITIES = {"<": "&lt;", "&": "&amp;"}
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: rf"\{character}" for character in "&%$#_{}"},
}
#: what makes a LaTeX table smaller than its page (package adjustbox)
FITS = r"max width=\linewidth, max totalheight=0.9\textheight"
MANY_SETTINGS = 9  #: settings that are rows
MANY_OPTIONS = 3  #: options of settings that are columns, at most
NARROW = 4  #: columns that fit into one of print's two


def escape(text: object, kind: Kind) -> str:
    r"""A name as plain text: no markup of a format has its meaning in it.

    Examples
    --------
    >>> escape("fee_$", "latex"), escape("<b>", "html"), escape("a|b", "markdown")
    ('fee\\_\\$', '&lt;b&gt;', 'a\\|b')
    """
    words = str(text).split()
    line = " ".join(words)
    if kind == "html":
        return html.escape(line)
    if kind == "latex":
        escaped = [LATEX.get(character, character) for character in line]
        return "".join(escaped)
    return MARKDOWN.sub(_marked, line)


def _marked(sign: re.Match[str]) -> str:
    """A sign of Markdown as text."""
    character = sign[0]
    return ENTITIES.get(character, f"\\{character}")


def metrics_of(cells: pd.DataFrame) -> list[str]:
    """Metrics of cells or scores: those of :data:`TITLES`, then others as they come."""
    metrics = dict.fromkeys(cells["metric"])
    entitled = [metric for metric in TITLES if metric in metrics]
    others = [metric for metric in metrics if metric not in TITLES]
    return entitled + others


def results_of(cells: pd.DataFrame) -> list[str]:
    """Metrics of :data:`RESULTS`; the first metric, where there is none of them."""
    metrics = metrics_of(cells)
    results = [metric for metric in metrics if metric in RESULTS]
    return results or metrics[:1]


def headline_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells that a summary shows: the results, in rows of the methods' own
    criteria."""
    results = results_of(cells)
    is_result = cells["metric"].isin(results)
    return cells[primary(cells) & is_result]


def pivot(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of one metric's cells.

    Methods with their criteria as rows, settings as columns.

    Reference rows and those of other selection criteria come last.  Nine and more
    settings are the rows.
    """
    keys = ["method", "selection"]
    is_other = ~primary(cells)
    methods = cells["method"]
    is_reference = methods.str.startswith("ref:")
    order = cells.assign(other=is_other, reference=is_reference)
    order = order.drop_duplicates(keys)
    order = order.sort_values(["other", "reference"], kind="stable")
    in_order = order[keys]
    rows = pd.MultiIndex.from_frame(in_order)
    settings = list(dict.fromkeys(cells["setting"]))
    wide = cells.pivot(index=keys, columns="setting", values=column)
    wide = wide.loc[rows, settings]
    if len(settings) < MANY_SETTINGS:
        return wide.reset_index()
    names = _row_names(wide.index)
    wide.index = pd.Index(names)
    return wide.T.reset_index()


def _row_names(rows: pd.MultiIndex) -> list[str]:
    """Methods, with their criterion where there are several."""
    methods = rows.get_level_values("method")
    has_several = methods.duplicated(keep=False)
    names = []
    for row, is_ambiguous in zip(rows, has_several, strict=True):
        method, selection = row
        name = f"{method}, {selection}" if is_ambiguous else method
        names.append(name)
    return names


def style(cells: pd.DataFrame, kind: Kind) -> Styler:
    """Cells of one metric, ready to be written in a format."""
    with_own = cells.assign(own=primary(cells))
    records = with_own.to_dict("records")
    written = [_text(cell, kind) for cell in records]
    cells = cells.assign(text=written)
    texts = pivot(cells, "text")
    if kind == "latex":
        texts = texts.drop(columns="selection", errors="ignore")
    names = [name for name in ("method", "selection") if name in texts]
    if "setting" in texts:
        results = texts.drop(columns="setting")
        options = option_columns(texts["setting"])
        shared = results.columns.intersection(options.columns)
        if not shared.empty:
            options = texts[["setting"]]  # a method is called like an option
        names = [*options]
        texts = pd.concat([options, results], axis=1)
    named = texts[names]
    texts[names] = named.map(lambda name: escape(name, kind))
    columns = [escape(name, kind) for name in texts.columns]
    texts.columns = pd.Index(columns)
    texts = texts.fillna("\N{EN DASH}")
    return texts.style.hide(axis="index")


def option_columns(settings: pd.Series) -> pd.DataFrame:
    """Settings that are rows: a column for each option, empty where it has no value.

    A single column ``setting`` where a setting has words that are no options, or there
    are more than :data:`MANY_OPTIONS`.

    Examples
    --------
    >>> option_columns(pd.Series(["r2=0.7,K=2", "r2=0.8,K=3"], name="setting"))
        r2  K
    0  0.7  2
    1  0.8  3
    """
    rows = []
    for setting in settings:
        words = setting.split(",")
        pairs = [word.partition("=") for word in words]
        options = {option: value for option, _, value in pairs}
        have_values = all(equals for _, equals, _ in pairs)
        has_repeats = len(options) < len(pairs)
        if has_repeats or not have_values:
            return settings.to_frame()
        rows.append(options)
    columns = pd.DataFrame(rows, index=settings.index)
    if len(columns.columns) > MANY_OPTIONS:
        return settings.to_frame()
    return columns.fillna("")


def render(cells: pd.DataFrame, kind: Kind, title: str = "") -> str:
    """All cells of a table in a format; in LaTeX those of :func:`main`, for print.

    For each metric a table with ``title`` above it: mean ± standard deviation over the
    seeds and, in the rows of the methods' own criteria, the paper's value in brackets.
    Where settings are rows, an option of theirs is a column.
    LaTeX needs the packages booktabs and adjustbox; wide tables span both columns of a
    page that has two.
    """
    if kind == "latex":
        cells = headline_cells(cells)
    tables = []
    for metric in metrics_of(cells):
        metric_title = TITLES.get(metric, metric)
        caption = f"{title}: {metric_title}" if title else metric_title
        of_metric = where(cells, metric=metric)
        styler = style(of_metric, kind)
        escaped = escape(caption, kind)
        table = _written(styler, kind, escaped)
        tables.append(table)
    return "\n".join(tables)


def _written(styler: Styler, kind: Kind, caption: str) -> str:
    """A table in a format, with its caption."""
    if kind == "html":
        styler = styler.set_caption(caption)
        return styler.to_html(exclude_styles=True)
    if kind == "latex":
        is_wide = len(styler.columns) > NARROW
        environment = "table*" if is_wide else "table"
        body = styler.to_latex(hrules=True)
        return (
            f"\\begin{{{environment}}}\n\\centering\n\\caption{{{caption}}}\n"
            f"\\begin{{adjustbox}}{{{FITS}}}\n{body}"
            "\\end{adjustbox}\n"
            f"\\end{{{environment}}}\n"
        )
    frame: pd.DataFrame = styler.data
    table = frame.to_markdown(index=False, disable_numparse=True)
    return f"**{caption}**\n\n{table}\n"


def write(cells: pd.DataFrame, stem: str | Path, title: str = "") -> None:
    """Write ``stem``.md, .tex and, as a page in the style of the run's, .html."""
    markdown = render(cells, "markdown", title)
    write_text(f"{stem}.md", markdown)
    latex = render(cells, "latex", title)
    write_text(f"{stem}.tex", latex)
    title = title or Path(stem).name
    heading = escape(title, "html")
    table = framed(render(cells, "html"))
    body = f"<h1>{heading}</h1>\n{table}"
    write_text(f"{stem}.html", page(title, body))


def _text(cell: dict[Hashable, Any], kind: Kind) -> str:
    """Mean ± standard deviation (the paper's value)."""
    if cell["verdict"] == "failed":
        return "failed"
    text = f"{cell['mean']:.3f}"
    has_spread = cell["n_seeds"] > 1 and cell["std"] > 0
    if has_spread:
        sign = "$\\pm$" if kind == "latex" else "\N{PLUS-MINUS SIGN}"
        text += f" {sign} {cell['std']:.3f}"
    is_printed = pd.notna(cell["paper"])
    if not is_printed or not cell["own"]:
        return text
    paper = f"({cell['paper']:.3f})"
    if kind == "latex":
        return rf"\shortstack[l]{{{text}\\{{\scriptsize {paper}}}}}"
    if kind == "html":
        return f"{text}<br><small>{paper}</small>"
    return f"{text} {paper}"
