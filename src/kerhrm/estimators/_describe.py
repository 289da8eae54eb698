"""What a fitted KerHRM says of the table that it was fitted to.

The table is the one that ``fit`` was given: a model keeps a reference to it, which
costs no memory of its own, and which no file and no copy of the model holds.
"""

import numbers
import warnings
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils.validation import check_is_fitted

from kerhrm.description.describe import describe
from kerhrm.description.result import Description
from kerhrm.description.split import split_again
from kerhrm.errors import KerhrmError, KerhrmWarning, shown
from kerhrm.estimators._auxiliary import refuse_auxiliary, require_auxiliary
from kerhrm.estimators._base import computation, threads_for
from kerhrm.estimators._described import FittedTable, known_of
from kerhrm.estimators._parameters import draw_seed
from kerhrm.estimators._start import GivenRows
from kerhrm.progress import shown_if
from kerhrm.tables.data import read_features
from kerhrm.tables.loaders import unloaded
from kerhrm.tables.units import far_outside

#: half samples of ``stability``
TIMES = 10


class Describing:
    """``describe`` and ``outside`` of KerHRM's estimators."""

    _unsaved = frozenset({"_given"})
    #: what the last fit was given; None in a copy, or a file
    _given: GivenRows | None = None
    #: losses of points that the models have not seen; None where KerHRM was not fitted
    _losses: dict[str, np.ndarray] | None = None

    def describe(
        self: Any,
        X: Any = None,
        y: Any = None,
        *,
        auxiliary: Any = None,
        sample_weight: Any = None,
        stability: int = TIMES,
        random_state: Any = 0,
    ) -> Description:
        """Describe the rows of the fit: their environments, and who predicts better.

        Where KerHRM predicts, the environments are those of the fit.  Where a numeric
        target is predicted by ERM, they are the most likely mixture of regressions on
        the columns, which exists in noise as well: the mark says so, and ``predict``,
        ``environments_`` and ``predict_environment_proba`` stay those of ERM.  Two
        labels have no mixture of their own, so that there the fit's environments are
        shown, if it has found any.

        Noise of any shape is the pre-test's null hypothesis.  So it does not see a
        hidden shift of the level alone, the commonest difference in real tables; the
        mixture and the dip of the residuals may.

        Parameters
        ----------
        X, y : array-like, optional
            The rows of the fit again, in their order.  By default those that ``fit``
            was given; a model that was copied or loaded does not have them.
        auxiliary, sample_weight : array-like, optional
            As in ``fit``, for rows that are given again.
        stability : int, default=10
            Half samples, each with a seed of its own, that are split again: of a
            mixture by EM alone, else by fits with the chosen k, alpha and iteration.
            0 skips them.
        random_state : int, RandomState or None, default=0
            Seed of these samples, of the bootstrap and of the mixture's starts.

        Returns
        -------
        Description
            ``print`` shows it, and its fields have the tables.

        Raises
        ------
        KerhrmError
            If the rows are not there, or are not those of the fit.
        """
        check_is_fitted(self)
        times = _times(stability)
        seed = draw_seed(random_state)
        given = self._rows_of_fit(X, y, auxiliary, sample_weight)
        with (
            warnings.catch_warnings(),
            computation(self.n_jobs),
            torch.no_grad(),
            shown_if(self.verbose),
        ):
            warnings.simplefilter("ignore", KerhrmWarning)
            table = FittedTable.read(self, given)
            with threads_for(self.n_jobs, table.x.shape):
                known = known_of(self, table, seed)

                def relabel(half: np.ndarray, number: int) -> np.ndarray | None:
                    if known.mixture is not None:
                        return split_again(table.rows, half, known.mixture, number)
                    return table.fitted_again(self, half, number)

                return describe(known, relabel, times, seed)

    def _rows_of_fit(
        self: Any, X: Any, y: Any, auxiliary: Any, sample_weight: Any
    ) -> GivenRows:
        """Rows that are given again, or those that the fit was given."""
        if X is None and y is None:
            _refuse_alone(auxiliary=auxiliary, sample_weight=sample_weight)
            if self._given is None:
                extra = "" if self._columns is None else ", auxiliary=..."
                problem = "this model was copied or loaded, without the rows of its fit"
                raise KerhrmError(problem, f"give describe(X, y{extra}) with them")
            return self._given
        X, y = unloaded(X, y)
        if X is None or y is None:
            problem = f"describe has no {'X' if X is None else 'y'}"
            raise KerhrmError(problem, "give both X and y, or neither")
        if self._columns is None:
            refuse_auxiliary(auxiliary)
        else:
            require_auxiliary(auxiliary)
        return GivenRows(X, y, sample_weight=sample_weight, auxiliary=auxiliary)

    def outside(self: Any, X: Any) -> pd.DataFrame:
        """Columns in which rows lie outside the range of the fit, and how many do.

        ``predict`` warns of rows that lie far outside, by half of a column's range or
        more, and names the column with most of them.  This lists all, by any distance:
        a table for a look before predicting, where a warning for each row that is a
        little larger than any before would be noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to be predicted.

        Returns
        -------
        DataFrame
            A row for each such column: ``low`` and ``high``, its range in the fit,
            ``rows`` outside it, how many of these are ``far``, and the ``least`` and
            ``largest`` value in X.
        """
        check_is_fitted(self)
        x = read_features(self, X, reset=False)
        low, high = self._range
        far = far_outside(x, low, high)
        outside_of_range = (x < low) | (x > high)
        columns = {
            "low": low,
            "high": high,
            "rows": outside_of_range.sum(0),
            "far": far.sum(0),
            "least": x.min(0),
            "largest": x.max(0),
        }
        numbered = range(x.shape[1])
        names = getattr(self, "feature_names_in_", numbered)
        index = pd.Index(names, name="column")
        table = pd.DataFrame(columns, index)
        some_rows = table["rows"] > 0
        found = table[some_rows]
        return found.sort_values("rows", ascending=False, kind="stable")


def _refuse_alone(**given: Any) -> None:
    """Refuse arguments that belong to rows, where no rows are given."""
    for name, argument in given.items():
        if argument is not None:
            problem = f"describe has {name}, and neither X nor y"
            raise KerhrmError(problem, f"give X and y as well, or leave {name} out")


def _times(stability: Any) -> int:
    """Number of half samples.

    Raises KerhrmError if it is no whole number of 0 or more.
    """
    truth_value = isinstance(stability, bool)
    whole = isinstance(stability, numbers.Integral) and not truth_value
    if not whole or stability < 0:
        problem = "stability must be a whole number of 0 or more; got"
        got = shown(stability)
        raise KerhrmError(f"{problem} {got}", "use stability=10")
    return int(stability)
