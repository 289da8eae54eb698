r"""How prediction and clustering go on over the iterations (paper, Figure 2).

For every iteration t: accuracies of the NTF predictor of theta_t, and how much the
environments that it was learned from differ in P(Y | C), C being the colour:

.. math::
    D_{KL} = \frac{1}{K (K - 1)} \sum_{e \ne f} \sum_c P(c)
    \sum_y P^e(y | c) \log \frac{P^e(y | c)}{P^f(y | c)}, \qquad
    P^e(y | c) = \frac{\sum_i r_{ie} 1[y_i = y, c_i = c] + 1/2}{\sum_i r_{ie} 1[c_i = c] + 1},

in nats, with the training points' labels and responsibilities.  The half counts (Jeffreys'
prior) keep environments without overlap finite.  True environments are not needed.

Iteration 0 is pooled ERM on Psi, which needs no environments and has no divergence: where
Algorithm 1 falls back to where there is nothing to find.  The released code's iterations are rows
of their own.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from kerhrm.algorithm.linear import predict
from kerhrm.methods.registry import ROWS, Row
from kerhrm.scoring.metrics import COLUMNS, Labels, mark, score_predictions

Arrays = Mapping[str, np.ndarray]


def divergence(responsibilities: np.ndarray, y: np.ndarray, attribute: np.ndarray) -> np.ndarray:
    """Mean divergence of P(Y | C) between environments: (B,), NaN with a single one.

    Parameters
    ----------
    responsibilities : ndarray, (B, n, K)
        An environment without any weight is left out.
    y, attribute : ndarray, (B, n)
        Labels -1 and +1; C, 0 or 1.
    """
    r = responsibilities.astype(np.float64)
    has = np.stack([attribute == 0, attribute == 1], axis=1).astype(np.float64)  # (B, 2, n)
    positive = (has * (y > 0)[:, None]) @ r  # (B, 2, K)
    p = (positive + 0.5) / (has @ r + 1)
    shares = has.mean(-1)  # (B, 2), P(c)
    e, f = p[..., None], p[..., None, :]
    pairs = e * np.log(e / f) + (1 - e) * np.log((1 - e) / (1 - f))  # (B, 2, K, K)
    occupied = (r.sum(-2) > 0).astype(np.float64)  # (B, K)
    both = (occupied[..., None] * occupied[..., None, :])[:, None]
    n_environments = occupied.sum(-1)
    total = (shares * (both * pairs).sum((-2, -1))).sum(-1)
    with np.errstate(invalid="ignore"):  # 0 / 0 with a single one
        return np.asarray(total / (n_environments * (n_environments - 1)))


def score_iterations(
    features: Arrays,
    test_features: Arrays,
    learned: Sequence[Arrays],
    history: Sequence[Arrays],
    labels: Labels,
    attribute: np.ndarray | None,
    setting: str,
    pooled: Arrays,
    released: Arrays,
) -> pd.DataFrame:
    """Scores of T iterations of a classification, with an ``attribute`` (B, n) also ``d_kl``.

    As :func:`kerhrm.scoring.metrics.score_predictions`'s, without the generalisation gap.  The
    rows' settings are ``iteration=t``, and the mark of ``setting`` follows; iteration 0 is
    pooled ERM.

    Parameters
    ----------
    features, test_features : mapping
        What :class:`kerhrm.algorithm.problem.Problem` and ``TestFeatures`` hold.
    learned, history : sequence of mapping
        What :mod:`kerhrm.algorithm.records` hold of every iteration.
    pooled, released : mapping
        What :class:`kerhrm.algorithm.prediction.FinalDirection` holds of pooled ERM, and
        :class:`kerhrm.released.train.ReleasedIteration` of every iteration, (T, B, ...).
    """
    points = {
        "train": (features["u"] * features["s"][:, None], features["f0_train"]),
        "validation": (features["psi_validation"], features["f0_validation"]),
        "test": (test_features["psi"], test_features["f0"]),
    }
    parts = []
    for row, t, theta, r in _iterations(learned, history, pooled, released):
        outputs = {part: predict(psi, f0, theta) for part, (psi, f0) in points.items()}
        name = f"iteration={t}{mark(setting)}"
        scores = score_predictions(
            outputs, labels, "accuracy", setting=name, method=row.title, selection=row.rule
        )
        parts.append(scores[scores["metric"] != "generalisation_gap"])
        if attribute is None or r is None:
            continue
        values = divergence(r, features["y"], attribute).tolist()
        rows = [
            (name, row.title, seed, "d_kl", value, row.rule, labels.source, "")
            for seed, value in zip(labels.seeds, values, strict=True)
        ]
        parts.append(pd.DataFrame(rows, columns=COLUMNS))
    return pd.concat(parts, ignore_index=True)


def _iterations(
    learned: Sequence[Arrays], history: Sequence[Arrays], pooled: Arrays, released: Arrays
) -> Iterator[tuple[Row, int, np.ndarray, np.ndarray | None]]:
    """Row, t, theta (B, k_max) and responsibilities (B, n, K) of all that there is to score."""
    described, other = ROWS["kerhrm-ntf"], ROWS["released"]
    yield described, 0, pooled["theta"], None
    for t, (environments, directions) in enumerate(zip(learned, history, strict=True), start=1):
        yield described, t, winner(directions, "theta"), of_winner(environments, directions)
    for t, theta in enumerate(released["theta"], start=1):
        yield other, t, theta, released["members"][t - 1]


def winner(directions: Arrays, name: str) -> np.ndarray:
    """A field of the chosen direction of every seed, (B, ...)."""
    chosen = directions["chosen"]
    return directions[name][np.arange(len(chosen)), chosen]


def of_winner(environments: Arrays, directions: Arrays) -> np.ndarray:
    """Responsibilities (B, n, K) of the candidate k that the chosen direction has."""
    at = (environments["k"] == winner(directions, "k")[:, None]).argmax(1)
    return environments["train"][np.arange(len(at)), at]
