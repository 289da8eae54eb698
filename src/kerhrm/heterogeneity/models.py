"""The models of scikit-learn among which mean and scale of the labels are chosen."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import GammaRegressor, HuberRegressor, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

#: gamma (in units of 1 / inputs) and alpha of the kernel's regressions
KERNELS = ((0.03, 0.3), (0.1, 0.1), (0.3, 0.03))


def mean_models(d: int) -> dict[str, BaseEstimator]:
    """Candidates for m(x) of d inputs, by name."""
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
    """A first guess of m(x), of which no outlier makes much."""
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
    """Inputs (n, d), their size and its logarithm: the log of a scale may follow each."""
    return np.column_stack([x, np.abs(x), np.log(np.abs(x) + 0.1)])
