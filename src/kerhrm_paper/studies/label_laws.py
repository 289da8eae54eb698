"""Laws of two labels: one function of six inputs, or a feature that flips."""

from collections.abc import Callable

import numpy as np

from kerhrm_paper.studies.laws import MEAN, Points
from kerhrm_paper.studies.noises import Rows
from kerhrm_paper.studies.study import Array

#: function of six inputs (n, 6) whose sign is the label
Shape = Callable[[Array], Array]


def linear(x: Array) -> Array:
    """Linear in four inputs."""
    return x @ MEAN


def curved(x: Array) -> Array:
    """A parabola parts the labels."""
    first, second, *_ = x.T
    return first + second**2 - 1


def non_monotone(x: Array) -> Array:
    """A wave of the first input."""
    first, second, *_ = x.T
    wave = np.sin(2 * first)
    return wave + 0.3 * second


def xor(x: Array) -> Array:
    """Whether two inputs have the same sign."""
    first, second, *_ = x.T
    return first * second


def unbalanced(x: Array) -> Array:
    """Linear, with few positive labels."""
    return x @ MEAN - 1.8


def sum_of_steps(x: Array) -> Array:
    """Whether at least three inputs are positive."""
    signs = np.sign(x)
    return signs.sum(1) + 0.5


def larger_of_two(x: Array) -> Array:
    """The larger of two inputs, moved by a third."""
    first, second, third, *_ = x.T
    larger = np.maximum(first, second)
    return larger - 0.5 + 0.3 * third


def product_of_three(x: Array) -> Array:
    """An input and the product of three others."""
    first, second, third, fourth, *_ = x.T
    product = second * third * fourth
    return first + product


FEW: dict[str, Shape] = {
    "linear": linear,
    "curved": curved,
    "non-monotone": non_monotone,
    "xor": xor,
}
#: the last three were never looked at in development
OTHERS: dict[str, Shape] = {
    "unbalanced": unbalanced,
    "sum of steps": sum_of_steps,
    "larger of two": larger_of_two,
    "product of three": product_of_three,
}
SHAPES = FEW | OTHERS


def one_law(rows: Rows, shape: Shape, wrong: float) -> Points:
    """Labels of one function, a share of them wrong at random."""
    x = rows.normal(6)
    right = shape(x) > 0
    return x, right ^ rows.hidden(wrong)


def flipped(rows: Rows, share: float, right: float = 1.0) -> tuple[Array, Array, Array]:
    """Four inputs that the label moves everywhere, and two that it moves the other way
    in a hidden share of the rows.

    Where these two are ``right`` in fewer than all rows, they are turned in the others
    by chance, whatever environment these belong to.

    Returns inputs, labels and whether a row is of that share.
    """
    y = rows.hidden(0.5)
    hidden = rows.hidden(share)
    sign = np.where(y, 1.0, -1.0)
    signal = 0.6 * sign
    stable = rows.normal(4)
    stable += signal[:, None]
    spurious_sign = np.where(hidden, -sign, sign)
    if right < 1:
        by_chance = rows.hidden(1 - right)
        spurious_sign = np.where(by_chance, -spurious_sign, spurious_sign)
    noise = rows.normal(2)
    noise = 0.3 * noise
    spurious = spurious_sign[:, None] + noise
    x = np.column_stack([stable, spurious])
    return x, y, hidden


#: inputs (n, d) of mean zero and variance 1, by rows and d
Inputs = Callable[[Rows, int], Array]


def skewed(rows: Rows, d: int) -> Array:
    """Independent exponential inputs."""
    shape = rows.n, d
    return rows.random.exponential(size=shape) - 1


def half_binary(rows: Rows, d: int) -> Array:
    """Independent inputs; every second one is yes or no, yes in two fifths."""
    x = rows.normal(d)
    shape = rows.n, d // 2
    draws = rows.random.random(shape)
    is_yes = draws < 0.4
    x[:, 1::2] = (is_yes - 0.4) / np.sqrt(0.24)
    return x


INPUTS: dict[str, Inputs] = {
    "normal": Rows.normal,
    "skewed": skewed,
    "half yes or no": half_binary,
}
#: standard deviation of the log odds: some 12 % of the labels cannot be predicted
LOG_ODDS = 5.0


def logistic(rows: Rows, inputs: Inputs, d: int) -> Points:
    """Labels with P(1 | x) = 1 / (1 + exp(-f(x))), f linear in all of d inputs.

    Slopes fall from 1 to .3 of the first one.
    """
    x = inputs(rows, d)
    slopes = np.linspace(1, 0.3, d)
    length = np.linalg.norm(slopes)
    f = LOG_ODDS * (x @ slopes) / length
    odds = np.exp(-f)
    probability = 1 / (1 + odds)
    y = rows.hidden(probability)
    return x, y.astype(int)
