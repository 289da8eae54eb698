r"""Values of one predictor on each seed, from its outputs and all labels.

For the iterations of a clustering (paper, Figure 2) also how much the inferred
environments differ in P(Y | C), C being the colour:

.. math::
    D_{KL} = \frac{1}{K (K - 1)} \sum_{e \ne f} \sum_c P(c) \sum_y P^e(y | c) \log
    \frac{P^e(y | c)}{P^f(y | c)}, \qquad P^e(y | c) = \frac{\sum_i r_{ie} 1[y_i = y,
    c_i = c] + 1/2}{\sum_i r_{ie} 1[c_i = c] + 1},

in nats, with the training points' labels and responsibilities.  The half counts
(Jeffreys' prior) keep environments without overlap finite.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kerhrm_paper.config.references import CONSTANTS, PERIOD_MEANS
from kerhrm_paper.runs.arrays import load_arrays

Outputs = Mapping[str, np.ndarray]  #: "train" (S, n), "test" (S, m), and others
#: (S,), by test environment or "", and metric
SeedValues = dict[tuple[str, str], np.ndarray]


@dataclass(frozen=True)
class Labels:
    """Labels of one setting, test labels among them."""

    train: np.ndarray  #: (S, n)
    test: np.ndarray  #: (S, m)
    test_environment: np.ndarray  #: (m,), the same for all seeds
    source: str  #: of the data
    names: list[str]  #: of the test environments
    n_headline: int  #: how many of them, the first ones, the headline is of
    unit: np.ndarray  #: (S,), unit of y relative to that of the tables
    x: np.ndarray  #: (S, n, d) training points

    @classmethod
    def load(cls, folder: Path, n_seeds: int) -> "Labels":
        """Read the labels of the first ``n_seeds`` replicates of ``RUN/DATA``."""
        train, facts = load_arrays(folder / "data" / "train.npz")
        test, _ = load_arrays(folder / "data" / "test_labels.npz")
        return cls(
            train=train["y"][:n_seeds],
            test=test["y"][:n_seeds],
            test_environment=test["environment"][0],
            source=facts["source"],
            names=facts["test_environments"],
            n_headline=facts["n_headline"],
            unit=test["unit"][:n_seeds],
            x=train["x"][:n_seeds],
        )


def accuracy(outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of points with the right sign: (..., m) and (..., m) to (...)."""
    is_right = (outputs > 0) == (y > 0)
    return np.mean(is_right, axis=-1)


def environment_errors(
    outputs: np.ndarray, y: np.ndarray, environment: np.ndarray
) -> np.ndarray:
    """Mean squared error of every test environment.

    Shapes (..., m), (..., m), (m,) to (..., E).
    """
    difference = outputs.astype(np.float64) - y
    squared = difference**2
    return environment_means(squared, environment)


def environment_means(values: np.ndarray, environment: np.ndarray) -> np.ndarray:
    """Mean over the points of every test environment.

    Shapes (..., m), (m,) to (..., E).
    """
    means = []
    for number in np.unique(environment):
        is_in = environment == number
        of_environment = values[..., is_in]
        mean = of_environment.mean(axis=-1)
        means.append(mean)
    return np.stack(means, axis=-1)


def metrics(outputs: Outputs, labels: Labels, kind: str) -> SeedValues:
    """Values per seed of outputs ``train`` and ``test``.

    Parameters
    ----------
    outputs : mapping of str to ndarray, (S, points)
        By part.
    labels : Labels
        Of the same points.
    kind : str
        ``accuracy``: ``train_acc``, ``test_acc`` on the headline's test environments,
        their difference ``generalisation_gap`` and, where there are several test
        environments, ``worst_acc``, the lowest accuracy in one of all; ``mean_error``:
        ``mean_error`` and, of several, ``error_sd``, mean and standard deviation (ddof
        = 1) of the mean squared errors of the headline's test environments (paper,
        section 5), and, of several in all, ``worst_error``, the largest of all;
        ``shift`` and ``period``: ``test_acc`` and ``mse`` of every test environment.

    Returns
    -------
    dict of (str, str) to ndarray, (S,)
        By test environment, or "", and metric.
    """
    if kind in ("accuracy", "shift"):
        outputs_at_test = outputs["test"]
        accuracies = _test_accuracies(outputs_at_test, labels)
        if kind == "shift":
            return _by_environment(accuracies, labels.names, "{}", "test_acc")
        return _accuracies(outputs, labels, accuracies)
    environment = labels.test_environment
    errors = environment_errors(outputs["test"], labels.test, environment)
    squared_unit = labels.unit[:, None] ** 2
    errors = errors * squared_unit  # (S, E), now comparable between seeds
    if kind == "period":
        return _by_environment(errors, labels.names, "period={}", "mse")
    of_headline = errors[:, : labels.n_headline]
    values = {("", "mean_error"): of_headline.mean(-1)}
    if labels.n_headline > 1:
        values["", "error_sd"] = of_headline.std(-1, ddof=1)
    if len(labels.names) > 1:
        worst = errors.max(-1)
        values["", "worst_error"] = worst
    return values


def _test_accuracies(outputs: np.ndarray, labels: Labels) -> np.ndarray:
    """Accuracy of every seed in every test environment, (S, E)."""
    is_positive = outputs > 0
    is_one = labels.test > 0
    is_wrong = is_positive != is_one
    wrong = is_wrong.astype(np.float64)
    errors = environment_means(wrong, labels.test_environment)
    return 1 - errors


def _by_environment(
    values: np.ndarray, names: Sequence[str], form: str, metric: str
) -> SeedValues:
    """Values (S, E) of a metric, by the environments' names in a format."""
    of_environments = {}
    for name, column in zip(names, values.T, strict=True):
        setting = form.format(name)
        of_environments[setting, metric] = column
    return of_environments


def _accuracies(outputs: Outputs, labels: Labels, accuracies: np.ndarray) -> SeedValues:
    train = accuracy(outputs["train"], labels.train)
    is_headline = labels.test_environment < labels.n_headline
    outputs_at_test = outputs["test"]
    headline_outputs = outputs_at_test[:, is_headline]
    headline_labels = labels.test[:, is_headline]
    test = accuracy(headline_outputs, headline_labels)
    values = {
        ("", "train_acc"): train,
        ("", "test_acc"): test,
        ("", "generalisation_gap"): test - train,
    }
    if len(labels.names) > 1:
        worst = accuracies.min(-1)
        values["", "worst_acc"] = worst
    return values


def failures(outputs: Outputs) -> list[str]:
    """Why the values of a seed cannot be trusted, one text per seed.

    Empty where they can.
    """
    parts = list(outputs.values())
    of_all_parts = np.concatenate(parts, axis=-1)
    n_outputs = of_all_parts.shape[-1]
    reasons = []
    is_wrong = ~np.isfinite(of_all_parts)
    for n_wrong in is_wrong.sum(axis=-1):
        reason = f"diverged: {n_wrong} of {n_outputs} outputs are not finite"
        reasons.append(reason if n_wrong else "")
    return reasons


def references(labels: Labels, kind: str) -> dict[str, Outputs]:
    """Outputs that need no training, by title: constants.

    Of each period its own mean, too.
    """
    title, value = CONSTANTS[kind]
    constant = constant_outputs(labels, value)
    outputs: dict[str, Outputs] = {title: constant}
    if kind == "period":
        outputs[PERIOD_MEANS] = {
            "train": constant["train"],
            "test": _period_means(labels),
        }
    return outputs


def _period_means(labels: Labels) -> np.ndarray:
    """For every test point the mean label of its period, (S, m)."""
    means = np.empty_like(labels.test)
    n_periods = len(labels.names)
    for number in range(n_periods):
        of_period = labels.test_environment == number
        y = labels.test[:, of_period]
        mean = y.mean(axis=1, keepdims=True)
        means[:, of_period] = mean
    return means


def constant_outputs(labels: Labels, value: float | None) -> dict[str, np.ndarray]:
    """The same prediction everywhere.

    ``value``, or the mean training label of the seed.
    """
    if value is None:
        level = labels.train.mean(axis=1, keepdims=True)
    else:
        level = np.full((1, 1), value)
    n_train = labels.train.shape
    n_test = labels.test.shape
    return {
        "train": np.broadcast_to(level, n_train),
        "test": np.broadcast_to(level, n_test),
    }


def divergence(
    responsibilities: np.ndarray, y: np.ndarray, attribute: np.ndarray
) -> np.ndarray:
    """Mean divergence of P(Y | C) between environments, by the formula above.

    Parameters
    ----------
    responsibilities : ndarray, (S, n, K)
        An environment without any weight is left out.
    y : ndarray, (S, n)
        Labels, -1 or +1.
    attribute : ndarray, (S, n)
        C, 0 or 1.

    Returns
    -------
    ndarray, (S,)
        NaN with a single environment.
    """
    r = responsibilities.astype(np.float64)
    colours = [attribute == 0, attribute == 1]
    is_colour = np.stack(colours, axis=1)
    of_colour = is_colour.astype(np.float64)  # (S, 2, n)
    of_class = y > 0
    of_both = of_colour * of_class[:, None]
    n_positive = of_both @ r  # (S, 2, K)
    n_points = of_colour @ r
    n_smoothed = n_positive + 0.5
    p = n_smoothed / (n_points + 1)  # P^e(y = 1 | c)
    pairs = _divergences(p)
    weights = r.sum(-2)
    has_points = weights > 0
    is_occupied = has_points.astype(np.float64)  # (S, K)
    is_first = is_occupied[..., None]
    is_second = is_occupied[..., None, :]
    are_both = is_first * is_second
    between_occupied = are_both[:, None] * pairs
    by_colour = between_occupied.sum((-2, -1))
    p_colour = of_colour.mean(-1)  # (S, 2)
    weighted = p_colour * by_colour
    total = weighted.sum(-1)
    n_environments = is_occupied.sum(-1)
    n_pairs = n_environments * (n_environments - 1)
    with np.errstate(invalid="ignore"):  # 0 / 0 with a single one
        return np.asarray(total / n_pairs)


def _divergences(p: np.ndarray) -> np.ndarray:
    """Divergences (..., K, K) between Bernoulli distributions of probabilities p
    (..., K)."""
    p_e = p[..., None]
    p_f = p[..., None, :]
    ratio = p_e / p_f
    of_positive = p_e * np.log(ratio)
    negative_e = 1 - p_e
    ratio = negative_e / (1 - p_f)
    of_negative = negative_e * np.log(ratio)
    both = of_positive + of_negative
    return np.asarray(both)
