"""What was found in a user's table: environments, what tells them apart, and the target in each.

Of semi-synthetic tables the hidden rows are compared with the learned environments; of others
nothing is known that could be.
"""

import json
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split

from kerhrm.randomness import entropy
from kerhrm.storage.arrays import load_arrays

Arrays = dict[str, np.ndarray]
#: of a seed that importances are measured on, and that a picture shows
ROWS, SHOWN = 2000, 600
REPEATS = 5  #: permutations of each column
BINS = 5  #: of a column, equally many points in each, by which shares of labels are told
TARGET = "the target"


def describe(
    train: str | PathLike[str],
    environments: Sequence[str | PathLike[str]],
    direction: str | PathLike[str] | None,
    truth: str | PathLike[str] | None,
    seeds: Sequence[int | str],
) -> dict[str, Any]:
    """JSON-able: ``about`` the data, their ``task``, and of each seed what was ``found``.

    Parameters
    ----------
    train : path
        Training points of a :class:`kerhrm.data.dataset.Dataset` that has facts ``about`` it.
    environments : sequence of paths
        Files of :class:`kerhrm.algorithm.records.Environments`, one of each iteration.
    direction : path, optional
        :class:`kerhrm.algorithm.prediction.FinalDirection`, absent without KerHRM.
    truth : path, optional
        The data set's true environments.
    seeds : sequence, length B
        Names of the replicates.
    """
    points, facts = load_arrays(train)
    told = {"about": facts["about"], "source": facts["source"], "task": facts["task"], "found": []}
    if direction is None:
        return told
    end, learned = load_arrays(direction)[0], [load_arrays(path)[0] for path in environments]
    hidden = load_arrays(truth)[0]["train"] if truth else None
    for b, seed in enumerate(seeds):
        x, y = points["x"][b].astype(np.float64), points["y"][b].astype(np.float64)
        r = responsibilities(learned, end, b)
        found = one_seed(x, y, r, facts["about"]["features"], facts["task"], number=b)
        found |= {"seed": seed, "iteration": int(end["iteration"][b]), "k": int(end["k"][b])}
        if hidden is not None:
            found["adjusted_rand"] = float(adjusted_rand_score(hidden[b], r.argmax(1)))
        told["found"].append(found)
    return told


def responsibilities(learned: Sequence[Arrays], end: Arrays, b: int) -> np.ndarray:
    """P(environment | point) (n, E) that the final direction of seed b was learned from.

    They are the newest ones of its iteration; of pooled ERM, which has none, the first iteration's
    of the likeliest dimension.  Environments without a point are left out.
    """
    iteration = int(end["iteration"][b])
    found = learned[max(iteration, 1) - 1]
    k = found["k"][b]
    at = int((k == end["k"][b]).argmax()) if iteration else int(found["held_out"][b].argmax())
    r = found["train"][b, at].astype(np.float64)
    return np.asarray(r[:, r.sum(0) > 0])


def one_seed(
    x: np.ndarray, y: np.ndarray, r: np.ndarray, features: Sequence[str], task: str, number: int
) -> dict[str, Any]:
    """Of memberships (n, E) of points x (n, d), y (n,): what :func:`describe` tells of a seed."""
    column, importance = tell_apart(x, y, r.argmax(1), number)
    names = [*features, TARGET]
    order = np.argsort(-importance, kind="stable")
    best = x[:, column]
    chosen = np.random.default_rng(number).permutation(len(y))[:SHOWN]
    return {
        "shares": r.mean(0).tolist(),
        "importance": {names[i]: float(importance[i]) for i in order},
        "target": np.average(np.tile(y[:, None], r.shape[1]), axis=0, weights=r).tolist(),
        "column": features[column],
        "relation": shares_of_labels(best, y, r) if task == "classification" else slopes(x, y, r),
        "points": {
            "x": best[chosen].round(4).tolist(),
            "y": y[chosen].round(4).tolist(),
            "environment": r[chosen].argmax(1).tolist(),
        },
    }


def tell_apart(
    x: np.ndarray, y: np.ndarray, environment: np.ndarray, number: int
) -> tuple[int, np.ndarray]:
    """The column that tells environments apart best, and how much each, and the target, does.

    By permutation importance: how much accuracy a boosted classifier of the environment, given the
    columns and the target, loses on rows that it has not seen when a column is shuffled; zero where
    there is one environment.
    """
    importance = np.zeros(x.shape[1] + 1)
    counts = np.bincount(environment)
    if (counts > 0).sum() > 1 and counts[counts > 0].min() >= 4:
        random = entropy(number, "importance") % 2**32
        both = np.column_stack([x, y])
        rows = np.random.default_rng(random).permutation(len(y))[:ROWS]
        if np.bincount(environment[rows])[np.unique(environment)].min() >= 2:
            seen, other = train_test_split(
                rows, test_size=0.3, stratify=environment[rows], random_state=random
            )
            model = HistGradientBoostingClassifier(random_state=random)
            model.fit(both[seen], environment[seen])
            found = permutation_importance(
                model, both[other], environment[other], scoring="balanced_accuracy",
                n_repeats=REPEATS, random_state=random,
            )  # fmt: skip
            importance = found.importances_mean
    return int(importance[:-1].argmax()), importance


def slopes(x: np.ndarray, y: np.ndarray, r: np.ndarray) -> list[list[float]]:
    """Coefficients (E, d) of least squares in each environment, points weighted by membership."""
    fits = (LinearRegression().fit(x, y, sample_weight=weight) for weight in r.T)
    return [fit.coef_.tolist() for fit in fits]


def shares_of_labels(column: np.ndarray, y: np.ndarray, r: np.ndarray) -> list[list[float | None]]:
    """P(y = 1 | fifth of the column, environment) (E, fifths); None where there is no point."""
    edges = np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1]))
    place = np.searchsorted(edges, column, side="right")
    shares: list[list[float | None]] = []
    for weight in r.T:
        total = np.bincount(place, weight, len(edges) + 1)
        positive = np.bincount(place, weight * (y > 0), len(edges) + 1)
        shares.append([p / t if t > 1e-9 else None for p, t in zip(positive, total, strict=True)])
    return shares


def read(path: str | PathLike[str]) -> dict[str, Any]:
    """What :func:`describe` has told."""
    with open(path, encoding="utf-8") as file:
        told: dict[str, Any] = json.load(file)
    return told
