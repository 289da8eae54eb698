"""The report of ``kerhrm check`` as a page with its picture."""

import base64
import html
import io

import numpy as np
from matplotlib.figure import Figure

from kerhrm.estimators.check import Checked
from kerhrm.plots.axes import legend, plain, style
from kerhrm.plots.rows import relation


def page(checked: Checked, title: str) -> str:
    """The report as an HTML page with its picture."""
    buffer = io.BytesIO()
    picture(checked).savefig(buffer, format="png", dpi=120)
    image = base64.b64encode(buffer.getvalue()).decode()
    return (
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>{html.escape(title)}</title>"
        "<style>body{font:16px sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
        "td,th{text-align:left;padding:.1em .8em .1em 0}img{max-width:100%}"
        "div{overflow-x:auto}</style>"
        f"<main><h1>{html.escape(title)}</h1>"
        f"<div tabindex='0'>{checked.report.to_html()}</div>"
        "<img alt='errors by environment and group' "
        f"src='data:image/png;base64,{image}'></main>"
    )


def picture(checked: Checked) -> Figure:
    """Figure: errors of all models, and the target over the feature that separates
    best."""
    several = checked.model.environment_proba_.shape[1] > 1
    errors = checked.report.errors.drop(columns="rows")
    figure = Figure(
        figsize=(11 if several else 6, 3 + 0.4 * len(errors)), layout="constrained"
    )
    axes = np.atleast_1d(figure.subplots(1, 1 + several))
    for number, name in enumerate(errors):
        axes[0].plot(
            errors[name], range(len(errors)), ls="", label=name, **style(number)
        )
    axes[0].set_yticks(range(len(errors)), map(plain, errors.index))
    axes[0].set(
        ylim=(len(errors) - 0.5, -0.5),
        xlim=(0, None),
        xlabel=checked.report.facts["error"],
    )
    legend(axes[0])
    if several:
        relation(checked.model, checked.X_test, checked.y_test, ax=axes[1])
    return figure
