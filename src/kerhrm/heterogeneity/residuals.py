"""What one flexible regression leaves over: out-of-fold residuals in units of their scale.

    y = m(x) + s(x) e

is what data without environments are taken for: any mean, any scale, and noise e of any shape
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
from sklearn.metrics import mean_gamma_deviance, mean_squared_error
from sklearn.model_selection import KFold, cross_val_predict

from kerhrm.heterogeneity.models import mean_models, robust_model, scale_models

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
    """The model with the smallest loss out of fold, and its predictions there (n,)."""
    predictions = {name: cross_val_predict(m, x, y, cv=folds) for name, m in models.items()}
    best = min(predictions, key=lambda name: loss(y, predictions[name]))
    return best, predictions[best]


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Phi^-1((rank - 1/2) / n) of values (n,)."""
    return np.asarray(stats.norm.ppf((stats.rankdata(values) - 0.5) / len(values)))
