"""One or several estimators, by name."""

from collections.abc import Mapping
from typing import Any

from sklearn.base import is_classifier

from kerhrm.errors import KerhrmError


def check_comparable(fits: Mapping[str, Any]) -> None:
    """Refuse what cannot predict, and classifiers among regressors."""
    for name, model in fits.items():
        if not hasattr(model, "predict"):
            kind = type(model).__name__
            problem = f"{name!r} is of type {kind}: it cannot predict"
            raise KerhrmError(problem, "give fitted estimators")
    kinds = {is_classifier(model) for model in fits.values()}
    if len(kinds) > 1:
        problem = "classifiers and regressors have no error in common"
        raise KerhrmError(problem, "draw them one after the other")


def named_models(models: Any) -> dict[str, Any]:
    """Estimators by name: as given, or by class, seed or number where one says too
    little."""
    if isinstance(models, Mapping):
        named = {str(name) or "''": model for name, model in models.items()}
        if len(named) < len(models):
            names = [str(name) for name in models]
            twice = next(name for name in names if names.count(name) > 1)
            problem = f"two models have the same name, {twice}"
            raise KerhrmError(problem, "rename one of them")
    else:
        several = list(models) if isinstance(models, list | tuple) else [models]
        named = dict(zip(_names_of(several), several, strict=True))
    if not named:
        hint = "give one, a list, or a dict of them by name"
        raise KerhrmError("no estimators given", hint)
    return named


def _names_of(models: list[Any]) -> list[str]:
    """Different names: classes, seeds of one class, or classes with a number."""
    n = len(models)
    classes = [type(model).__name__ for model in models]
    seeds = [f"seed {getattr(model, 'seed_', None)}" for model in models]
    n_classes = len(set(classes))
    n_seeds = len(set(seeds))
    if n_classes == 1 and 1 < n_seeds == n:
        return seeds
    if n_classes < n:
        return [f"{name} {number}" for number, name in enumerate(classes, start=1)]
    return classes
