r"""Smallest change of each column's slope that a table could have shown.

*Known* environments.  Let the noise have the standard deviation sigma, a share s of n
rows belong to one environment, and v be the variance of a column that the others leave.
The slopes of both environments are independent, with variances sigma^2 / (n s v) and
sigma^2 / (n (1 - s) v), so that their difference has the standard error

.. math::
    \frac{\sigma}{\sqrt{n v s (1 - s)}}.

Of rows with weights w, n is their effective number :math:`(\sum w)^2 / \sum w^2`.

A two-sided test at 5 % has the power 80 % where the true difference is z_.975 + z_.8 =
2.80 times as large.  This is the best that any method can do, for it is told which
rows are which.

*Hidden* environments.  A slope that changes by delta in a share s adds s (1 - s)
delta^2 v to the variance of ERM's errors, v now being the column's own variance.
:attr:`kerhrm.heterogeneity.result.HeterogeneityResult.visible` is the share V of the
residual variance R that this has to be for the pre-test to detect it in four of five
draws, as measured for a slope that flips in a fifth of the rows.  So

.. math::
    \delta = \sqrt{\frac{V R}{s (1 - s) v}}, \qquad s = 1/5.
"""

import math

import numpy as np
import pandas as pd
from scipy.stats import norm

from kerhrm.description.regressions import (
    independent_columns,
    weighted_least_squares,
)
from kerhrm.description.rows import DescribedRows

FIFTH = 0.2  #: share that ``visible`` is measured for
#: of a difference that is seen: for a level of 5 % and a power of 80 %
STANDARD_ERRORS = float(norm.ppf(0.975) + norm.ppf(0.8))


def smallest_changes(
    rows: DescribedRows,
    residual_sd: float,
    noise: float,
    share: float = FIFTH,
    visible: float = math.nan,
) -> pd.DataFrame:
    """Smallest changes of slopes that are seen with a power of 80 %.

    Parameters
    ----------
    rows : DescribedRows
        The table.
    residual_sd : float
        Standard deviation of ERM's errors on rows that it has not seen, for hidden
        environments.
    noise : float
        Of the residuals within environments, for known ones.
    share : float
        Of the smaller environment, for known ones.
    visible : float
        V of the pre-test; NaN: there is none.

    Returns
    -------
    DataFrame
        A row for each column: ``sd``; ``slope``, by least squares in all rows;
        ``known`` and ``hidden``.  NaN of one that is constant or, but for ``hidden``, a
        sum of others.
    """
    x = rows.x
    n = len(x)
    shares = rows.weights / n  # of sum 1
    sd = np.sqrt(shares @ (x - shares @ x) ** 2)
    sizes = np.abs(x).max(0, initial=0.0)
    positive_sizes = np.maximum(sizes, 1e-300)
    varies = sd > 1e-12 * positive_sizes
    n_columns = len(sd)
    left = np.full(n_columns, math.nan)
    slope = np.full(n_columns, math.nan)
    chosen = independent_columns(x)
    n_chosen = len(chosen)
    if n_chosen and n > n_chosen + 1:
        columns = x[:, chosen]
        means = shares @ columns
        centred = columns - means
        scales = sd[chosen]
        scaled = centred / scales
        correlations = scaled.T @ (shares[:, None] * scaled)
        inverse = np.linalg.inv(correlations)
        left[chosen] = sd[chosen] ** 2 / np.diag(inverse)
        constant = np.ones(n)
        design = np.column_stack([constant, scaled])
        regression = weighted_least_squares(design, rows.y, rows.weights)
        slope[chosen] = regression.coefficients[1:] / scales
    variance_of_design = rows.effective_number * left * share * (1 - share)
    standard_error = noise / np.sqrt(variance_of_design)
    known = STANDARD_ERRORS * standard_error
    spread = np.where(varies, sd, math.nan)
    variance_of_fifth = FIFTH * (1 - FIFTH)
    in_residual_sds = math.sqrt(visible / variance_of_fifth)
    hidden = residual_sd * in_residual_sds / spread
    changes = {"sd": sd, "slope": slope, "known": known, "hidden": hidden}
    index = pd.Index(rows.names, name="column")
    return pd.DataFrame(changes, index)
