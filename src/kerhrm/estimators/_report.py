"""Errors of KerHRM next to simpler models: pooled, and in every
environment or group."""

import html
import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.estimators._guard import ALL, price
from kerhrm.tables.labels import read_labels
from kerhrm.tables.wording import counted, number

ERROR = {
    "classification": "share of wrong labels",
    "regression": "root mean squared error",
}


MOST_GROUPS = 12  #: of a report, that are printed
ENVIRONMENT = re.compile(r"environment \d+")  #: name of an inferred one

WHOLE = {"rows": "{:.0f}".format}  #: sums of memberships
PREDICT_IS_ERM = "ERM (predict)"  #: column of errors where KerHRM does not predict

#: p-values between which the verdict is near its limit
NEAR = 0.03, 0.08


@dataclass(frozen=True)
class Report:
    """Errors of a fitted KerHRM on some rows: ``print`` it, or show it in a notebook.

    Attributes
    ----------
    errors : DataFrame
        A row for all rows, every inferred environment and every group; columns
        ``rows``, KerHRM (what ``predict`` gives, so ERM's where KerHRM is refused), ERM
        in closed form, least squares, a constant.  Shares of wrong labels, or root mean
        squared errors in the target's unit.
    facts : dict of str to str
        What the errors are, what predicts and why, the test, what was chosen and
        assumed.

    Examples
    --------
    >>> import numpy as np
    >>> from kerhrm import KerHRMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = KerHRMRegressor(k=2, n_init=1, network=(8,), random_state=0)
    >>> model = model.set_params(pretest=False, if_not_better="fit").fit(X, X[:, 0])
    >>> model.report(X, X[:, 0]).errors.columns.tolist()
    ['rows', 'KerHRM', 'ERM', 'least squares', 'constant']
    """

    errors: pd.DataFrame
    facts: dict[str, str]

    def to_frame(self) -> pd.DataFrame:
        """The errors."""
        return self.errors.copy()

    def __str__(self) -> str:
        lengths = map(len, self.facts)
        width = max(lengths)
        lines = [f"{name:{width}}  {value}" for name, value in self.facts.items()]
        errors, n_others = self._some_groups()
        others = []
        if n_others:
            others = [f"and {counted(n_others, 'group')} more, in errors"]
        table = errors.to_string(float_format=_number, formatters=WHOLE)
        return "\n".join([table, *others, "", *lines])

    def to_html(self) -> str:
        """Two tables; names from the data are escaped."""
        cells = {
            html.escape(name): html.escape(value) for name, value in self.facts.items()
        }
        rows = "".join(
            f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in cells.items()
        )
        shown, n_others = self._some_groups()
        errors = shown.rename_axis(columns="part")
        others = f"<p>and {counted(n_others, 'group')} more</p>" if n_others else ""
        table = errors.to_html(float_format=_number, formatters=WHOLE, border=0)
        scrolls = f"<div tabindex='0'>{table}</div>"
        return f"{scrolls}{others}<div tabindex='0'><table>{rows}</table></div>"

    @property
    def shown(self) -> pd.DataFrame:
        """The errors as they are printed: where ``predict`` is ERM's, one column."""
        if not self.errors["KerHRM"].equals(self.errors["ERM"]):
            return self.errors
        without = self.errors.drop(columns="KerHRM")
        return without.rename(columns={"ERM": PREDICT_IS_ERM})

    def _some_groups(self) -> tuple[pd.DataFrame, int]:
        """Errors of all rows, of environments and of the groups in which ERM is worst;
        and how many groups are not among them."""
        shown = self.shown
        names = shown.index.astype(str)
        inferred = [bool(ENVIRONMENT.fullmatch(name)) for name in names]
        of_environments = np.array(inferred)
        groups = ~(of_environments | (names == ALL))
        n_others = int(groups.sum()) - MOST_GROUPS
        if n_others <= 0:
            return shown, 0
        of_erm = self.errors.loc[groups, "ERM"]
        worst = shown[groups].loc[of_erm.nlargest(MOST_GROUPS).index]
        kept = shown[~groups]
        return pd.concat([kept, worst]), n_others

    _repr_html_ = to_html


def indicators(
    groups: Any, n: int, *, taken: Collection[str] = (), table: Any = None
) -> dict[str, np.ndarray]:
    """Groups of the n rows of a table by name: 1 for their rows and 0 for others.

    Names that are ``taken`` are not used.

    Raises KerhrmError if there is not one label, of any kind, for each row, or two have
    the same name.
    """
    labels = read_labels(groups, n, "groups", table)
    name = getattr(groups, "name", None)
    if name is None or name == "":
        name = "group"
    names = [f"{name} {label}" for label in labels.names]
    of_environments = any(ENVIRONMENT.fullmatch(label) for label in names)
    if of_environments or not set(names).isdisjoint(taken):
        names = [f"group {name} {label}" for label in labels.names]
    members = {}
    for position, name in enumerate(names):
        of_group = labels.members(position)
        members[name] = of_group.astype(float)
    return members


def _refused(model: Any) -> str:
    """Errors of a KerHRM that does not predict, next to ERM's."""
    errors = model._all_rows[["KerHRM", "ERM"]]
    if model._task == "regression":
        # the units of ERM, which predicts, are of all rows
        errors = errors**0.5 * model._inferred.units.y_scale
    of_all = errors.loc[ALL]
    worst = errors.drop(index=ALL).max()
    pooled = f"{_number(of_all['KerHRM'])} against ERM's {_number(of_all['ERM'])}"
    there = f"{_number(worst['KerHRM'])} against {_number(worst['ERM'])}"
    return (
        f"KerHRM; its error, {_measured_on(model)}, is {pooled} on all of them, "
        f"and {there} in the worst environment"
    )


def _measured_on(model: Any) -> str:
    """Rows on which KerHRM was compared with ERM."""
    if model._inferred.auxiliary is not None:
        return "on validation rows alone"
    return "training rows as if left out"


def _number(value: float) -> str:
    """An error, or a number of rows, with four digits."""
    return number(value, 4)


def _tested(model: Any) -> str:
    """What the pre-test says, or why there is none."""
    result = model.heterogeneity_
    if result is None and model._task == "classification" and model._columns is None:
        return "none; two labels cannot be tested without an auxiliary column"
    if result is None:
        return "none; the parameters asked for none"
    if math.isnan(result.p_value):
        return "not possible"
    verdict = "environments" if result.detected else "no environments"
    least = 1 / (1 + len(result.null))
    p_value = f"p = {result.p_value:.3g}"
    if math.isclose(result.p_value, least):
        said = "the least that this test can say"
    else:
        said = f"least possible {least:.3g}"
    text = f"{verdict} detected ({p_value}; {said})"
    if NEAR[0] <= result.p_value <= NEAR[1]:
        text += "; near the limit: a few other rows might decide otherwise"
    return text


def facts(model: Any) -> dict[str, str]:
    """Describe in words what a fitted KerHRM did and assumed."""
    chosen = model.selected_
    by = {"linear": "KerHRM, its invariant direction", "network": "KerHRM, its network"}
    assumed = (
        "some feature is spurious: its relation to the target differs by environment"
    )
    lines = {
        "error": ERROR[model._task],
        "predicts by": by.get(model.predictor_, f"ERM: {model._reason}"),
        "test": _tested(model),
    }
    if model._inferred is None:
        return lines
    shares = ", ".join(f"{share:.0%}" for share in model._shares)
    lines["environments"] = f"{shares} of the rows, by mean membership"
    # of the fit; a subclass need not have the parameter
    asked_for = model._parameters.get("n_environments", model.n_environments)
    if asked_for is not None and asked_for > len(model._shares):
        lines["environments"] += f"; of {asked_for} asked for the others are empty"
    if model.predictor_ == "erm":
        lines["environments"] += "; found, but they do not help"
        if model._losses is not None:
            lines["refused"] = _refused(model)
        return lines
    lines["chosen"] = "k = {k}, alpha = {alpha:g}, iteration {iteration}".format(
        **chosen
    )
    scale = model._units.y_scale if model._task == "regression" else None
    if (costs := price(model._all_rows, scale)) is not None:
        lines["predicts by"] += " (options={'margin': 1} predicts as ERM)"
        error = f"its error, {_measured_on(model)},"
        lines["cost of KerHRM"] = f"{error} is {costs}"
    if model._inferred.auxiliary is not None:
        assumed += ", which is a function of the auxiliary columns"
    lines["assumed"] = assumed
    return lines
