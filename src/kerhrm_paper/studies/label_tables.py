"""Laws of two labels in ordinary tables of few columns, without environments.

One column says much, and the rows that it predicts wrongly look like an environment in
which it flips.  The last three laws were never looked at in development.
"""

from collections.abc import Callable

import numpy as np

from kerhrm_paper.studies.laws import Points
from kerhrm_paper.studies.noises import Rows
from kerhrm_paper.studies.study import Array

#: inputs (n, d) and labels (n,) of n rows
LabelTable = Callable[[Rows], Points]


def logistic(rows: Rows, log_odds: Array) -> Array:
    """Labels (n,) whose log-odds are given."""
    probability = 1 / (1 + np.exp(-log_odds))
    return rows.hidden(probability)


def levels(rows: Rows, n_levels: int) -> Array:
    """A column of so many equally frequent levels, as numbers from 0."""
    return rows.random.integers(n_levels, size=rows.n)


def indicators(column: Array, n_levels: int) -> Array:
    """One column of 0 and 1 for each level."""
    return np.eye(n_levels)[column]


def one_column(rows: Rows) -> Points:
    """One number."""
    x = rows.normal(1)
    return x, logistic(rows, 2 * x[:, 0])


def four_levels(rows: Rows) -> Points:
    """One column of four levels, two of them mostly positive."""
    level = levels(rows, 4)
    positive = np.array([0.1, 0.2, 0.8, 0.9])
    return indicators(level, 4), rows.hidden(positive[level])


def thirty_levels(rows: Rows) -> Points:
    """One column of thirty levels, every second of them mostly positive."""
    level = levels(rows, 30)
    positive = np.where(level % 2 == 0, 0.1, 0.9)
    return indicators(level, 30), rows.hidden(positive)


def two_of_levels(rows: Rows) -> Points:
    """Two columns, of six and of three levels."""
    first = levels(rows, 6)
    second = levels(rows, 3)
    log_odds = np.array([-3, -2, -1, 1, 2, 3])[first] + second - 1
    x = np.hstack([indicators(first, 6), indicators(second, 3)])
    return x, logistic(rows, log_odds)


def passengers(rows: Rows) -> Points:
    """Sex, class, age and fare of passengers, of whom some survive."""
    man = rows.hidden(0.6)
    passenger_class = 1 + levels(rows, 3)
    age = 30 + 14 * rows.noise()
    fare = np.exp(3 - 0.6 * passenger_class + 0.5 * rows.noise())
    log_odds = 1.2 - 2.6 * man - (passenger_class - 2) - 0.02 * (age - 30)
    x = np.column_stack([man, passenger_class, age, fare])
    return x, logistic(rows, log_odds)


def answers(rows: Rows) -> Points:
    """Eight answers yes or no, three of which matter."""
    share = np.linspace(0.1, 0.9, 8)
    x = (rows.random.random((rows.n, 8)) < share).astype(float)
    first, second, third, *_ = x.T
    return x, logistic(rows, 3 * first + 2 * second * third - 2.5)


def nearly_equal(rows: Rows) -> Points:
    """Five columns that correlate by .99; the label is the sign of a difference."""
    shared = rows.normal(1)
    x = np.sqrt(0.99) * shared + 0.1 * rows.normal(5)
    first, second, third, *_ = x.T
    return x, first - second + 0.2 * third > 0


def one_strong(rows: Rows) -> Points:
    """Six numbers, one of which matters."""
    x = rows.normal(6)
    return x, logistic(rows, 4 * x[:, 0])


def counts(rows: Rows) -> Points:
    """Five counts, two of which matter."""
    x = rows.random.poisson(1, size=(rows.n, 5)).astype(float)
    return x, logistic(rows, 1.5 * (x[:, 0] - x[:, 1]))


def scales(rows: Rows) -> Points:
    """Twenty-five items on a scale from 1 to 5, one of which matters."""
    x = 1.0 + rows.random.integers(5, size=(rows.n, 25))
    return x, logistic(rows, 1.5 * (x[:, 0] - 3))


def two_measurements(rows: Rows) -> Points:
    """Two measurements of the label, and two columns that say nothing."""
    y = rows.hidden(0.5)
    sign = np.where(y, 1.0, -1.0)
    measured = sign[:, None] + rows.normal(2) * [0.6, 1.2]
    return np.hstack([measured, rows.normal(2)]), y


TABLES: dict[str, LabelTable] = {
    "one column": one_column,
    "four levels": four_levels,
    "thirty levels": thirty_levels,
    "two columns of levels": two_of_levels,
    "passengers": passengers,
    "answers": answers,
    "nearly equal": nearly_equal,
    "one strong": one_strong,
    "counts": counts,
    "scales": scales,
    "two measurements": two_measurements,
}
