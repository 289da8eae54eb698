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
    odds = np.exp(-log_odds)
    probability = 1 / (1 + odds)
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
    log_odds = 2 * x[:, 0]
    return x, logistic(rows, log_odds)


def four_levels(rows: Rows) -> Points:
    """One column of four levels, two of them mostly positive."""
    level = levels(rows, 4)
    positive = np.array([0.1, 0.2, 0.8, 0.9])
    x = indicators(level, 4)
    probability = positive[level]
    return x, rows.hidden(probability)


def thirty_levels(rows: Rows) -> Points:
    """One column of thirty levels, every second of them mostly positive."""
    level = levels(rows, 30)
    is_even = level % 2 == 0
    positive = np.where(is_even, 0.1, 0.9)
    x = indicators(level, 30)
    return x, rows.hidden(positive)


def two_of_levels(rows: Rows) -> Points:
    """Two columns, of six and of three levels."""
    first = levels(rows, 6)
    second = levels(rows, 3)
    slopes = np.array([-3, -2, -1, 1, 2, 3])
    log_odds = slopes[first] + second - 1
    of_first = indicators(first, 6)
    of_second = indicators(second, 3)
    x = np.hstack([of_first, of_second])
    return x, logistic(rows, log_odds)


def passengers(rows: Rows) -> Points:
    """Sex, class, age and fare of passengers, of whom some survive."""
    man = rows.hidden(0.6)
    passenger_class = 1 + levels(rows, 3)
    noise_of_age = rows.noise()
    age = 30 + 14 * noise_of_age
    noise = 0.5 * rows.noise()
    log_fare = 3 - 0.6 * passenger_class + noise
    fare = np.exp(log_fare)
    of_class = passenger_class - 2
    of_age = 0.02 * (age - 30)
    of_sex = 2.6 * man
    log_odds = 1.2 - of_sex - of_class - of_age
    x = np.column_stack([man, passenger_class, age, fare])
    return x, logistic(rows, log_odds)


def answers(rows: Rows) -> Points:
    """Eight answers yes or no, three of which matter."""
    share = np.linspace(0.1, 0.9, 8)
    shape = (rows.n, 8)
    draws = rows.random.random(shape)
    is_yes = draws < share
    x = is_yes.astype(float)
    first, second, third, *_ = x.T
    interaction = second * third
    log_odds = 3 * first + 2 * interaction - 2.5
    return x, logistic(rows, log_odds)


def nearly_equal(rows: Rows) -> Points:
    """Five columns that correlate by .99; the label is the sign of a difference."""
    shared = rows.normal(1)
    noise = 0.1 * rows.normal(5)
    x = np.sqrt(0.99) * shared + noise
    first, second, third, *_ = x.T
    return x, first - second + 0.2 * third > 0


def one_strong(rows: Rows) -> Points:
    """Six numbers, one of which matters."""
    x = rows.normal(6)
    log_odds = 4 * x[:, 0]
    return x, logistic(rows, log_odds)


def counts(rows: Rows) -> Points:
    """Five counts, two of which matter."""
    shape = (rows.n, 5)
    draws = rows.random.poisson(1, size=shape)
    x = draws.astype(float)
    first, second, *_ = x.T
    log_odds = 1.5 * (first - second)
    return x, logistic(rows, log_odds)


def scales(rows: Rows) -> Points:
    """Twenty-five items on a scale from 1 to 5, one of which matters."""
    shape = (rows.n, 25)
    answer = rows.random.integers(5, size=shape)
    x = 1.0 + answer
    first, *_ = x.T
    log_odds = 1.5 * (first - 3)
    return x, logistic(rows, log_odds)


def two_measurements(rows: Rows) -> Points:
    """Two measurements of the label, and two columns that say nothing."""
    y = rows.hidden(0.5)
    sign = np.where(y, 1.0, -1.0)
    deviations = [0.6, 1.2]
    noise = rows.normal(2) * deviations
    measured = sign[:, None] + noise
    others = rows.normal(2)
    x = np.hstack([measured, others])
    return x, y


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
