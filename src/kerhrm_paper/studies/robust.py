"""ERM's regression with worst-case weights: group DRO with known groups, and CVaR."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.linear_model import Ridge
from torch import Tensor

from kerhrm.estimators._start import GivenRows, learn_units, points_of, read_rows
from kerhrm.estimators.baselines import TangentRidge
from kerhrm.features.ntf import extract
from kerhrm.features.ridge import Columns
from kerhrm.features.ridge_path import RIDGES
from kerhrm.networks.base import Network
from kerhrm_paper.studies.study import Array


@dataclass(frozen=True)
class Training:
    """Rows that train, and the group of each."""

    x: Array  #: (n, d)
    y: Array  #: (n,)
    group: Array  #: (n,), bool


def robust(
    training: Training,
    new: Array,
    *,
    network: tuple[int, ...],
    seed: int,
    share: float | None = None,
    steps: int = 100,
) -> Array:
    """Outputs at new points of ERM's regression with worst-case weights.

    By Frank and Wolfe's algorithm.

    Parameters
    ----------
    training : Training
        Rows that train.
    new : array, (m, d)
        Points whose outputs are returned.
    network : tuple of int
        Widths of ERM's network.
    seed : int
        Of ERM.
    share : float, optional
        The worst case is this share of the rows, those with the largest losses (CVaR);
        without it, the worse of the two groups (group DRO).
    steps : int
        Of the algorithm.
    """
    erm = TangentRidge(
        task="regression",
        network=network,
        random_state=seed,
    )
    given = GivenRows(training.x, training.y)
    table = read_rows(erm, given)
    split = learn_units(erm, table, hold_out=False, weighs=False)
    inputs, positions = points_of(erm, table, split)
    rows = np.argsort(positions)
    y = training.y[rows]
    group = training.group[rows]
    untrained = inputs.network
    columns = Columns.extract(untrained, inputs.x, seed=inputs.seed)
    ridge, plain = chosen(columns, y)
    model = Ridge(ridge)
    represent = partial(features, columns, untrained, plain)
    z = represent(inputs.x)
    n = len(y)
    weights = np.ones(n)
    for step in range(steps):
        model.fit(z, y, weights)
        fitted = model.predict(z)
        residuals = y - fitted
        losses = residuals**2
        worst = worst_rows(losses, group, share)
        target = n * worst / worst.sum()
        rate = 2 / (step + 3)
        change = target - weights
        weights += rate * change
    points = erm._units.inputs(new)
    new_features = represent(points)
    outputs = model.predict(new_features)
    return np.asarray(outputs)


def chosen(columns: Columns, y: Array) -> tuple[float, bool]:
    """Ridge of the regression that ERM chooses, and whether it has inputs alone."""
    plain = columns.inputs
    whole = columns.whole
    ridge, error = plain.choose(y)
    ridge_whole, error_whole = whole.choose(y)
    path = plain
    if error_whole < error:
        path = whole
        ridge = ridge_whole
    total = path.values.sum()
    ridge = min(ridge, RIDGES[-1])
    ridge = ridge * total / len(y)
    return ridge, path is plain


def features(
    columns: Columns,
    network: Network,
    plain: bool,
    x: Tensor,
) -> Array:
    """Inputs (n, d), and tangent features next to them unless ``plain``."""
    inputs = x.double().numpy()
    if plain:
        return inputs
    at_points, _ = extract(network, x)
    at_landmarks, _ = extract(network, columns.landmarks)
    kernel = at_points.kernel(at_landmarks).double()
    tangents = kernel.numpy() @ columns.span
    scaled = columns.scale * inputs
    return np.column_stack([scaled, tangents])


def worst_rows(losses: Array, group: Array, share: float | None) -> Array:
    """Whether a row is of the worst case, (n,)."""
    if share is None:
        minority = losses[group].mean()
        majority = losses[~group].mean()
        return group == (minority > majority)
    count = np.ceil(share * len(losses))
    ascending = np.sort(losses)
    smallest = -int(count)
    threshold = ascending[smallest]
    return losses >= threshold
