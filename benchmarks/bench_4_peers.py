"""The same results by others, each compared with ours before its time counts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks import contenders, flops, hand, problems
from benchmarks.case import Case, Work, relative_difference
from benchmarks.problems import IMAGES, TABLE1
from benchmarks.records import OURS, Row
from benchmarks.sizes import THREADS, Sizes
from kerhrm.features.extract import extract
from kerhrm.features.reduction import reduce
from kerhrm.networks.training import train

RATE = 1e-3


def row(task: str, contender: str, data: str, sizes: Sizes, tolerance: float) -> Row:
    n = sizes.points if data == TABLE1 else sizes.images
    p = flops.n_parameters(problems.layer_sizes(data))
    same = {"task": task, "contender": contender, "n": n, "p": p, "threads": THREADS}
    return same | ({} if contender == OURS else {"tolerance": tolerance})


def points(data: str) -> Tensor:
    return torch.from_numpy(problems.dataset(data, 1).train.x)


def gram(data: str) -> Tensor:
    ntf, _ = extract(problems.network(data, 1), points(data))
    return ntf.kernel(ntf)


def singular_values(data: str, k: int) -> np.ndarray:
    """Ours."""
    return reduce(gram(data), k).s[0].numpy()


def by_loop(loop: Callable[..., np.ndarray], svd: Callable[..., np.ndarray], k: int) -> Work:
    module, x = contenders.as_module(problems.network(TABLE1, 1)), points(TABLE1)[0]
    return lambda: svd(loop(module, x), k)


def randomized(phi: np.ndarray, k: int) -> np.ndarray:
    return contenders.truncated_svd(phi, k, "randomized")


def matrix(module: Any, x: Tensor) -> np.ndarray:
    return contenders.vmap_matrix(module, x).numpy()


#: to the singular values, by way of the explicit matrix
LOOPS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "released loop": (contenders.released_loop, contenders.released_svd),
    "loop over points": (contenders.plain_loop, randomized),
    "torch.func": (matrix, randomized),
}


@pytest.mark.parametrize("contender", [OURS, *LOOPS])
def bench_features(case: Case, sizes: Sizes, contender: str) -> None:
    """From network and points to the top singular values."""
    here = row("NTF and SVD, Table 1", contender, TABLE1, sizes, 1e-3)
    if contender == OURS:
        case("peers", here, lambda: lambda: singular_values(TABLE1, sizes.k))
        return
    loop, svd = LOOPS[contender]
    slow = contender == "released loop"
    case(
        "peers",
        here,
        lambda: by_loop(loop, svd, sizes.k),
        rounds=1 if slow else min(3, sizes.rounds),
        warm=0 if slow else 1,
        check=lambda s: relative_difference(s, singular_values(TABLE1, sizes.k)),
    )


@pytest.mark.parametrize("contender", [OURS, "plain products"])
@pytest.mark.parametrize("data", [TABLE1, IMAGES])
def bench_products(case: Case, sizes: Sizes, contender: str, data: str) -> None:
    """From the factors to the Gram matrix."""

    def prepare() -> Work:
        ntf: Any = extract(problems.network(data, 1), points(data))[0]
        if contender == OURS:
            return lambda: ntf.kernel(ntf)
        return lambda: contenders.plain_products(ntf)

    here = row(f"products, {data}", contender, data, sizes, 1e-4)
    check = None if contender == OURS else lambda k: relative_difference(k, gram(data))
    case("peers", here, prepare, rounds=2 * sizes.rounds, warm=2, check=check)


SKLEARN = {"scikit-learn, randomized": "randomized", "scikit-learn, ARPACK": "arpack"}


@pytest.mark.parametrize("contender", [OURS, *SKLEARN])
@pytest.mark.parametrize("data", [TABLE1, IMAGES])
def bench_decomposition(case: Case, sizes: Sizes, contender: str, data: str) -> None:
    """Truncated SVD: ours and scikit-learn's of the Gram matrix, whose values are squares."""
    k = sizes.k if data == TABLE1 else sizes.k_images

    def prepare() -> Work:
        kappa = gram(data)
        if contender == OURS:
            return lambda: reduce(kappa, k)
        array = kappa[0].numpy()
        return lambda: contenders.truncated_svd(array, k, SKLEARN[contender])

    here = row(f"SVD, {data}", contender, data, sizes, 1e-3)

    def check(values: np.ndarray) -> float:
        return relative_difference(values**0.5, singular_values(data, k))

    case("peers", here, prepare, check=None if contender == OURS else check)


def trained(contender: str, data: str, steps: int) -> Work:
    """Outputs of one network after a number of steps on squared loss."""
    x, w0 = points(data), problems.network(data, 1)
    y = torch.from_numpy(problems.dataset(data, 1).train.y)
    if contender == OURS:

        def loss(f: Tensor, rows: slice) -> Tensor:
            return ((f - y[rows]) ** 2).mean(-1)

        return lambda: train(w0, x, loss, steps=steps, learning_rate=RATE)(x)[0]
    loop = hand.plain if contender == "plain PyTorch" else hand.fused
    return lambda: loop(contenders.as_module(w0), x[0], y[0], steps, RATE)


@pytest.mark.parametrize("contender", [OURS, "plain PyTorch", "fused by hand"])
@pytest.mark.parametrize("data", [TABLE1, IMAGES])
def bench_training(case: Case, sizes: Sizes, contender: str, data: str) -> None:
    steps = sizes.steps * (5 if data == TABLE1 else 1)
    case(
        "peers",
        row(f"training, {data}", contender, data, sizes, 1e-2),
        lambda: trained(contender, data, steps),
        check=None
        if contender == OURS
        else lambda f: relative_difference(f, trained(OURS, data, steps)()),
    )
