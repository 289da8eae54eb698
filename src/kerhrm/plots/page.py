"""The report of ``kerhrm check`` as a page with its pictures."""

import base64
import html
import io
import warnings
from typing import TYPE_CHECKING

import numpy as np

from kerhrm.check import Checked
from kerhrm.check.outputs import HEAD
from kerhrm.description.result import Description
from kerhrm.errors import KerhrmWarning
from kerhrm.extras import check_backend, needs
from kerhrm.plots.axes import HEIGHT, WIDTH, legend, plain, style
from kerhrm.plots.descriptions import rootogram
from kerhrm.plots.rows import relation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: on the page, for those who read it first
WORDS = (
    "ERM is one model for all rows. An environment is a group of rows that KerHRM has "
    "inferred, and a membership the probability that a row belongs to it: rows of an "
    "environment are sums of memberships in the table of errors."
)
MAX_ROWS = 60  #: of errors in the picture; the table has all


def page(checked: Checked, title: str, description: Description) -> str:
    """The report as an HTML page with its pictures, and a description of the fit."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a box for a letter is no trouble
        warnings.simplefilter("ignore", KerhrmWarning)  # as in the report
        of_errors = ""
        if len(checked.report.shown) > 1:  # of one row the table says as much
            figure = errors(checked)
            of_errors = _image(figure, "errors of the models, by environment")
        found = _found(checked, description)
    heading = html.escape(title)
    report = checked.report.to_html()
    return (
        f"{HEAD}<meta name='viewport' content='width=device-width'>"
        f"<title>{heading}</title>"
        "<style>body{font:16px sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
        "td,th{text-align:left;padding:.1em .8em .1em 0}img{max-width:100%}"
        "div{overflow-x:auto}div,figure{margin:1em 0}</style>"
        f"<main><h1>{heading}</h1>"
        f"<h2>What was found</h2>{found}"
        f"<h2>Errors on rows that were held out</h2>{report}"
        f"{of_errors}</main>"
    )


def _found(checked: Checked, description: Description) -> str:
    """A description with its pictures."""
    verdict, end, rest = description.to_html().partition("</p>")
    parts = [verdict, end]
    if checked.doubts is not None:
        parts.append(f"<p>{html.escape(checked.doubts)}</p>")
    parts += [f"<p>{WORDS}</p>", rest]
    feature = _most_different(checked, description)
    if feature is not None:
        figure, ax = _figure()
        relation(
            checked.model,
            checked.X_test,
            checked.y_test,
            feature=feature,
            auxiliary=checked.auxiliary_test,
            ax=ax,
        )
        text = "test rows: the target over one column alone, whose slopes differ most"
        if hasattr(checked.model, "classes_"):
            text += ". The target has sorted the rows: without groups it looks alike"
        parts.append(_image(figure, text))
    if description.rootogram is not None:
        figure, ax = _figure()
        rootogram(description, ax=ax)
        text = (
            "numbers of rows by their membership: high at 0 and 1 if environments are "
            "far apart"
        )
        parts.append(_image(figure, text))
    return "".join(parts)


def _most_different(checked: Checked, description: Description) -> str | None:
    """Column whose slopes differ most between the environments of the fit."""
    if description.split != "fit" or description.slopes is None:
        return None
    features = [str(name) for name in checked.X_test.columns]
    for name in description.slopes["column"]:
        if name in features:  # the level is none
            return str(name)
    return None


def _figure(height: float = HEIGHT) -> tuple["Figure", "Axes"]:
    """A figure of the page, and its axes."""
    needs("plots", "matplotlib")
    check_backend()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    ax = figure.subplots()
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def _image(figure: "Figure", text: str) -> str:
    """A figure as an element of a page, and what it shows in words."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    png = buffer.getvalue()
    image = base64.b64encode(png).decode()
    source = f"src='data:image/png;base64,{image}'"
    caption = f"<figcaption>{text}</figcaption>"
    return f"<figure>{caption}<img alt='{text}' {source}></figure>"


def errors(checked: Checked) -> "Figure":
    """Figure of the errors of all models.

    Of many groups the largest ones are shown.
    """
    table = checked.report.shown
    by_size = table["rows"].to_numpy().argsort(kind="stable")
    largest_first = by_size[::-1]
    largest = np.sort(largest_first[:MAX_ROWS])
    table = table.iloc[largest].drop(columns="rows")
    n_groups = len(table)
    n_models = len(table.columns)
    figure, ax = _figure(2.2 + 0.4 * n_groups)
    places = np.arange(n_groups)
    for number, name in enumerate(table):
        dodge = 0.5 * (number / n_models - 0.5)  # as least squares often has ERM's
        ax.plot(
            table[name],
            places + dodge,
            ls="",
            label=name,
            **style(number),
        )
    ax.set_yticks(range(n_groups), map(plain, table.index))
    ax.set(
        ylim=(n_groups - 0.5, -0.5),
        xlim=(0, None),
        xlabel=checked.report.facts["error"],
    )
    legend(ax)
    return figure
