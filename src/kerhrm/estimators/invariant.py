"""Algorithm 1 behind scikit-learn's interface, for both tasks."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from pydantic import ValidationError
from sklearn.utils.validation import check_is_fitted

from kerhrm.algorithm.options import KerHRM
from kerhrm.data.samples import Samples
from kerhrm.errors import KerhrmError
from kerhrm.estimators.base import TableEstimator
from kerhrm.estimators.docstrings import fit_docstring
from kerhrm.estimators.inputs import read_features, read_target
from kerhrm.estimators.learning import Learned, Space, keep, lowered, reduced, run
from kerhrm.estimators.memberships import Memberships
from kerhrm.estimators.notices import NothingFoundWarning
from kerhrm.estimators.predictors import as_predictor, initial_network
from kerhrm.estimators.surroundings import cores, progress, seed_of
from kerhrm.estimators.training import train_method
from kerhrm.estimators.verdicts import report
from kerhrm.heterogeneity.guard import pooled_direction

Numbers = float | Sequence[float]

#: a parameter, and where it stands in the options
PLACES: dict[str, tuple[str, ...]] = {
    "n_environments": ("clustering", "clusters"),
    "k": ("k",),
    "n_iterations": ("iterations",),
    "alpha": ("invariance", "alpha"),
    "penalty": ("invariance", "penalty"),
    "cosine_weight": ("network", "penalty"),
    "n_init": ("clustering", "restarts"),
    "ridge": ("clustering", "ridge"),
    "selection": ("selection",),
}
LISTS = ("k", "alpha", "cosine_weight", "ridge")


class InvariantEstimator(TableEstimator):
    """Base of the two estimators in :mod:`kerhrm.estimators.kerhrm`, which describe it."""

    _memberships: Memberships | None = None
    predictor_: str

    def __init__(
        self,
        n_environments: int | None = None,
        *,
        k: int | Sequence[int] | None = None,
        n_iterations: int | None = None,
        alpha: Numbers | None = None,
        penalty: str | None = None,
        cosine_weight: Numbers | None = None,
        n_init: int | None = None,
        ridge: Numbers | None = None,
        selection: str | None = None,
        predictor: Literal["ntf", "network"] = "ntf",
        network: Sequence[int] | str | Callable[[int], torch.nn.Module] = (1024,),
        when_homogeneous: Literal["erm", "ignore"] = "erm",
        validation_fraction: float = 0.2,
        max_exact: int = 5000,
        n_landmarks: int = 4000,
        options: KerHRM | None = None,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_environments = n_environments
        self.k = k
        self.n_iterations = n_iterations
        self.alpha = alpha
        self.penalty = penalty
        self.cosine_weight = cosine_weight
        self.n_init = n_init
        self.ridge = ridge
        self.selection = selection
        self.predictor = predictor
        self.network = network
        self.when_homogeneous = when_homogeneous
        self.validation_fraction = validation_fraction
        self.max_exact = max_exact
        self.n_landmarks = n_landmarks
        self.options = options
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, validation: Any = None) -> Self:
        options = self._options()
        self.seed_ = seed_of(self.random_state)
        with cores(self.n_jobs):
            samples, _ = self._samples(X, y, sample_weight, validation, self.seed_)
            n, d = samples.x.shape[1:]
            if n < options.clustering.clusters:
                problem = f"{n} training rows are fewer than n_environments"
                cure = "lower it, or give more rows"
                raise KerhrmError(f"{problem}={options.clustering.clusters}", cure)
            network = initial_network(self.network, self.seed_, d).to(samples.x.device)
            limit = max(1, n // options.clustering.clusters)
            most = max(lowered(options.k, limit))
            sizes = {"max_exact": self.max_exact, "landmarks": self.n_landmarks}
            space = reduced(network, samples, min(most, self.n_landmarks), **sizes)
            tried = lowered(options.k, space.problem.s.shape[-1])
            options = options.model_copy(update={"k": tried})
            self.singular_values_ = space.problem.s[0].double().cpu().numpy()
            self.heterogeneity_ = report(space.problem, samples.x[0], options.guard)
            if self.heterogeneity_.found is False and self.when_homogeneous == "erm":
                self._fit_pooled(space, samples, options)
            else:
                self._fit_invariant(space, samples, options)
            self.environment_proba_ = self.predict_environment_proba(X, y)
        self.environments_ = self.environment_proba_.argmax(1)
        return self

    def predict_environment_proba(self, X: Any, y: Any) -> np.ndarray:
        """Probability that each row (x, y) belongs to each of the environments.

        These are the responsibilities of the mixture of regressions that was chosen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The columns of the fit.
        y : array-like of shape (n_samples,)
            Labels of the fit's classes, or numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_environments found)
            Which sum to one in each row.
        """
        check_is_fitted(self)
        x = read_features(self, X, reset=False)
        target = self._units.target(read_target(y, len(x), self._task, varies=False))
        if self._memberships is None:
            return np.ones((len(x), 1))
        points = self._units.inputs(x)
        return np.asarray(self._memberships(points, target).numpy())

    fit.__doc__ = fit_docstring(
        "Find environments, and a model that is invariant over them.", "choose k, alpha and lambda"
    )

    def _options(self) -> KerHRM:
        """The options that the parameters come to; a :class:`KerhrmError` if they are none."""
        _one_of("predictor", self.predictor, ("ntf", "network"))
        _one_of("when_homogeneous", self.when_homogeneous, ("erm", "ignore"))
        for name in ("max_exact", "n_landmarks"):
            if getattr(self, name) < 1:
                raise KerhrmError(f"{name}={getattr(self, name)} is no number of rows", "give 1000")
        if not isinstance(self.options, KerHRM | None):
            raise KerhrmError(f"options={self.options!r} are none", "give kerhrm.KerHRM(...)")
        said = (self.options or KerHRM()).model_dump()
        for name, place in PLACES.items():
            value = getattr(self, name)
            if value is None:
                continue
            if name in LISTS:
                value = np.atleast_1d(value).tolist()
            section = said
            for key in place[:-1]:
                section = section[key]
            section[place[-1]] = value.item() if isinstance(value, np.generic) else value
        try:
            return KerHRM(**said)
        except ValidationError as error:
            raise _told(error) from error

    def _fit_invariant(self, space: Space, samples: Samples, options: KerHRM) -> None:
        """Algorithm 1, whatever a test has said."""
        shown = progress(self.verbose, "KerHRM", options.iterations)
        found = run(space.problem, samples, options, shown)
        learned: Learned = keep(space, samples, options, found, self.predictor == "network")
        self.predictor_ = self.predictor
        self.theta_ = found.final.theta[0].cpu().numpy()
        self.selected_, self.history_ = learned.selected, learned.history
        self.converged_ = learned.memberships.centres.converged
        self.n_iter_ = len(found.history)
        cpu = torch.device("cpu")
        self._predictor = learned.predictor.to(cpu)
        self._memberships = learned.memberships.to(cpu)
        if not learned.usable:
            told = "no usable environments: every start repeats the target or leaves one empty"
            warnings.warn(f"{told}; try other k or ridge", NothingFoundWarning, stacklevel=3)

    def _fit_pooled(self, space: Space, samples: Samples, options: KerHRM) -> None:
        """ERM, as the method ``erm`` trains it; theta is that of the features' own regression."""
        verdict = self.heterogeneity_.verdict
        told = f"{verdict}: predicting as pooled ERM (when_homogeneous='ignore' would not)"
        warnings.warn(told, NothingFoundWarning, stacklevel=3)
        with torch.no_grad():
            direction = pooled_direction(space.problem, options.k)
        trained = train_method("erm", samples, space.network, {})
        self.predictor_ = "erm"
        self.theta_ = direction.theta[0].cpu().numpy()
        self.selected_ = {
            "k": int(direction.k),
            "alpha": None,
            "lambda": None,
            "T": 0,
            "score": float(direction.score),
            "why": f"{verdict}: pooled ERM",
        }
        self.history_ = []
        self.converged_, self.n_iter_ = True, 0
        self._predictor = as_predictor(trained, samples.x, "erm").to(torch.device("cpu"))
        self._memberships = None


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise KerhrmError(f"{name}={value!r} is not known", f"take {' or '.join(map(repr, known))}")


def _told(error: ValidationError) -> KerhrmError:
    """The first thing wrong with the options, by the parameter's name."""
    first = error.errors()[0]
    where = tuple(part for part in first["loc"] if isinstance(part, str))
    names = {place: name for name, place in PLACES.items()}
    return KerhrmError(
        f"{names.get(where, '.'.join(where))}={first['input']!r}: {first['msg']}",
        "see the parameter's description",
    )
