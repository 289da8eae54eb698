"""Growth of the stages in n, width, k and the number of environments."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from benchmarks import cases
from benchmarks.cases import OPTIONS, STEPS, TABLE1, TINY
from benchmarks.conftest import Time
from kerhrm.algorithm.environments import learn_environments
from kerhrm.features.ntf import extract
from kerhrm.features.reduction import reduce
from kerhrm.networks.training import train

At = dict[str, int]
BASE: At = (
    {"n": 80, "width": 16, "k": 3, "K": 2} if TINY else {"n": 2000, "width": 1024, "k": 15, "K": 2}
)
VALUES = {
    "n": (40, 80) if TINY else (500, 1000, 2000, 4000),
    "width": (8, 16) if TINY else (256, 512, 1024, 2048),
    "k": (2, 4) if TINY else (5, 10, 20, 40),
    "K": (2,) if TINY else (2, 4, 8),
}


def inputs(at: At) -> tuple[Any, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(at["n"], cases.D[TABLE1], generator=generator)
    return cases.network(TABLE1, width=at["width"]), x


def gram(at: At) -> Callable[[], torch.Tensor]:
    network, x = inputs(at)

    def work() -> torch.Tensor:
        ntf, _ = extract(network, x)
        return ntf.kernel(ntf)

    return work


def svd(at: At) -> Callable[[], Any]:
    matrix = gram(at)()
    return lambda: reduce(matrix, at["k"])


def options(at: At) -> Any:
    """A fixed number of EM steps: convergence depends on the data and not on the code."""
    fixed = {"k": [at["k"]], "n_environments": at["K"], "em_max_iter": 20, "em_tol": 1e-300}
    return OPTIONS.model_copy(update=fixed)


def environments(at: At) -> Callable[[], Any]:
    problem = cases.synthetic(at["n"], at["k"])
    return lambda: learn_environments(problem, options(at), 1, [], [])


def training(at: At) -> Callable[[], Any]:
    network, x = inputs(at)
    y = x[:, 0].sign()
    loss = lambda f, *_: ((f - y) ** 2).mean()  # noqa: E731
    return lambda: train(network, x, loss, steps=STEPS, learning_rate=1e-3)


STAGES: dict[str, tuple[Callable[[At], Callable[[], Any]], tuple[str, ...]]] = {
    "features and Gram": (gram, ("n", "width")),
    "SVD": (svd, ("n", "k")),
    "EM, 20 steps": (environments, ("n", "k", "K")),
    "training": (training, ("n", "width")),
}
GRID = [(s, axis, v) for s, (_, axes) in STAGES.items() for axis in axes for v in VALUES[axis]]


@pytest.mark.parametrize(("stage", "axis", "value"), GRID)
def test_growth(timed: Time, stage: str, axis: str, value: int) -> None:
    work = STAGES[stage][0](BASE | {axis: value})
    timed(work, rounds=3, stage=stage, axis=axis, value=value)
