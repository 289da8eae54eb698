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

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kerhrm_paper.runs.arrays import load_arrays

Outputs = Mapping[str, np.ndarray]  #: "train" (S, n), "test" (S, m), and others
#: constant predictions that each kind of table shows: title and value (None: mean
#: training label)
CONSTANTS: dict[str, tuple[str, float | None]] = {
    **dict.fromkeys(("accuracy", "shift"), ("ref: majority", None)),
    "mean_error": ("ref: predict zero", 0.0),
    "period": ("ref: predict the mean", None),
}


@dataclass(frozen=True)
class Labels:
    """Labels of one setting, test labels among them."""

    train: np.ndarray  #: (S, n)
    test: np.ndarray  #: (S, m)
    test_environment: np.ndarray  #: (m,), the same for all seeds
    source: str  #: of the data
    names: list[str]  #: of the test environments
    unit: np.ndarray  #: (S,), unit of y relative to that of the tables
    x: np.ndarray  #: (S, n, d) training points

    @classmethod
    def load(cls, folder: Path, n_seeds: int) -> "Labels":
        """Read the labels of the first ``n_seeds`` replicates of ``DATA/SETTING``."""
        parts = (
            load_arrays(folder / "data" / f"{name}.npz")
            for name in ("train", "test_labels")
        )
        (train, facts), (test, _) = parts
        y = train["y"][:n_seeds], test["y"][:n_seeds], test["environment"][0]
        more = test["unit"][:n_seeds], train["x"][:n_seeds]
        return cls(*y, facts["source"], facts["test_environments"], *more)


def accuracy(outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of points with the right sign: (..., m) and (..., m) to (...)."""
    return np.mean((outputs > 0) == (y > 0), axis=-1)


def environment_errors(
    outputs: np.ndarray, y: np.ndarray, environment: np.ndarray
) -> np.ndarray:
    """Mean squared error of every test environment.

    Shapes (..., m), (..., m), (m,) to (..., E).
    """
    squared = (outputs.astype(np.float64) - y) ** 2
    numbers = np.unique(environment)
    return np.stack(
        [squared[..., environment == e].mean(axis=-1) for e in numbers], axis=-1
    )


def metrics(
    outputs: Outputs, labels: Labels, kind: str
) -> dict[tuple[str, str], np.ndarray]:
    """Values per seed (S,), by (test environment or "", metric), of outputs ``train``
    and ``test``.

    The kinds are ``accuracy``: ``train_acc``, ``test_acc``, their difference
    ``generalisation_gap`` and, where there are several test environments,
    ``worst_acc``, the lowest of theirs; ``mean_error``: ``mean_error`` and
    ``error_sd``, mean and standard deviation (ddof = 1) of the mean squared errors of
    the test environments (paper, section 5); ``shift`` and ``period``: ``test_acc`` and
    ``mse`` of every test environment.
    """
    if kind in ("accuracy", "shift"):
        wrong = (outputs["test"] > 0) != (labels.test > 0)
        # (S, E)
        each = 1 - environment_errors(wrong, np.zeros(()), labels.test_environment)
        if kind == "shift":
            return {
                (name, "test_acc"): each[:, e] for e, name in enumerate(labels.names)
            }
        train = accuracy(outputs["train"], labels.train)
        test = accuracy(outputs["test"], labels.test)
        found = {
            ("", "train_acc"): train,
            ("", "test_acc"): test,
            ("", "generalisation_gap"): test - train,
        }
        if len(labels.names) > 1:
            found["", "worst_acc"] = each.min(-1)
        return found
    errors = environment_errors(outputs["test"], labels.test, labels.test_environment)
    errors = errors * labels.unit[:, None] ** 2  # (S, E), now comparable between seeds
    if kind == "period":
        return {
            (f"period={name}", "mse"): errors[:, e]
            for e, name in enumerate(labels.names)
        }
    return {
        ("", "mean_error"): errors.mean(-1),
        ("", "error_sd"): errors.std(-1, ddof=1),
    }


def failures(outputs: Outputs) -> list[str]:
    """Why the values of a seed cannot be trusted, one text per seed.

    Empty where they can.
    """
    every = ~np.isfinite(np.concatenate([*outputs.values()], axis=-1))
    text, size = "diverged: {} of {} outputs are not finite", every.shape[-1]
    return [text.format(wrong, size) if wrong else "" for wrong in every.sum(axis=-1)]


def references(labels: Labels, kind: str) -> dict[str, Outputs]:
    """Outputs that need no training, by title: constants.

    Of each period its own mean, too.
    """
    title, value = CONSTANTS[kind]
    found: dict[str, Outputs] = {title: constant_outputs(labels, value)}
    if kind == "period":
        own = np.empty_like(labels.test)
        for e in range(len(labels.names)):
            here = labels.test_environment == e
            own[:, here] = labels.test[:, here].mean(axis=1, keepdims=True)
        found["ref: each period's own mean"] = {
            "train": found[title]["train"],
            "test": own,
        }
    return found


def constant_outputs(labels: Labels, value: float | None) -> dict[str, np.ndarray]:
    """The same prediction everywhere.

    ``value``, or the mean training label of the seed.
    """
    level = (
        labels.train.mean(axis=1, keepdims=True)
        if value is None
        else np.full((1, 1), value)
    )
    sizes = {"train": labels.train.shape, "test": labels.test.shape}
    return {part: np.broadcast_to(level, size) for part, size in sizes.items()}


def divergence(
    responsibilities: np.ndarray, y: np.ndarray, attribute: np.ndarray
) -> np.ndarray:
    """Mean divergence of P(Y | C) between environments: (S,), NaN with a single one.

    ``responsibilities`` are (S, n, K), and an environment without any weight is left
    out; ``y`` (S, n) is -1 or +1, ``attribute`` (S, n), C, 0 or 1.
    """
    r = responsibilities.astype(np.float64)
    # (S, 2, n)
    has = np.stack([attribute == 0, attribute == 1], axis=1).astype(np.float64)
    positive = (has * (y > 0)[:, None]) @ r  # (S, 2, K)
    p = (positive + 0.5) / (has @ r + 1)
    shares = has.mean(-1)  # (S, 2), P(c)
    e, f = p[..., None], p[..., None, :]
    pairs = e * np.log(e / f) + (1 - e) * np.log((1 - e) / (1 - f))  # (S, 2, K, K)
    occupied = (r.sum(-2) > 0).astype(np.float64)  # (S, K)
    both = (occupied[..., None] * occupied[..., None, :])[:, None]
    n_environments = occupied.sum(-1)
    total = (shares * (both * pairs).sum((-2, -1))).sum(-1)
    with np.errstate(invalid="ignore"):  # 0 / 0 with a single one
        return np.asarray(total / (n_environments * (n_environments - 1)))
