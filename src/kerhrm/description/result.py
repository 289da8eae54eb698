"""What a fit says of its table: :class:`Description`."""

from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from kerhrm.description import text
from kerhrm.description.break_even import BreakEven
from kerhrm.description.dip import Dip
from kerhrm.description.stability import Stability
from kerhrm.description.tree import Tree


@dataclass(frozen=True)
class Description:
    """What a fitted KerHRM says of its table: ``print`` it, or show it in a notebook.

    Numbers are computed once, by ``describe``.  Where a field does not apply it is
    None.

    Attributes
    ----------
    verdict : str
        Which model predicts better, and from which share of an environment on; or why
        ERM predicts.
    limits : tuple of str
        What the pre-test does not exclude, whether or not it has detected environments;
        empty where there was none, none was possible, or an auxiliary column was
        tested.
    detected : bool
        Whether the pre-test has detected environments.  Without it the split may be
        noise of two kinds.
    split : {"fit", "mixture", "none"}
        What is described: the environments of the fit, the most likely mixture of
        regressions on the columns where these do not predict, or nothing.
    mark : str
        What to think of the split; empty where it is detected and predicts.
    memberships : DataFrame of shape (n_samples, K), or None
        Of the rows, by their labels in the table's index; NaN in rows of weight 0.
    environments : DataFrame, or None
        ``share``, ``rows``, ``clear`` and ``noise`` of each.
    slopes : DataFrame, or None
        Coefficients of the columns that differ most: weighted least squares by
        memberships, with robust 95 % intervals (HC3).  The same rows have made the
        split, so that intervals are too narrow.
    tree : Tree, or None
        Rules that tell the environments apart by the columns.
    certain : DataFrame, or None
        Labels of the rows that belong to each environment most certainly.
    rootogram : DataFrame, or None
        Square roots of numbers of rows, by membership.
    break_even : BreakEven, or None
        Share of the smaller environment above which KerHRM predicts better than ERM, or
        below which it does.
    stability : Stability, or None
        Agreement with splits of half of the rows.
    smallest_changes : DataFrame
        Of each column's slope, that the table could have shown.
    label : object
        Of two labels the second one: slopes, noise and smallest changes are in shares
        of rows that have it.  Of a numeric target None: they are in its unit.
    candidates : DataFrame, or None
        BIC and ICL of mixtures with 1 to 4 components.
    dip : Dip, or None
        Of ERM's residuals, of a numeric target.
    notes : tuple of str
        What else is worth a line.

    Examples
    --------
    A hidden third of the rows lies higher, which the pre-test does not see.

    >>> import warnings
    >>> import numpy as np
    >>> from kerhrm import KerHRMRegressor
    >>> from kerhrm.description.result import Description
    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(150, 1))
    >>> y = x[:, 0] + 5 * (random.random(150) < 0.3) + 0.3 * random.normal(size=150)
    >>> model = KerHRMRegressor(k=2, n_init=2, network=(16,), random_state=0)
    >>> with warnings.catch_warnings(action="ignore"):  # none are detected
    ...     found = model.fit(x, y).describe(stability=0)
    >>> isinstance(found, Description), found.split
    (True, 'mixture')
    >>> found.mark
    'not detected: this may be noise of two kinds'
    """

    verdict: str
    limits: tuple[str, ...]
    detected: bool
    split: Literal["fit", "mixture", "none"]
    mark: str
    memberships: pd.DataFrame | None
    environments: pd.DataFrame | None
    slopes: pd.DataFrame | None
    tree: Tree | None
    certain: pd.DataFrame | None
    rootogram: pd.DataFrame | None
    break_even: BreakEven | None
    stability: Stability | None
    smallest_changes: pd.DataFrame
    candidates: pd.DataFrame | None
    dip: Dip | None
    label: Any = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(text.lines(self))

    def to_html(self) -> str:
        """The same as tables and lines; names from the data are escaped."""
        return text.to_html(self)

    _repr_html_ = to_html
