"""Residuals of one regression, and the gain of two environments on them.

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

A mixture of K = 2 regressions, fitted to residuals, gains likelihood from anything that
one regression with constant noise cannot say.  Of that, noise whose scale depends on x
is no environment, although two opposite regressions mimic it: the mixture

    p(e | psi) = sum_j q_j N(e | psi^T Theta_j, sigma^2)

has the variance sigma^2 + q_1 q_2 (psi^T (Theta_1 - Theta_2))^2, which grows along one
direction. The statistic is therefore the gain in mean log-likelihood over the better of
two explanations: one regression with constant noise, and the Gaussian with the
mixture's own mean and variance at every point.  What is left speaks of two lines in the
residuals, and not of a cone.

EM starts at random, and where moments of the residuals point to: two lines along a
direction v make E[(e^2 - 1) psi psi^T] large along v, and, unless they share the points
evenly, E[e^3 psi], too. Each such v splits the points by the sign of e psi^T v.  The
mixture's regressions are linear in a few such directions and that of E[e psi], so that
many features cost neither time nor power.
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
from torch import Tensor

from kerhrm.algorithm.em import EM, LOG_2PI
from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.features.ridge import Columns
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions

RANK_STEPS = 6  #: of the rank regression
LARGEST = 10.0  #: residual, in units of the median size, that the scale is fitted to
#: share of the rows beyond which one label among continuous ones has a law of its own
ATOM = 0.1
#: scales are kept within this factor of their median
SPREAD = 10.0
ALIKE = 40  #: points whose residuals are permuted among each other, or more
DIRECTIONS = 2  #: of second moments that EM starts with
SUBSPACE = (
    6  #: directions of second moments that the mixture's regressions are linear in
)


@config_context(transform_output="default")  # type: ignore[untyped-decorator]
def scaled_residuals(
    x: np.ndarray, y: np.ndarray, folds: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal scores of (y - m) / s (n,), out of fold; s (n,) in units of its median;
    and m (n,) in units of y's standard deviation.

    Of labels y (n,) given inputs x (n, d), float64; ``seed`` draws the folds of the
    scale's cross-validation.
    """
    y = (y - y.mean()) / y.std()
    inputs = torch.from_numpy(StandardScaler().fit_transform(x).astype(np.float32))
    columns = Columns.extract(build(NetworkOptions(), 0, x.shape[1]), inputs)
    mean = rank_regression(columns, y)
    size = np.abs(y - mean)
    size = np.minimum(size, LARGEST * np.median(size) or np.inf)
    size = np.maximum(size / size.mean(), 1e-3)  # gamma deviance wants positive values
    known = np.column_stack([x, mean, np.abs(mean - np.median(mean))])
    parts = KFold(folds, shuffle=True, random_state=seed)
    found = [
        cross_val_predict(model, known, size, cv=parts) for model in scale_models()
    ]
    scale = min(found, key=lambda predicted: mean_gamma_deviance(size, predicted))
    scale = np.clip(scale / np.median(scale), 1 / SPREAD, SPREAD)
    return normal_scores((y - mean) / scale), scale, mean


def alike(scale: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Numbers (n,) of groups of points whose scale s and mean m (n,) are alike.

    The points are cut into groups of like scale, and these into groups of like mean,
    about as many as there are of them, of :data:`ALIKE` points or more each.
    """
    groups = np.empty(len(scale), dtype=np.int64)
    outer = max(1, round(math.sqrt(len(scale) // ALIKE)))
    number = 0
    for part in np.array_split(np.argsort(scale, kind="stable"), outer):
        by_mean = part[np.argsort(mean[part], kind="stable")]
        for group in np.array_split(by_mean, max(1, len(part) // ALIKE)):
            groups[group] = number
            number += 1
    return groups


def rank_regression(columns: Columns, y: np.ndarray) -> np.ndarray:
    """Predictions of each label (n,) by all others, with little dispersion of the
    residuals."""
    mean, _ = columns.leave_one_out(y)
    scores = normal_scores(y - mean)
    least = step = float(scores @ (y - mean)) / len(y)
    for _ in range(RANK_STEPS):
        moved, _ = columns.leave_one_out(mean + step * scores)
        ranked = normal_scores(y - moved)
        if (dispersion := float(ranked @ (y - moved)) / len(y)) < least:
            mean, scores, least = moved, ranked, dispersion
        else:
            step /= 3
    return mean


def beside_atom(y: np.ndarray) -> np.ndarray:
    """Rows (n,), bool, without those of a frequent label among continuous ones."""
    _, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    others = len(y) - counts.max()
    atom = others < (1 - ATOM) * len(y) and 2 * (counts == 1).sum() > others
    return (
        np.asarray(inverse != counts.argmax()) if atom else np.ones(len(y), dtype=bool)
    )


def spread_ties(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Labels (n,), equal ones drawn from between their neighbours.

    Counts lie on lines, too.
    """
    values, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    middle = (values[1:] + values[:-1]) / 2
    edges = np.concatenate(
        [[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]]
    )
    drawn = random.uniform(edges[inverse], edges[inverse + 1])
    return np.where(counts[inverse] > 1, drawn, y)


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal scores Phi^-1((rank - 1/2) / n) of values (n,)."""
    return np.asarray(stats.norm.ppf((stats.rankdata(values) - 0.5) / len(values)))


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
        model = GammaRegressor(alpha=penalty, solver="newton-cholesky", max_iter=300)
        bent = StandardScaler(), FunctionTransformer(_bent), StandardScaler()
        yield make_pipeline(*bent, model)


def _bent(x: np.ndarray) -> np.ndarray:
    """Inputs (n, d), their size and its logarithm; the log of a scale
    may follow each."""
    return np.column_stack([x, np.abs(x), np.log(np.abs(x) + 0.1)])


def gains(
    features: np.ndarray,
    residuals: np.ndarray,
    options: HeterogeneityOptions,
    seed: int,
) -> Iterator[float]:
    """Gain of the best usable start for each of B sets of residuals, in nats per point,
    in turn.

    Features (n, k) have orthonormal columns up to a factor, residuals (B, n) are normal
    scores.  A start that leaves an environment empty is not usable; without a usable
    one, or below 0, the gain is 0.  That the residual alone tells its environment does
    not make a start degenerate, as it does where environments are learned: normal
    scores gain nothing by such a split, and with little noise the true environments
    look like one.
    """
    psi = torch.from_numpy(features)
    size = len(residuals) * options.n_init, len(psi), 2
    random = random_starts(seed, *size, "heterogeneity").split(options.n_init)
    for e, r in zip(torch.from_numpy(residuals), random, strict=True):
        yield _gain(leading(psi, e), e, r, options)


def _gain(
    psi: Tensor, e: Tensor, random: Tensor, options: HeterogeneityOptions
) -> float:
    """Gain on one set of residuals (n,)."""
    mixtures = fit_mixture(
        psi,
        e,
        torch.cat([directed_starts(psi, e), random]),
        ridge=options.ridge,
        em=EM(max_iter=options.em_max_iter, tol=options.em_tol),
    )
    one = fit_mixture(psi, e, torch.ones_like(psi[None, :, :1]), ridge=options.ridge)
    alone = torch.maximum(
        one.log_likelihood(psi, e), matched_likelihood(mixtures, psi, e)
    )
    gain = mixtures.log_likelihood(psi, e) - alone
    usable = (mixtures.weights >= options.min_share).all(-1)
    return max(0.0, float(torch.where(usable, gain, 0.0).max()))


def leading(psi: Tensor, e: Tensor) -> Tensor:
    """Psi (n, k) along the directions that residuals e (n,) single out:
    at most (n, 8)."""
    if psi.shape[1] <= SUBSPACE + 2:
        return psi
    second = torch.linalg.eigh(psi.mT @ ((e**2 - 1)[:, None] * psi)).eigenvectors[
        :, -SUBSPACE:
    ]
    first, third = psi.mT @ e, psi.mT @ (e**3 - 3 * e)
    return psi @ torch.linalg.qr(torch.column_stack([first, third, second])).Q


def directed_starts(psi: Tensor, e: Tensor) -> Tensor:
    """Responsibilities (3, n, 2) by moments of residuals e (n,), psi (n, k)."""
    second = psi.mT @ ((e**2 - 1)[:, None] * psi)
    largest = torch.linalg.eigh(second).eigenvectors[:, -DIRECTIONS:].mT
    third = ((e**3 - 3 * e) @ psi)[None]
    sides = torch.cat([largest, third]) @ psi.mT * e > 0
    return torch.stack([sides, ~sides], dim=-1).to(psi)


def matched_likelihood(mixtures: Mixture, psi: Tensor, y: Tensor) -> Tensor:
    """Mean log-likelihood of the Gaussian with each mixture's mean and variance at
    every point.

    Of points (n, k), (n,), in nats: (R,).
    """
    means, weights = psi @ mixtures.theta.mT, mixtures.weights.unsqueeze(-2)
    mean = (weights * means).sum(-1)
    spread = (weights * (means - mean.unsqueeze(-1)) ** 2).sum(-1)
    variance = (mixtures.weights * mixtures.sigma**2).sum(-1, keepdim=True) + spread
    return -0.5 * ((y - mean) ** 2 / variance + variance.log() + LOG_2PI).mean(-1)
