"""Out-of-fold residuals of one flexible regression, in units of their scale.

    y = m(x) + s(x) e

is the null model of data without environments: any mean, any scale, and noise e of any shape
that does not depend on x.  Both functions are predicted by cross-validation, so that no residual
has been seen by the model that it is the residual of, and each is the best of a few models by the
same cross-validation.  Labels far from a robust first guess are moved towards it before m is
fitted: what few outliers do to m differs from fold to fold, and would look like environments.  The
guess is a linear regression, or the median where that does not converge.  The scale is fitted to
|y - m(x)| by gamma deviance: |e| has a mean even where e has no variance, and small residuals do
not dominate, as they do among logarithms.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import GammaRegressor, HuberRegressor, RidgeCV
from sklearn.metrics import mean_gamma_deviance, mean_squared_error
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

#: gamma (in units of 1 / inputs) and alpha of the kernel regressions
KERNELS = ((0.03, 0.3), (0.1, 0.1), (0.3, 0.03))
#: residuals are cut at this many deviations before m is fitted
OUTLIER = 3.0
#: scales are kept within this factor of their median
SPREAD = 10.0


@dataclass(frozen=True)
class ScaledResiduals:
    """Residuals of n points, out of fold.

    Attributes
    ----------
    scores : ndarray, (n,)
        Normal scores of (y - m) / s: whatever the shape of the noise, their set is the same.
    scale : ndarray, (n,)
        s, in units of its median.
    mean_model, scale_model : str
        Names of the models that predicted best.
    """

    scores: np.ndarray
    scale: np.ndarray
    mean_model: str
    scale_model: str


def scaled_residuals(x: np.ndarray, y: np.ndarray, folds: int, seed: int) -> ScaledResiduals:
    """Residuals of labels y (n,) given inputs x (n, d), float64; ``seed`` draws the folds."""
    y = (y - y.mean()) / y.std()
    parts = KFold(folds, shuffle=True, random_state=seed)
    try:
        guess = cross_val_predict(robust_model(), x, y, cv=parts)
    except ValueError:  # no convergence, which happens where most labels are equal
        guess = cross_val_predict(DummyRegressor(strategy="median"), x, y, cv=parts)
    reach = OUTLIER * stats.median_abs_deviation(y - guess, scale="normal") or np.inf
    tame = np.clip(y, guess - reach, guess + reach)
    mean_model, mean = best_prediction(mean_models(x.shape[1]), x, tame, parts, mean_squared_error)
    size = np.abs(y - mean)
    size = np.maximum(size / size.mean(), 1e-3)  # gamma deviance wants positive values
    inputs = np.column_stack([x, mean, np.abs(mean - np.median(mean))])
    parts = KFold(folds, shuffle=True, random_state=seed + 1)
    scale_model, scale = best_prediction(scale_models(), inputs, size, parts, mean_gamma_deviance)
    scale = np.clip(scale / np.median(scale), 1 / SPREAD, SPREAD)
    return ScaledResiduals(normal_scores((y - mean) / scale), scale, mean_model, scale_model)


def best_prediction(
    models: Mapping[str, BaseEstimator],
    x: np.ndarray,
    y: np.ndarray,
    folds: KFold,
    loss: Callable[[np.ndarray, np.ndarray], float],
) -> tuple[str, np.ndarray]:
    """Model with the smallest loss out of fold, and its predictions there (n,)."""
    predictions = {name: cross_val_predict(m, x, y, cv=folds) for name, m in models.items()}
    best = min(predictions, key=lambda name: loss(y, predictions[name]))
    return best, predictions[best]


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal scores Phi^-1((rank - 1/2) / n) of values (n,)."""
    return np.asarray(stats.norm.ppf((stats.rankdata(values) - 0.5) / len(values)))


def mean_models(d: int) -> dict[str, BaseEstimator]:
    """Candidates for m(x) with d inputs, by name."""
    models = {
        "linear": RidgeCV(np.logspace(-3, 3, 7)),
        "boosting": HistGradientBoostingRegressor(
            learning_rate=0.2, max_iter=40, max_leaf_nodes=15, random_state=0
        ),
    }
    for gamma, alpha in KERNELS:
        kernel = KernelRidge(kernel="rbf", gamma=gamma / d, alpha=alpha)
        models[f"kernel ridge, gamma {gamma:g}"] = kernel
    return {name: make_pipeline(StandardScaler(), model) for name, model in models.items()}


def robust_model() -> BaseEstimator:
    """Robust first guess of m(x)."""
    return make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000, tol=1e-4))


def scale_models() -> dict[str, BaseEstimator]:
    """Candidates for s(x), by name; all of them predict positive numbers."""
    models: dict[str, BaseEstimator] = {
        "constant": DummyRegressor(),
        "boosting": HistGradientBoostingRegressor(
            loss="gamma", learning_rate=0.1, max_iter=30, max_leaf_nodes=8,
            l2_regularization=1.0, random_state=0,
        ),
    }  # fmt: skip
    for penalty in (0.03, 0.3):
        models[f"log-linear, {penalty:g}"] = make_pipeline(
            StandardScaler(),
            FunctionTransformer(_bent),
            StandardScaler(),
            GammaRegressor(alpha=penalty, solver="newton-cholesky", max_iter=300),
        )
    return models


def _bent(x: np.ndarray) -> np.ndarray:
    """Inputs (n, d), their size and its logarithm; the log of a scale may follow each."""
    return np.column_stack([x, np.abs(x), np.log(np.abs(x) + 0.1)])
