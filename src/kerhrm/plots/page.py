"""The report of ``kerhrm check`` as a page with its picture."""

import base64
import html
import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kerhrm.check import Checked
from kerhrm.description.result import Description
from kerhrm.errors import FileError, KerhrmWarning
from kerhrm.extras import check_backend, needs
from kerhrm.plots.axes import HEIGHT, WIDTH, legend, plain, style
from kerhrm.plots.descriptions import rootogram
from kerhrm.plots.rows import relation
from kerhrm.plots.table import read

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: tells pages of ``kerhrm check`` from other files
MARK = "<meta name='generator' content='kerhrm check'>"
MAX_ROWS = 60  #: of errors in the picture; the table has all


def check_output(path: Path, data: Path) -> None:
    """Refuse a file for the page that would take the place of another one.

    Raises KerhrmError if a file is there that is the data or no such page, or its
    folder is missing or cannot be written.
    """
    hint = "name a new file, or delete this one"
    try:
        there = path.lstat() is not None
    except FileNotFoundError:
        there = False
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}", hint) from error
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder", "name a file in it")
    both_exist = there and path.exists() and data.exists()
    if both_exist and path.samefile(data):
        raise FileError(f"{path} is the table itself", "name another file for --html")
    if path.suffix.casefold() not in (".html", ".htm"):
        problem = f"--html must name a page, which ends in .html; got {str(path)!r}"
        stem = path.stem if path.stem.strip("-. ") else "report"
        page_path = path.with_name(f"{stem[:100]}.html")
        raise FileError(problem, f"write {page_path}")
    if there and not _is_page(path):
        raise FileError(f"{path} exists, and kerhrm check has not written it", hint)
    if not path.parent.is_dir():
        problem = f"cannot write {path}: the folder {path.parent} does not exist"
        raise FileError(problem, "make it first, or name another one")
    if not os.access(path.parent, os.W_OK):
        problem = f"cannot write {path}: the folder {path.parent} is read-only"
        raise FileError(problem, "name a file in another folder")


def _is_page(path: Path) -> bool:
    """Whether :func:`page` has made a file."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            start = file.read(2**10)
            return MARK.encode() in start
    except OSError:
        return False


def page(checked: Checked, title: str, description: Description | None = None) -> str:
    """The report as an HTML page with its picture, and a description of the fit."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a box for a letter is no trouble
        warnings.simplefilter("ignore", KerhrmWarning)  # as in the report
        figure = picture(checked)
        image = _image(figure, "errors by environment and group")
        described = "" if description is None else _described(description)
    heading = html.escape(title)
    report = checked.report.to_html()
    return (
        f"<!DOCTYPE html><html lang='en'><meta charset='utf-8'>{MARK}"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>{heading}</title>"
        "<style>body{font:16px sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
        "td,th{text-align:left;padding:.1em .8em .1em 0}img{max-width:100%}"
        "div{overflow-x:auto}</style>"
        f"<main><h1>{heading}</h1>"
        f"{described}<h2>Errors on rows that were held out</h2>"
        f"<div tabindex='0'>{report}</div>"
        f"{image}</main>"
    )


def _described(description: Description) -> str:
    """A description with its rootogram."""
    described = description.to_html()
    text = f"<h2>What was found</h2><div tabindex='0'>{described}</div>"
    if description.rootogram is None:
        return text
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    rootogram(description, ax=figure.subplots())
    image = _image(figure, "numbers of rows by membership in each environment")
    return text + image


def _image(figure: "Figure", text: str) -> str:
    """A figure as an element of a page, and what it shows in words."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    png = buffer.getvalue()
    image = base64.b64encode(png).decode()
    return f"<img alt='{text}' src='data:image/png;base64,{image}'>"


def picture(checked: Checked) -> "Figure":
    """Figure: errors of all models, and the target over the feature that separates
    best.

    Of many groups the largest ones are shown.
    """
    needs("plots", "matplotlib")
    check_backend()
    from matplotlib.figure import Figure

    _, n_environments = checked.model.environment_proba_.shape
    several = n_environments > 1
    errors = checked.report.errors
    by_size = errors["rows"].to_numpy().argsort(kind="stable")
    largest_first = by_size[::-1]
    largest = np.sort(largest_first[:MAX_ROWS])
    errors = errors.iloc[largest].drop(columns="rows")
    n_groups = len(errors)
    width = 11 if several else 6
    height = 3 + 0.4 * n_groups
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, 1 + several))
    for number, name in enumerate(errors):
        axes[0].plot(
            errors[name],
            range(n_groups),
            ls="",
            label=name,
            **style(number),
        )
    axes[0].set_yticks(range(n_groups), map(plain, errors.index))
    axes[0].set(
        ylim=(n_groups - 0.5, -0.5),
        xlim=(0, None),
        xlabel=checked.report.facts["error"],
    )
    legend(axes[0])
    if several:
        z = checked.auxiliary_test
        feature = None if z is None else _differing(checked)
        relation(
            checked.model,
            checked.X_test,
            checked.y_test,
            feature=feature,
            auxiliary=z,
            ax=axes[1],
        )
    return figure


def _differing(checked: Checked) -> str:
    """Feature whose correlation with the target differs most between environments.

    With auxiliary columns no feature separates them.
    """
    rows = read(checked.model, checked.X_test, checked.y_test, checked.auxiliary_test)
    y = rows.y
    if rows.task == "classification":
        y, _ = pd.factorize(rows.y, sort=True)
    table = np.column_stack([rows.x, y]).T
    correlations = []
    several_rows = rows.memberships.sum(0) > 1
    for members in rows.memberships.T[several_rows]:
        covariance = np.cov(table, aweights=members)
        scale = np.sqrt(np.diag(covariance))
        scale[scale == 0] = np.inf
        with_target = covariance[:-1, -1]
        correlations.append(with_target / scale[:-1] / scale[-1])
    difference = np.ptp(correlations, axis=0)
    most_different = int(difference.argmax())
    return rows.features[most_different]
