"""Residuals of one regression, in units of their scale.

The null model of data without environments is

    y = m(x) + s(x) e

with any mean, any scale, and noise e of any shape that does not depend on x.  Neither
function has seen the residual that it is used for: m is a ridge regression in closed
form (:mod:`kerhrm.features.ridge`), left one out, and s the best of a few models by
cross-validation.

Errors of m look like environments where noise has an edge or outliers.  So m is a rank
regression: fitted to m + c z, z the normal scores of y - m, as long as that lowers
sum_i z_i (y_i - m_i) (Jaeckel, Annals of Mathematical Statistics 43, 1972).  The scale
is fitted to |y - m(x)|, cut, by gamma deviance: small residuals do not dominate, as
they do among logarithms.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from scipy import stats
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor
from sklearn.metrics import mean_gamma_deviance
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from kerhrm.features.ridge import Columns
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.progress import progress
from kerhrm.threads import one_blas_thread, torch_threads

RANK_STEPS = 6  #: of the rank regression

#: standard deviation of residuals, in units of the labels', below which they are
#: rounding: features are in single precision
EXACT = 1e-6

LARGEST = 10.0  #: residual, in units of the median size, that the scale is fitted to

#: predicted size, in units of the mean size, beyond which it is this
ABSURD = 1e12

#: share of the rows beyond which one label among continuous ones has a law of its own
ATOM = 0.1

#: scales are kept within this factor of their median
SPREAD = 10.0


ALIKE = 40  #: points whose residuals are permuted among each other, or more


@config_context(transform_output="default")  # type: ignore[untyped-decorator]
def scaled_residuals(
    x: np.ndarray, y: np.ndarray, folds: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Residuals of one regression in units of their scale.

    None where they are rounding: the regression explains y exactly.

    Parameters
    ----------
    x : ndarray, (n, d), float64
        Inputs.
    y : ndarray, (n,), float64
        Labels.
    folds : int
        Of the scale's cross-validation.
    seed : int
        Draws these folds.

    Returns
    -------
    scores : ndarray, (n,)
        Normal scores of (y - m) / s, out of fold.
    scale : ndarray, (n,)
        s, in units of its median.
    mean : ndarray, (n,)
        m of the inputs, in units of y's standard deviation: of equal ones the mean.
    """
    mean_label = y.mean()
    centred = y - mean_label
    y = centred / y.std()
    _, d = x.shape
    scaler = StandardScaler()
    standardised = scaler.fit_transform(x)
    single = standardised.astype(np.float32)
    points = torch.from_numpy(single)
    network = build(NetworkOptions(), 0, d)
    columns = Columns.extract(network, points)
    mean = rank_regression(columns, y)
    residuals = y - mean
    if residuals.std() < EXACT:
        return None
    mean = _of_inputs(x, mean)
    size = _fitted_sizes(residuals)
    median = np.median(mean)
    from_median = np.abs(mean - median)
    inputs = np.column_stack([x, mean, from_median])
    split = KFold(min(folds, len(y)), shuffle=True, random_state=seed)
    predictions = []
    models = [*scale_models()]
    with one_blas_thread(), torch_threads(1):  # of 4 000 x 10 .18 s; on two .43 s
        for model in progress(models, "regressions of the noise's scale"):
            # of a row far from all others a log-linear model may predict infinity
            with np.errstate(over="ignore", under="ignore"):
                prediction = cross_val_predict(model, inputs, size, cv=split)
            within = np.clip(prediction, 1 / ABSURD, ABSURD)
            predictions.append(within)
    scale = min(predictions, key=lambda scale: mean_gamma_deviance(size, scale))
    median_scale = np.median(scale)
    in_medians = scale / median_scale
    scale = np.clip(in_medians, 1 / SPREAD, SPREAD)
    in_scales = residuals / scale
    scores = normal_scores(in_scales)
    return scores, scale, mean


def _of_inputs(x: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Means (n,) of the predictions (n,) of equal inputs (n, d).

    Each prediction is made without its row, so that those of equal inputs are in the
    order of their labels: the larger a label is, the less the others' mean.
    """
    _, numbers = np.unique(x, axis=0, return_inverse=True)
    numbers = numbers.ravel()  # NumPy 2.0.0 has a column
    sums = np.bincount(numbers, mean)
    means = sums / np.bincount(numbers)
    return np.asarray(means[numbers])


def _fitted_sizes(residuals: np.ndarray) -> np.ndarray:
    """Sizes of residuals (n,) that the scale is fitted to: cut, of mean about 1."""
    size = np.abs(residuals)
    scaled_median = LARGEST * np.median(size)
    largest = scaled_median or np.inf
    cut = np.minimum(size, largest)
    in_means = cut / cut.mean()
    return np.maximum(in_means, 1e-3)  # gamma deviance wants positive values


def alike(scale: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Numbers (n,) of groups of points whose scale s and mean m (n,) are alike.

    The points are cut into groups of like scale, and these into groups of like mean,
    about as many as there are of them, of :data:`ALIKE` points or more each.
    """
    n = len(scale)
    groups = np.empty(n, dtype=np.int64)
    by_scale = np.argsort(scale, kind="stable")
    n_groups = n // ALIKE
    root = round(math.sqrt(n_groups))
    n_scales = max(1, root)
    number = 0
    for like_scale in np.array_split(by_scale, n_scales):
        means = mean[like_scale]
        order = np.argsort(means, kind="stable")
        by_mean = like_scale[order]
        n_groups_of_means = len(like_scale) // ALIKE
        n_means = max(1, n_groups_of_means)
        for group in np.array_split(by_mean, n_means):
            groups[group] = number
            number += 1
    return groups


def rank_regression(columns: Columns, y: np.ndarray) -> np.ndarray:
    """Predictions of each label (n,) by all others, with little dispersion of the
    residuals."""
    n = len(y)
    mean = columns.leave_one_out(y)
    residuals = y - mean
    scores = normal_scores(residuals)
    least = float(scores @ residuals) / n
    step = least
    for _ in progress(range(RANK_STEPS), "steps of the regression by ranks"):
        target = mean + step * scores
        moved = columns.leave_one_out(target)
        residuals = y - moved
        ranked = normal_scores(residuals)
        dispersion = float(ranked @ residuals) / n
        if dispersion < least:
            mean = moved
            scores = ranked
            least = dispersion
        else:
            step /= 3
    return mean


def beside_atom(y: np.ndarray) -> np.ndarray:
    """Rows (n,), bool, without those of a frequent label among continuous ones."""
    _, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    n = len(y)
    n_others = n - counts.max()
    smallest_share = 1 - ATOM
    frequent = n_others < smallest_share * n
    single = counts == 1
    n_single = single.sum()
    continuous = 2 * n_single > n_others
    if frequent and continuous:
        other_label = inverse != counts.argmax()
        return np.asarray(other_label)
    return np.ones(n, dtype=bool)


def spread_ties(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Labels (n,), equal ones drawn from between their neighbours.

    Counts lie on lines, too.
    """
    labels, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    sums = labels[1:] + labels[:-1]
    middle = sums / 2
    first = 2 * labels[0] - middle[0]
    last = 2 * labels[-1] - middle[-1]
    edges = np.concatenate([[first], middle, [last]])
    low = edges[inverse]
    high = edges[inverse + 1]
    drawn = random.uniform(low, high)
    counts_of_rows = counts[inverse]
    tied = counts_of_rows > 1
    return np.where(tied, drawn, y)


def normal_scores(residuals: np.ndarray) -> np.ndarray:
    """Normal scores Phi^-1((rank - 1/2) / n) of residuals (n,)."""
    ranks = stats.rankdata(residuals)
    positions = ranks - 0.5
    shares = positions / len(residuals)
    scores = stats.norm.ppf(shares)
    return np.asarray(scores)


def scale_models() -> Iterator[BaseEstimator]:
    """Candidates for s(x); all of them predict positive numbers."""
    yield DummyRegressor()
    yield HistGradientBoostingRegressor(
        loss="gamma",
        learning_rate=0.1,
        max_iter=30,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        random_state=0,
    )
    for penalty in (0.03, 0.3):  # log-linear
        yield make_pipeline(
            StandardScaler(),
            FunctionTransformer(_bent),
            StandardScaler(),
            GammaRegressor(alpha=penalty, solver="newton-cholesky", max_iter=300),
        )


def _bent(x: np.ndarray) -> np.ndarray:
    """Inputs (n, d), their size and its logarithm; the log of a scale
    may follow each."""
    size = np.abs(x)
    positive = size + 0.1
    log_size = np.log(positive)
    return np.column_stack([x, size, log_size])
