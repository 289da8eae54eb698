"""Arguments of the test for heterogeneity, read and checked."""

from datetime import date, time, timedelta
from typing import Any

import numpy as np
from torch import Tensor

from kerhrm.errors import InputTypeError, KerhrmError
from kerhrm.given import LARGEST, refuse_lazy
from kerhrm.heterogeneity.result import MIN_POINTS

#: objects of dates, times and durations
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)


def numbers_of(name: str, array: Any, ensure_2d: bool = True) -> np.ndarray:
    """An argument in double precision, with NaN in masked cells; refuse text."""
    # these take a second to import, and most jobs do without
    import pandas as pd
    from scipy.sparse import issparse

    from kerhrm.scikit_learn import check_array

    times = (*TIMES, pd.Period)
    refuse_lazy(array, name)
    if issparse(array):
        problem = f"{name} must hold numbers; got a sparse matrix"
        raise InputTypeError(problem, f"give {name}.toarray()")
    hint = "give numbers of n rows and k columns"
    try:
        if isinstance(array, Tensor):
            array = array.detach().double().cpu().numpy()
        cells = np.asarray(array)
        if cells.dtype.kind in "OUS":
            hint = "encode text first; labels of a class cannot be tested"
        objects = cells.flat if cells.dtype == object else ()
        if cells.dtype.kind in "mM" or any(isinstance(v, times) for v in objects):
            hint = "give a number for each, as days since a date"
            raise TypeError("got dates or durations")
        if np.ma.is_masked(array):
            numbers = array.astype(float)
            array = np.ma.filled(numbers, np.nan)
        return check_array(array, dtype=np.float64, ensure_2d=ensure_2d)
    except (ValueError, TypeError) as error:
        lines = str(error).split("\n")
        first_line, *_ = lines
        problem = f"{name} must hold numbers ({first_line})"
        raise KerhrmError(problem, hint) from error


def check_points(features: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Refuse arrays of other lengths, of values that are not finite or enormous, or of
    features that do not vary."""
    n = len(features)
    if len(x) != n or y.shape != (n,):
        shapes = f"features {features.shape}, inputs {x.shape}, labels {y.shape}"
        problem = f"{shapes} do not fit"
        raise KerhrmError(problem, "give one row of each for every point")
    column = y[:, None]
    arrays = {"features": features, "x": x, "y": column}
    for name, array in arrays.items():
        finite_cells = np.isfinite(array)
        small_cells = np.abs(array) < LARGEST
        finite = finite_cells.all(axis=1)
        small = small_cells.all(axis=1)
        if not finite.all():
            row = f"row {finite.argmin()} (counted from 0)"
            problem = f"{name} must be finite; {row} is not"
            raise KerhrmError(problem, "drop such rows")
        if not small.all():
            row = f"row {small.argmin()} (counted from 0)"
            problem = f"{name} must be below {LARGEST:g} in size; {row} is not"
            raise KerhrmError(problem, "divide by a constant, or drop such rows")
    if not features.any():
        raise KerhrmError("features are all zero", "give columns that vary")
    if not np.ptp(features, axis=0).any():
        raise KerhrmError("features are all constant", "give columns that vary")


def check_number(n: int, n_given: int) -> None:
    """Refuse too few points, n different ones of so many."""
    if n < MIN_POINTS:
        problem = f"n={n} points are too few to test"
        if n < n_given:
            problem = f"n={n} different points are too few to test"
            problem += f"; the others of {n_given} repeat them"
        raise KerhrmError(problem, f"use {MIN_POINTS} or more")
