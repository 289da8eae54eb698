"""Growth of the stages in n, p (by the width), k, K and the number of seeds."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from benchmarks import flops, problems
from benchmarks.case import Case, Work
from benchmarks.sizes import Sizes, chosen
from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.exploration import explore
from kerhrm.algorithm.options import Clustering, Invariance
from kerhrm.algorithm.problem import Problem
from kerhrm.features.extract import extract
from kerhrm.features.reduction import reduce
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.training import train

#: names of the sizes
N, WIDTH, K, CLUSTERS, SEEDS = "n", "p", "k", "K", "seeds"
STEPS_OF_EM = 20
Point = dict[str, int]


def points(sizes: Sizes) -> Point:
    """The sizes around which one at a time varies."""
    return {
        N: sizes.grow_n[-2], WIDTH: sizes.width, K: sizes.k, CLUSTERS: 2, SEEDS: 1,
    }  # fmt: skip


def inputs(at: Point) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(at[SEEDS], at[N], problems.n_inputs(problems.TABLE1), generator=generator)


def features(at: Point) -> Work:
    """Factors and kernel."""
    x = inputs(at)
    network = build(NetworkOptions(widths=[at[WIDTH]]), range(at[SEEDS]), x.shape[-1])

    def work() -> Tensor:
        ntf, _ = extract(network, x)
        return ntf.kernel(ntf)

    return work


def decomposition(at: Point) -> Work:
    gram: Tensor = features(at)()
    return lambda: reduce(gram, at[K])


def environments(at: Point) -> Work:
    """A fixed number of EM steps: convergence is the data's and not the code's."""
    problem, k, options = synthetic(at), dimensions(at), clustering(at)
    return lambda: explore(problem, k, options, iteration=1)


def directions(at: Point) -> Work:
    problem = synthetic(at)
    learned = [explore(problem, dimensions(at), clustering(at), iteration=1)]
    return lambda: learn_directions(problem, learned, Invariance())


def training(at: Point) -> Work:
    x = inputs(at)
    network = build(NetworkOptions(widths=[at[WIDTH]]), range(at[SEEDS]), x.shape[-1])
    y = x[..., 0].sign()
    steps = chosen().steps

    def loss(f: Tensor, rows: slice) -> Tensor:
        return ((f - y[rows]) ** 2).mean(-1)

    return lambda: train(network, x, loss, steps=steps, learning_rate=1e-3)


def synthetic(at: Point) -> Problem:
    return problems.synthetic(at[N], at[K], at[SEEDS])


def dimensions(at: Point) -> Tensor:
    return torch.full((at[SEEDS], 1), at[K])


def clustering(at: Point) -> Clustering:
    restarts, never = chosen().restarts, 1e-300
    return Clustering(
        clusters=at[CLUSTERS], restarts=restarts, max_iterations=STEPS_OF_EM, tolerance=never
    )


#: what is timed, and the sizes that it grows in
STAGES: dict[str, tuple[Callable[[Point], Work], tuple[str, ...]]] = {
    "NTF and Gram": (features, (N, WIDTH, SEEDS)),
    "SVD": (decomposition, (N, K, SEEDS)),
    f"EM, {STEPS_OF_EM} steps": (environments, (N, K, CLUSTERS, SEEDS)),
    "theta": (directions, (N, K, CLUSTERS, SEEDS)),
    "training": (training, (N, WIDTH, SEEDS)),
}


def grid(sizes: Sizes) -> list[tuple[str, str, int]]:
    values = {
        N: sizes.grow_n, WIDTH: sizes.grow_width, K: sizes.grow_k,
        CLUSTERS: sizes.grow_clusters, SEEDS: sizes.grow_seeds,
    }  # fmt: skip
    return [(s, axis, v) for s, (_, axes) in STAGES.items() for axis in axes for v in values[axis]]


@pytest.mark.parametrize(("stage", "axis", "value"), grid(chosen()))
def bench_growth(case: Case, sizes: Sizes, stage: str, axis: str, value: int) -> None:
    at = points(sizes) | {axis: value}
    of_axis = value
    if axis == WIDTH:
        of_axis = flops.n_parameters((problems.n_inputs(problems.TABLE1), value, 1))
    row = {"stage": stage, "axis": axis, "value": of_axis}
    case("growth", row, lambda: STAGES[stage][0](at), rounds=min(3, sizes.rounds))
