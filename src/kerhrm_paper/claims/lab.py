"""The data, network and features that small runs share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.loop import Fit, fit
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.algorithm.records import predict_linear
from kerhrm.algorithm.starts import random_starts
from kerhrm.features.map import NTFMap
from kerhrm_paper.data.drawing import mixing_matrix
from kerhrm_paper.data.paper_data import PaperData, inputs, reduced
from kerhrm_paper.evaluation.metrics import accuracy, divergence

RIDGE = 1e-2  #: of the mixtures, in the library's unit


@dataclass(frozen=True)
class Size:
    """How large the small runs are."""

    seeds: int = 8
    points: int = 500  #: of each training environment
    tests: int = 1000
    width: int = 1024
    k: int = 15
    steps: int = 200  #: of the networks
    n_init: int = 5


SMOKE = Size(seeds=2, points=60, tests=100, width=64, k=5, steps=10, n_init=2)


def classification_options(size: Size) -> dict[str, Any]:
    """Options of the data of Table 1, at r2 = .80."""
    return {
        "r2": 0.8,
        "n_train_per_environment": size.points,
        "n_validation_per_environment": size.points // 2,
        "n_test": size.tests,
    }


def regression_options(size: Size) -> dict[str, Any]:
    """Options of the data of Table 3, at r = 1.9 in scenario 2."""
    large = 2 * size.points
    small = max(2, size.points // 5)
    return {
        "r": 1.9,
        "n_train": (large, small),
        "n_validation": (large + small) // 2,
        "n_test": 2,
    }


OPTIONS: dict[str, Callable[[Size], dict[str, Any]]] = {
    "classification": classification_options,
    "regression": regression_options,
}


class Lab:
    """One data set, the network at w_0, and the features.

    Parameters
    ----------
    generator : str
        Of :data:`OPTIONS`.
    seed : int
        Of all that is drawn.
    size : Size
        How large the data, the network and the runs are.

    Attributes
    ----------
    problem : Problem
        Reduced features and labels.
    inputs : Inputs
        Training and validation points, w_0 and the problem.
    x_test, y_test : Tensor, ndarray, (m, d), (m,)
        Test points.
    psi_test, f0_test : Tensor, (m, k), (m,)
        Features of the test points, and their outputs at w_0.
    s, v : Tensor, (n,)
        Sums over S and over V of the training points, unmixed.
    """

    def __init__(self, generator: str, seed: int, size: Size) -> None:
        self.seed = seed
        self.size = size
        options = OPTIONS[generator](size)
        generated = PaperData(generator, options)
        data = generated.draw(seed)
        points = inputs(data, size.width)
        features = NTFMap.fit(points.network, points.x, size.k)
        self.problem = reduced(points, features)
        self.inputs = replace(points, problem=self.problem)
        (x_test,) = data.test.x
        (self.y_test,) = data.test.y
        self.x_test = torch.from_numpy(x_test)
        self.psi_test, self.f0_test = features.transform(self.x_test)
        _, d = points.x.shape
        scramble = options.get("scramble", "fixed")
        mixing = mixing_matrix(scramble, d, seed)
        unscramble = torch.from_numpy(mixing)
        unmixed = points.x.double() @ unscramble
        parts = unmixed.unflatten(-1, (2, -1))
        sums = parts.sum(-1)
        self.s, self.v = sums.unbind(-1)

    @property
    def perfect(self) -> Tensor:
        """Memberships (n, 2).

        Where A, the sign of V's sum, agrees with the label, or not.
        """
        sign_of_v = self.v.sign()
        sign_of_y = self.problem.y.sign()
        signs = sign_of_v == sign_of_y
        agrees = signs.double()
        return torch.stack([agrees, 1 - agrees], -1)

    @cached_property
    def fit(self) -> Fit:
        """Algorithm 1."""
        size = self.size
        few = min(10, size.k)
        counts = {few, size.k}
        k = sorted(counts)
        options = KerHRMOptions(k=k, n_init=size.n_init)
        return fit(self.problem, options)

    def direction(self, memberships: Tensor, alpha: float = 1.0) -> Tensor:
        """theta_inv (k,) over environments (n, K)."""
        psi = self.problem.psi_train
        penalty = GradientVariance()
        target = self.problem.target
        risks = environment_risks(psi, target, memberships, ridge=1e-6)
        unit = penalty.unit(psi)
        weight = alpha * float(unit)
        return penalty.minimise(risks, weight)

    def accuracy(self, model: Tensor | Callable[[Tensor], Tensor]) -> float:
        """Test accuracy of a direction (k,) or a network."""
        with torch.no_grad():
            if isinstance(model, Tensor):
                outputs = predict_linear(model, self.psi_test, self.f0_test)
            else:
                outputs = model(self.x_test)
        numbers = outputs.numpy()
        share = accuracy(numbers, self.y_test)
        return float(share)

    def divergence(self, memberships: Tensor) -> float:
        """Divergence of P(Y | A) between environments (n, K), nats."""
        y = self.problem.y.numpy()
        is_positive = self.v > 0
        attribute = is_positive.long().numpy()
        r = memberships.numpy()
        (nats,) = divergence(r[None], y[None], attribute[None])
        return float(nats)

    def mixtures(self, psi: Tensor) -> Mixture:
        """Mixtures of two from random starts."""
        n_init = self.size.n_init
        n = len(psi)
        starts = random_starts(self.seed, n_init, n, 2, "claims")
        return fit_mixture(psi, self.problem.target, starts, ridge=RIDGE)

    def explore(self, psi: Tensor) -> Tensor:
        """Memberships (n, 2) of the likeliest mixture.

        The last choice is one like the label.
        """
        mixtures = self.mixtures(psi)
        target = self.problem.target
        memberships = mixtures.responsibilities(psi, target)
        bins = label_bins(self.problem.y)
        information = label_information(memberships, bins)
        most = KerHRMOptions().max_label_information
        repeats = information > most
        if repeats.all():
            repeats = torch.zeros_like(repeats)
        objective = mixtures.objective.masked_fill(repeats, torch.inf)
        likeliest = objective.argmin()
        return memberships[likeliest]
