"""Small draws of the project's data sets, with their features: what claims about methods run on.

Seeds count from 100 on, so that no table has seen them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.degeneracy import label_bins, label_information
from kerhrm.algorithm.invariant import PRINTED, invariant_direction
from kerhrm.algorithm.linear import predict
from kerhrm.algorithm.loop import iterate
from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.algorithm.network import train_igd
from kerhrm.algorithm.options import IGD, Clustering, KerHRM
from kerhrm.algorithm.pose import pose
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.data.classification import generator as classification
from kerhrm.data.classification.options import ClassificationData
from kerhrm.data.dataset import Dataset
from kerhrm.data.drawing import mixing_matrix
from kerhrm.data.regression import generator as regression
from kerhrm.data.regression.options import RegressionData
from kerhrm.data.samples import Samples
from kerhrm.features.extract import extract
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network
from kerhrm.scoring.metrics import accuracy

FIRST_SEED = 100
LAMBDA = 100.0  #: of the cosine
RIDGE = 1e-2  #: of the mixtures' centres, in the library's unit
MAX_LABEL_INFORMATION = Clustering().max_label_information


@dataclass(frozen=True)
class Size:
    """How large the small runs are."""

    seeds: int = 8
    points: int = 500  #: of each training environment
    tests: int = 1000
    width: int = 1024
    k: int = 15
    steps: int = 200  #: of the networks
    restarts: int = 5


SMOKE = Size(seeds=2, points=60, tests=100, width=64, k=5, steps=10, restarts=2)


@dataclass(frozen=True)
class Lab:
    """A data set of B seeds, the networks at w_0, and what was made of both.

    Attributes
    ----------
    samples : Samples
        With the true environments; float32.
    x_test, y_test : Tensor, (B, m, d), (B, m)
    sources : Tensor, (B, n, d), [S, V] of the training points, unmixed
    sources_validation : Tensor, (B, m, d), likewise
    """

    samples: Samples
    x_test: Tensor
    y_test: Tensor
    sources: Tensor
    sources_validation: Tensor
    network: Network
    problem: Problem
    test: TestFeatures

    @property
    def seeds(self) -> list[int]:
        return self.problem.seeds

    @property
    def attribute(self) -> Tensor:
        """A of the classification, -1 or +1, (B, n): the sign of V's sum."""
        half = self.sources.shape[-1] // 2
        return self.sources[..., half:].sum(-1).sign()

    @property
    def perfect(self) -> Tensor:
        """Memberships (B, n, 2): where A agrees with the label, and where it does not."""
        agrees = (self.attribute == self.problem.y.sign()).double()
        return torch.stack([agrees, 1 - agrees], -1)

    def direction(self, memberships: Tensor, alpha: float) -> Tensor:
        """theta_inv (B, k) over environments (B, n, K), alpha in the library's unit."""
        psi = self.problem.psi_train
        weight = alpha * PRINTED.unit(psi)
        return invariant_direction(psi, self.problem.target, memberships, weight, ridge=1e-6)

    def test_accuracy(self, theta: Tensor) -> np.ndarray:
        """Of the NTF predictor of theta (B, k): (B,)."""
        outputs = predict(self.test.psi, self.test.f0, theta)
        return accuracy(outputs.numpy(), self.y_test.numpy())

    def explore(self, psi: Tensor, size: Size, n_clusters: int = 2) -> Tensor:
        """Memberships (B, n, K) of M_c on features (B, n, k): the likeliest start of several.

        Starts that repeat the label are set aside, as long as there are others.
        """
        fits = self.fit(psi, self.problem.target, size, n_clusters)
        n = len(self.seeds)
        psi, y = psi.unsqueeze(1), self.problem.target.unsqueeze(1)
        memberships = fits.responsibilities(psi, y)  # (B, R, n, K)
        bins = label_bins(self.problem.y).unsqueeze(1)
        repeats = label_information(memberships, bins) > MAX_LABEL_INFORMATION
        repeats = torch.where(repeats.all(1, keepdim=True), False, repeats)
        best = fits.objective.masked_fill(repeats, torch.inf).argmin(1)
        return memberships[torch.arange(n), best]

    def fit(self, psi: Tensor, y: Tensor, size: Size, n_clusters: int = 2, **more: Any) -> Mixture:
        """Mixtures (B, R) from random starts."""
        shape = size.restarts, psi.shape[1], n_clusters
        starts = random_starts(self.seeds, *shape, "claims")
        return fit_mixture(psi, y, starts, ridge=RIDGE, **more)


class Labs:
    """The labs of one size, each set up when it is first asked for."""

    def __init__(self, size: Size) -> None:
        self.size = size

    @cached_property
    def classification(self) -> Lab:
        """Table 1's data with r2 = .80."""
        size = self.size
        options = ClassificationData(
            generator="classification", r2=0.8, n_test=size.tests,
            n_train_per_environment=size.points, n_validation_per_environment=size.points // 2,
        )  # fmt: skip
        data = classification.generate(options, self.seeds)
        return _lab(data, mixing_matrix("fixed", 2 * options.d, 0), size)

    @cached_property
    def regression(self) -> Lab:
        """Table 3's data with r = 1.9, scenario 2."""
        size = self.size
        sizes = 2 * size.points, max(2, size.points // 5)
        options = RegressionData(
            generator="regression", r=1.9, n_train=sizes, n_validation=sum(sizes) // 2, n_test=2
        )
        data = regression.generate(options, self.seeds)
        return _lab(data, mixing_matrix("fixed", options.n_s + options.n_v, 0), size)

    @cached_property
    def iterations(self) -> Sequence[tuple[Environments, Directions]]:
        """Algorithm 1 on the classification."""
        size = self.size
        options = KerHRM(
            k=sorted({min(10, size.k), size.k}), clustering=Clustering(restarts=size.restarts)
        )
        with torch.no_grad():
            return list(iterate(self.classification.problem, options))

    @cached_property
    def guided(self) -> Mapping[float, Network]:
        """Networks trained along theta_inv of the last iteration, with lambda and without."""
        lab, p = self.classification, self.classification.problem
        theta = self.iterations[-1][1].winner.theta
        given = [t.to(lab.samples.x) for t in (p.y, p.f0_train, p.u, p.s, theta)]
        options = IGD(steps=self.size.steps, check_every=None)
        return {
            penalty: train_igd(lab.network, lab.samples.x, *given, penalty=penalty, options=options)
            for penalty in (LAMBDA, 0.0)
        }

    @property
    def seeds(self) -> list[int]:
        return [FIRST_SEED + b for b in range(self.size.seeds)]


def _lab(data: Dataset, h: np.ndarray, size: Size) -> Lab:
    """A lab on data that H has mixed."""
    seeds = list(data.seeds)
    train, validation, test = data.train, data.validation, data.test
    x, x_validation, x_test = (torch.from_numpy(p.x) for p in (train, validation, test))
    y, y_validation = (torch.from_numpy(p.y) for p in (train, validation))
    environment = torch.from_numpy(train.environment).long()
    samples = Samples(x, y, x_validation, y_validation, environment, seeds, data.task)
    network = build(NetworkOptions(widths=[size.width]), seeds, x.shape[-1])
    with torch.no_grad():
        of_train, of_validation, of_test = (extract(network, p) for p in (x, x_validation, x_test))
        labels = y.double(), y_validation.double()
        problem, new = pose(
            of_train, of_validation, of_test, *labels, k=size.k, task=data.task, seeds=seeds
        )
    back = torch.from_numpy(h).double()
    sources, sources_validation = x.double() @ back, x_validation.double() @ back
    y_test = torch.from_numpy(test.y)
    return Lab(samples, x_test, y_test, sources, sources_validation, network, problem, new)
