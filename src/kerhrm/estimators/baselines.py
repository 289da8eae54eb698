"""What KerHRM is compared with, made from the registry of methods.

Each is the method's own entry point, with its options as parameters.
"""

import functools
import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from kerhrm.data.dataset import Task
from kerhrm.data.samples import Inferred
from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.estimators.base import TableEstimator
from kerhrm.estimators.docstrings import DRAWN, NETWORK, SEEN, fit_docstring
from kerhrm.estimators.inputs import refuse_missing
from kerhrm.estimators.notices import DataWarning
from kerhrm.estimators.predictors import as_predictor, initial_network
from kerhrm.estimators.surroundings import cores, seed_of
from kerhrm.estimators.training import train_method
from kerhrm.methods.registry import METHODS

#: parameters of all of them, and their defaults
COMMON: dict[str, Any] = {
    "task": "classification",
    "network": (1024,),
    "validation_fraction": 0.2,
    "random_state": None,
    "device": "auto",
    "n_jobs": None,
}
DOCSTRING = """{title}

{about}Inputs are standardised, and so is the target of a regression.

Parameters
----------
{options}
task : {{"classification", "regression"}}
    Of two labels of any kind, or of numbers.
{network}validation_fraction : float
    Share of the rows that are held out, unless ``fit`` is given others.
{drawn}
Attributes
----------
classes_ : ndarray of shape (2,)
    In classification.
{inferred}{seen}
Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from {home} import {name}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = {name}({example}random_state=0).fit(X, y{given})
>>> print(model.score(X, y) > 0.8)
True
"""


#: of the methods that infer environments
INFERRED = """\
environments_ : ndarray of shape (n_samples,)
    Those that the training inferred, 0, 1, ...; -1 of rows of weight 0.
"""


class MethodEstimator(TableEstimator):
    """Base of the generated classes; ``_method`` is the registry's name."""

    _method: str
    task: Task

    @property
    def _task(self) -> Task:  # type: ignore[override]
        return self.task

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: Any,
        environments: Callable[[int], np.ndarray] | None = None,
    ) -> Self:
        if self.task not in ("classification", "regression"):
            raise KerhrmError(f"task={self.task!r} is not known", "classification or regression")
        given = {n: v for n, v in self.get_params(deep=False).items() if n not in COMMON}
        if given.get("loss", "") is None:
            del given["loss"]
            if self.task == "regression":
                given["loss"] = "squared"
        self.seed_ = seed_of(self.random_state)
        with cores(self.n_jobs):
            samples, origin = self._samples(
                X, y, sample_weight, validation, self.seed_, environments
            )
            d = samples.x.shape[-1]
            network = initial_network(self.network, self.seed_, d).to(samples.x.device)
            trained = train_method(self._method, samples, network, given)
            if isinstance(trained, Inferred):
                n = len(np.asarray(y))
                self.environments_ = environments_in(trained.memberships[0], origin, n)
                trained = trained.predictor
            predictor = as_predictor(trained, samples.x, self._method)
        self._predictor = predictor.to(torch.device("cpu"))
        options = load(METHODS[self._method].options)(**given)
        self._logistic = getattr(options, "loss", "squared") == "logistic"
        return self


def _fit(
    self: MethodEstimator, X: Any, y: Any, sample_weight: Any = None, validation: Any = None
) -> MethodEstimator:
    return self._fit(X, y, sample_weight, validation)


def _fit_labelled(
    self: MethodEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    validation: Any = None,
    environments: Any = None,
) -> MethodEstimator:
    labels = functools.partial(environments_of, environments)
    return self._fit(X, y, sample_weight, validation, labels)


def environments_of(environments: Any, n: int) -> np.ndarray:
    """Labels 0, 1, ... of any labels of n rows' environments; without them all 0.

    Raises
    ------
    KerhrmError
        Unless there is one for each row.
    """
    if environments is None:
        told = "no environments given: all rows count as one; fit(X, y, environments=...)"
        warnings.warn(told, DataWarning, stacklevel=5)
        return np.zeros(n, dtype=np.int64)
    labels = np.asarray(environments)
    if labels.shape != (n,):
        problem = f"environments have shape {labels.shape} for {n} rows"
        raise KerhrmError(problem, "give one label for each row")
    refuse_missing(environments)
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


def environments_in(memberships: Tensor, origin: np.ndarray, n: int) -> np.ndarray:
    """Environments 0, 1, ... of n rows, -1 of those that took no part: (E, m) and (m,) to (n,).

    ``origin`` says which row a point was; points beyond it are none of the rows.
    """
    labels = np.full(n, -1)
    labels[origin] = memberships.argmax(0).cpu().numpy()[: len(origin)]
    return labels


def estimator(method: str, name: str, module: str = __name__) -> type[MethodEstimator]:
    """Class ``name`` of a method of the registry that reads points, to be found in ``module``.

    Raises
    ------
    KerhrmError
        If the method reads something else.
    """
    declared = METHODS[method]
    if declared.reads != "points":
        raise KerhrmError(f"method '{method}' reads no points", "name one that does")
    options = load(declared.options)
    # the loss of a classification may be none of a regression
    own = {n: None if n == "loss" else f.get_default() for n, f in options.model_fields.items()}
    parameters = own | COMMON

    def __init__(self: Any, **given: Any) -> None:
        for parameter, default in parameters.items():
            setattr(self, parameter, given.pop(parameter, default))
        if given:
            raise TypeError(f"{name} has no parameter '{next(iter(given))}'")

    keyword = inspect.Parameter.KEYWORD_ONLY
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(inspect.Parameter(n, keyword, default=v) for n, v in parameters.items()),
        ]
    )
    fit = _copied(_fit_labelled if declared.labels else _fit)
    more = "\nenvironments : array-like of shape (n_samples,), optional\n    Labels of any kind."
    fit.__doc__ = fit_docstring("Train on a table.", "are held out", more * declared.labels)
    described = [
        f"{n} : {'str, optional' if n == 'loss' else type(own[n]).__name__}\n"
        f"    {(f.description or n)[0].upper()}{(f.description or n)[1:]}."
        for n, f in options.model_fields.items()
    ]
    title, _, about = inspect.cleandoc(str(options.__doc__)).partition("\n\n")
    body = {
        "__init__": __init__,
        "fit": fit,
        "_method": method,
        "__module__": module,
        "__qualname__": name,
        "__doc__": DOCSTRING.format(
            title=title.split("\n")[0],
            about=f"{about}\n\n" if about else "",
            network=NETWORK,
            drawn=DRAWN,
            inferred=INFERRED * declared.infers,
            seen=SEEN,
            options="\n".join(described),
            name=name,
            home="kerhrm" if module == __name__ else module,
            example="network=(64,), " if method != "hrm" else "iterations=1, ",
            given=", environments=X[:, 0] > 14" if declared.labels else "",
        ),
    }
    return type(name, (MethodEstimator,), body)


def _copied(function: Any) -> Any:
    """The function with a docstring of its own, called ``fit``."""
    copy = types.FunctionType(function.__code__, function.__globals__, "fit", function.__defaults__)
    copy.__annotations__ = dict(function.__annotations__)
    return copy


ERM = estimator("erm", "ERM")
ChiSquareDRO = estimator("dro", "ChiSquareDRO")
IRM = estimator("irm", "IRM")
EIIL = estimator("eiil", "EIIL")
HRM = estimator("hrm", "HRM")
