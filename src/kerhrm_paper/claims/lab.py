"""The data, network and features that small runs share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.loop import Fit, fit
from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import predict_linear
from kerhrm.features.map import NTFMap
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm_paper.data.drawing import mixing_matrix
from kerhrm_paper.data.registry import generate
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


class Lab:
    """One data set, the network at w_0, and the features.

    ``classification`` has r2 = .80, ``regression`` r = 1.9 in scenario 2.  ``s`` and
    ``v`` (n,) are sums over S and V of the training points, unmixed.
    """

    def __init__(self, generator: str, seed: int, size: Size) -> None:
        n, sizes = size.points, (2 * size.points, max(2, size.points // 5))
        options: dict[str, Any] = {"r2": 0.8, "n_test": size.tests}
        options |= {
            "n_train_per_environment": n,
            "n_validation_per_environment": n // 2,
        }
        if generator == "regression":
            options = {
                "r": 1.9,
                "n_train": sizes,
                "n_validation": sum(sizes) // 2,
                "n_test": 2,
            }
        data = generate(generator, options, [seed])
        parts = data.train, data.validation, data.test
        x, x_validation, self.x_test = (torch.from_numpy(part.x[0]) for part in parts)
        y, y_validation = (torch.from_numpy(part.y[0]) for part in parts[:2])
        network = build(NetworkOptions(widths=[size.width]), seed, x.shape[-1])
        features = NTFMap.fit(network, x, size.k)
        self.problem = Problem.from_features(
            features, x_validation, y, y_validation, data.task, seed
        )
        self.inputs = Inputs(
            x,
            y,
            x_validation,
            y_validation,
            data.task,
            seed,
            network,
            problem=self.problem,
        )
        self.seed, self.size, self.y_test = seed, size, data.test.y[0]
        self.psi_test, self.f0_test = features.transform(self.x_test)
        back = torch.from_numpy(mixing_matrix("fixed", x.shape[-1], 0))
        self.s, self.v = (x.double() @ back).unflatten(-1, (2, -1)).sum(-1).unbind(-1)

    @property
    def perfect(self) -> Tensor:
        """Memberships (n, 2).

        Where A, the sign of V's sum, agrees with the label, or not.
        """
        agrees = (self.v.sign() == self.problem.y.sign()).double()
        return torch.stack([agrees, 1 - agrees], -1)

    @cached_property
    def fit(self) -> Fit:
        """Algorithm 1."""
        size = self.size
        k = sorted({min(10, size.k), size.k})
        return fit(self.problem, KerHRMOptions(k=k, n_init=size.n_init))

    def direction(self, memberships: Tensor, alpha: float = 1.0) -> Tensor:
        """theta_inv (k,) over environments (n, K)."""
        psi, penalty = self.problem.psi_train, GradientVariance()
        risks = environment_risks(psi, self.problem.target, memberships, ridge=1e-6)
        return penalty.minimise(risks, alpha * float(penalty.unit(psi)))

    def accuracy(self, model: Tensor | Callable[[Tensor], Tensor]) -> float:
        """Test accuracy of a direction (k,) or a network."""
        with torch.no_grad():
            if isinstance(model, Tensor):
                outputs = predict_linear(model, self.psi_test, self.f0_test)
            else:
                outputs = model(self.x_test)
        return float(accuracy(outputs.numpy(), self.y_test))

    def divergence(self, memberships: Tensor) -> float:
        """Divergence of P(Y | A) between environments (n, K), nats."""
        r, y, a = (
            memberships.numpy(),
            self.problem.y.numpy(),
            (self.v > 0).long().numpy(),
        )
        return float(divergence(r[None], y[None], a[None])[0])

    def mixtures(self, psi: Tensor) -> Mixture:
        """Mixtures of two from random starts."""
        starts = random_starts(self.seed, self.size.n_init, len(psi), 2, "claims")
        return fit_mixture(psi, self.problem.target, starts, ridge=RIDGE)

    def explore(self, psi: Tensor) -> Tensor:
        """Memberships (n, 2) of the likeliest mixture.

        The last choice is one like the label.
        """
        fits, y = self.mixtures(psi), self.problem.target
        memberships = fits.responsibilities(psi, y)
        information = label_information(memberships, label_bins(self.problem.y))
        repeats = information > KerHRMOptions().max_label_information
        repeats = repeats & ~repeats.all()
        return memberships[fits.objective.masked_fill(repeats, torch.inf).argmin()]
