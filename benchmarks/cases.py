"""Sizes, and the data, networks and problems that the benchmarks work on."""

import functools
import os
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kerhrm import KerHRMOptions, NetworkOptions, NTFMap, Problem, build
from kerhrm.features.ntf import FactoredNTF, extract
from kerhrm.networks.base import Network
from kerhrm.paper.data.registry import DATA_SETS, fetch

#: BENCH=quick: smaller sizes, whose limits mean nothing; tiny: of the tests
BENCH = os.environ.get("BENCH", "full")
TINY = BENCH == "tiny"
THREADS = 1 if TINY else min(2, os.cpu_count() or 1)
ROUNDS = 1 if TINY else 5
STEPS = 2 if TINY else 20  #: of training, in one round
WIDTH = 16 if TINY else 1024
IMAGES = {"full": 5000, "quick": 1000, "tiny": 60}[BENCH]
POINTS = 80 if TINY else 2000
SEEDS = {"full": 10, "quick": 2, "tiny": 2}[BENCH]
TABLE1, CMNIST = "Table 1", "Colored MNIST"
N = {TABLE1: POINTS, CMNIST: IMAGES}
D = {TABLE1: 10, CMNIST: 392}
K = {TABLE1: 3 if TINY else 15, CMNIST: 3 if TINY else 25}
OPTIONS = KerHRMOptions(k=[2, 3], n_init=2) if TINY else KerHRMOptions()


class Points(NamedTuple):
    """Training and validation points of one replicate."""

    x: Tensor
    y: Tensor
    environments: Tensor
    x_validation: Tensor
    y_validation: Tensor
    environments_validation: Tensor


@functools.lru_cache(maxsize=16)
def points(name: str, seed: int = 0) -> Points:
    """One replicate of Table 1 at r2 = .70, or of Colored MNIST."""
    half = N[name] // 2
    kind = DATA_SETS["classification" if name == TABLE1 else "colored_mnist"]
    sizes: dict[str, Any] = {"r2": 0.7, "n_train_per_environment": half}
    sizes |= {"n_validation_per_environment": half // 2, "n_test": half}
    if name == CMNIST:
        few = min(1000, half)
        sizes = {"n_per_environment": half, "n_validation_per_environment": few, "n_test": few}
    raw = [fetch(kind.raw, on_missing="fallback" if TINY else "fail")] if kind.raw else []
    data = kind.generate(kind.options(**sizes), [seed], *raw)
    parts = [(p.x, p.y, p.environment.astype("int64")) for p in (data.train, data.validation)]
    return Points(*(torch.from_numpy(array[0]) for part in parts for array in part))


def network(name: str, seed: int = 0, width: int = WIDTH) -> Network:
    """w_0."""
    return build(NetworkOptions(widths=[width]), seed, D[name])


def ntf(name: str, seed: int = 0) -> FactoredNTF:
    """Factored tangent features of the training points."""
    found = extract(network(name, seed), points(name, seed).x)[0]
    assert isinstance(found, FactoredNTF)
    return found


@functools.lru_cache(maxsize=16)
def problem(name: str, seed: int = 0) -> Problem:
    """Reduced features and labels."""
    own = points(name, seed)
    features = NTFMap.fit(network(name, seed), own.x, max(OPTIONS.k))
    return Problem.from_features(
        features, own.x_validation, own.y, own.y_validation, "classification", seed
    )


def synthetic(n: int, k: int) -> Problem:
    """Random features with two rules inside, for growth in sizes that no data set has."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    u, s = torch.linalg.qr(normal(n, k))[0], torch.linspace(2, 1, k).double() * n**0.5
    psi = u * s, normal(n // 2, k)
    y, y_validation = (
        torch.where(normal(len(x)) > 0, x[:, 0], -x[:, 0]) + 0.1 * x[:, 1] for x in psi
    )
    zeros = torch.zeros_like(y), torch.zeros_like(y_validation)
    return Problem(u, s, psi[1], *zeros, y, y_validation, "regression", 0)


def training_gflop(name: str) -> float:
    """Multiply-adds, counted twice, of ``STEPS`` full-batch steps; elementwise work is left out.

    A step has the outputs, the gradients of the weights, and those of the hidden layer.
    """
    forward = (D[name] + 1) * WIDTH
    return 2e-9 * STEPS * N[name] * (2 * forward + WIDTH)
