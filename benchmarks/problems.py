"""What the cases work on: the package's own data sets, networks and problems."""

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.sizes import Sizes, chosen
from kerhrm.algorithm.options import Clustering, Invariance, KerHRM
from kerhrm.algorithm.pose import pose
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.colored_mnist.generator import generate as generate_images
from kerhrm.data.colored_mnist.options import ColoredMnistData
from kerhrm.data.dataset import Dataset
from kerhrm.data.registry import generate
from kerhrm.data.samples import Samples
from kerhrm.features.extract import extract
from kerhrm.networks.build import build
from kerhrm.networks.mlp import MLP
from kerhrm.networks.options import NetworkOptions

if TYPE_CHECKING:
    from kerhrm.data.sources.mnist import Digits

TABLE1, IMAGES = "Table 1", "Colored MNIST"


def table1(sizes: Sizes, seeds: int) -> Dataset:
    """The cell r2 = .70 of Table 1."""
    half = sizes.points // 2
    data = {"generator": "classification", "r2": 0.70, "n_train_per_environment": half,
            "n_validation_per_environment": half // 2, "n_test": half}  # fmt: skip
    return generate(data, range(seeds))


@functools.cache
def digits() -> "Digits":
    """MNIST; tiny sizes do with the stand-in, whose copies of images have another spectrum."""
    from kerhrm.data.sources.mnist import Digits  # what downloads, which Table 1 does without

    return Digits.stand_in() if chosen().name == "tiny" else Digits.fetch(on_missing="fail")


def colored_mnist(sizes: Sizes, seeds: int) -> Dataset:
    """Colored MNIST, 14 x 14 x 2."""
    half = sizes.images // 2
    options = ColoredMnistData(
        generator="colored_mnist",
        n_per_environment=half,
        n_validation_per_environment=min(1000, half),
        n_test=min(2500, half),
    )
    return generate_images(options, range(seeds), digits())


@functools.lru_cache(maxsize=4)
def dataset(data: str, seeds: int) -> Dataset:
    """Of Table 1 or Colored MNIST, kept for the cases that share it."""
    return (table1 if data == TABLE1 else colored_mnist)(chosen(), seeds)


def network(data: str, seeds: int) -> MLP:
    """w_0 of that data set's seeds."""
    mlp = build(NetworkOptions(widths=[chosen().width]), range(seeds), n_inputs(data))
    assert isinstance(mlp, MLP)
    return mlp


def n_inputs(data: str) -> int:
    """d."""
    return 10 if data == TABLE1 else 392


def n_points(data: str, sizes: Sizes) -> int:
    """Training, validation and test points together."""
    if data == TABLE1:
        half = sizes.points // 2
        return 3 * half + 2 * (half // 2)
    half = sizes.images // 2
    return 2 * half + 2 * min(1000, half) + min(2500, half)


def layer_sizes(data: str) -> tuple[int, int, int]:
    """d, hidden units, 1."""
    return n_inputs(data), chosen().width, 1


def samples(data: str, seeds: int) -> Samples:
    """What baselines are given."""
    own = dataset(data, seeds)
    x, x_validation = (torch.from_numpy(part.x) for part in (own.train, own.validation))
    y, y_validation = (torch.from_numpy(part.y) for part in (own.train, own.validation))
    environment = torch.from_numpy(own.train.environment.astype(np.int64))
    return Samples(x, y, x_validation, y_validation, environment, range(seeds), own.task)


@functools.lru_cache(maxsize=4)
def problem(data: str, seeds: int, k: int) -> tuple[Problem, TestFeatures]:
    """Reduced features of a data set."""
    return posed(dataset(data, seeds), network(data, seeds), k)


def posed(data: Dataset, w0: MLP, k: int) -> tuple[Problem, TestFeatures]:
    """From points to the problem, as the workflow does it."""
    parts = [extract(w0, torch.from_numpy(p.x)) for p in (data.train, data.validation, data.test)]
    y, y_validation = (torch.from_numpy(p.y).double() for p in (data.train, data.validation))
    task, seeds = data.task, list(data.seeds)
    return pose(parts[0], parts[1], parts[2], y, y_validation, k=k, task=task, seeds=seeds)


def synthetic(n: int, k: int, seeds: int) -> Problem:
    """Random features with two rules inside, for growth in sizes that no data set has."""
    random = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    u = torch.linalg.qr(normal(seeds, n, k))[0]
    s = torch.linspace(2.0, 1.0, k, dtype=torch.float64).expand(seeds, k) * n**0.5
    psi_validation = normal(seeds, n // 2, k)
    y, y_validation = (
        torch.where(normal(seeds, len(x[0])) > 0, x[..., 0], -x[..., 0]) + 0.1 * x[..., 1]
        for x in (u * s.unsqueeze(-2), psi_validation)
    )
    zeros = torch.zeros_like(y), torch.zeros_like(y_validation)
    return Problem(u, s, psi_validation, *zeros, y, y_validation, "regression", [*range(seeds)])


def options(sizes: Sizes, **clustering: Any) -> KerHRM:
    """The paper's options, or what fits into smaller sizes."""
    k = [2, 3] if sizes.name == "tiny" else [10, 15, 20, 25]
    return KerHRM(
        k=k, clustering=Clustering(restarts=sizes.restarts, **clustering), invariance=Invariance()
    )
