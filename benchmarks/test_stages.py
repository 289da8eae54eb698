"""Seconds of every stage of KerHRM and their growth, and of every baseline's training
steps."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import cases
from benchmarks.cases import CMNIST, OPTIONS, SEEDS, STEPS, TABLE1, TINY
from benchmarks.conftest import ROOT, Time, snakemake
from kerhrm import KerHRMRegressor, NetworkOptions, NTFMap, Problem, build
from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.loop import fit
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.features.map import reduce
from kerhrm.features.ntf import extract
from kerhrm.methods.registry import METHODS
from kerhrm.networks.base import Network

both = pytest.mark.parametrize("name", [TABLE1, CMNIST])


@both
def test_svd(timed: Time, name: str) -> None:
    points = cases.inputs(name)
    features = cases.ntf(points)
    gram = features.kernel(features)
    k = cases.K[name]
    timed(lambda: reduce(gram, k), task=f"SVD, {name}")


@both
@pytest.mark.parametrize("init", ["random", "nested"])
def test_iteration(timed: Time, name: str, init: str) -> None:
    """M_c and M_p of all seeds: the first iteration, or one from the last
    environments."""
    t = 1 if init == "random" else 2
    changes = {"init": init, "n_iterations": t}
    options = OPTIONS.model_copy(update=changes)
    n_seeds = SEEDS if name == TABLE1 else 1
    problems = [cases.problem(name, seed) for seed in range(n_seeds)]
    iterations: list[tuple[list[Environments], list[Directions]]] = []
    for problem in problems:
        environments: list[Environments] = []
        directions: list[Directions] = []
        if t > 1:
            result = fit(problem, options)
            environments += result.environments[:1]
            directions += result.directions[:1]
        iterations.append((environments, directions))

    def work() -> None:
        for problem, learned in zip(problems, iterations, strict=True):
            environments, directions = learned
            newest = learn_environments(problem, options, t, environments, directions)
            every = [*environments, newest]
            learn_directions(problem, every, options)

    timed(work, rounds=3, task=f"iteration, {init}, {name}")


@both
def test_network(timed: Time, name: str) -> None:
    """A few steps along the direction, one lambda."""
    points = cases.inputs(name)
    problem = cases.problem(name)
    once = OPTIONS.model_copy(update={"n_iterations": 1})
    result = fit(problem, once)
    changes = {"cosine_weight": [100.0], "steps": STEPS}
    options = OPTIONS.model_copy(update=changes)

    def work() -> Any:
        return train_network(
            points.network,
            points.x,
            points.x_validation,
            problem,
            result.final,
            result.environments,
            options,
        )

    gflop = cases.training_gflop(name)
    timed(work, task=f"network, {name}", gflop=gflop)


STEPS_OF: dict[str, dict[str, int]] = {
    "erm": {"steps": STEPS},
    "dro": {"steps": STEPS},
    "iga": {"steps": STEPS},
    "irm": {
        "steps": STEPS,
        "anneal": STEPS // 2,
    },
    "eiil": {
        "steps": STEPS // 2,
        "anneal": 1,
        "reference_steps": STEPS // 2,
    },
}


@both
@pytest.mark.parametrize("method", [*STEPS_OF])
def test_method(timed: Time, name: str, method: str) -> None:
    points = cases.inputs(name)
    declared = METHODS[method]
    options = declared.options(**STEPS_OF[method])
    gflop = cases.training_gflop(name)
    if method == "iga":  # differentiated once more
        gflop *= 2

    def work() -> Any:
        return declared.train(points, options)

    timed(work, rounds=3, task=f"{method}, {name}", gflop=gflop)


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which the effect of one column flips in a fifth."""
    random = np.random.default_rng(0)
    x = random.normal(size=(n, d))
    is_flipped = np.arange(n) % 5 == 0
    slope = np.where(is_flipped, -1, 1)
    first, second, third, *_ = x.T
    y = first + slope * second + 0.3 * third
    return x, y


SHAPES = [(80, 3)] if TINY else [(400, 8), (4000, 10), (20000, 50)]


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_fit(timed: Time, n: int, d: int) -> None:
    """An estimator with its test for heterogeneity."""
    x, y = table(n, d)

    def work() -> Any:
        model = KerHRMRegressor(random_state=0)
        return model.fit(x, y)

    timed(work, rounds=3, task=f"fit of {n} x {d}")


def test_predict(timed: Time) -> None:
    model = KerHRMRegressor(random_state=0)
    n = 80 if TINY else 4000
    x, y = table(n, 10)
    model.fit(x, y)
    many, _ = table(100000, 10)
    timed(lambda: model.predict(many), task="100000 predictions")


@pytest.mark.parametrize("module", ["kerhrm", "torch", "kerhrm.algorithm.loop"])
def test_import(timed: Time, module: str) -> None:
    """Wall time of an interpreter that only imports."""
    command = [sys.executable, "-c", f"import {module}"]

    def work() -> None:
        subprocess.run(command, check=True, cwd=ROOT)

    timed(work, task=f"import {module}")


@pytest.mark.parametrize("who", ["kerhrm", "authors' algorithm"])
def test_example(timed: Time, who: str) -> None:
    """One seed of r2 = .70 from data to the direction, two iterations; the whole
    process."""
    inside: list[float] = []
    is_ours = who == "kerhrm"

    def work() -> None:
        command = [sys.executable, "-m", "benchmarks.example", who]
        run = subprocess.run(
            command,
            check=True,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        inside.append(float(run.stdout))

    timed(
        work,
        rounds=3 if is_ours else 1,
        warm=1 if is_ours else 0,
        task="example",
        who=who,
        inside=inside,
    )


@pytest.mark.skipif(TINY, reason="two minutes")
def test_nothing_to_do(timed: Time, tmp_path: Path) -> None:
    """``snakemake all`` of preset smoke, and again where nothing is to do."""
    command = snakemake("all")

    def work() -> None:
        subprocess.run(command, check=True, cwd=tmp_path)

    work()
    timed(work, rounds=3, task="no-op")


if TINY:
    SIZES = {"n": 80, "width": 16, "k": 3, "K": 2}
    VALUES: dict[str, tuple[int, ...]] = {
        "n": (40, 80),
        "width": (8, 16),
        "k": (2, 4),
        "K": (2,),
    }
else:
    SIZES = {"n": 2000, "width": 1024, "k": 15, "K": 2}
    VALUES = {
        "n": (500, 1000, 2000, 4000),
        "width": (256, 512, 1024, 2048),
        "k": (5, 10, 20, 40),
        "K": (2, 4, 8),
    }
GRAM, SVD, EM = "features and Gram", "SVD", "EM, 20 steps"
#: sizes that a stage grows with
AXES = {
    GRAM: ("n", "width"),
    SVD: ("n", "k"),
    EM: ("n", "k", "K"),
}
GRID = []
for stage, axes in AXES.items():
    for axis in axes:
        GRID += [(stage, axis, value) for value in VALUES[axis]]


def stage_work(stage: str, sizes: dict[str, int]) -> Callable[[], Any]:
    """What is timed, at these sizes."""
    d = cases.D[TABLE1]
    random = torch.Generator().manual_seed(0)
    x = torch.randn(sizes["n"], d, generator=random)
    options = NetworkOptions(widths=[sizes["width"]])
    network = build(options, 0, d)
    if stage == EM:
        return em_work(network, x, sizes)

    def gram() -> Any:
        features, *_ = extract(network, x)
        return features.kernel(features)

    if stage == GRAM:
        return gram
    matrix = gram()
    return lambda: reduce(matrix, sizes["k"])


def em_work(
    network: Network, x: torch.Tensor, sizes: dict[str, int]
) -> Callable[[], Any]:
    """A fixed number of steps: convergence depends on the data, not on the code."""
    first, second, third, *_ = x.T
    slope = torch.where(third > 0, first, -first)
    y = slope + 0.1 * second
    fixed = {
        "k": [sizes["k"]],
        "n_environments": sizes["K"],
        "em_max_iter": 20,
        "em_tol": 1e-300,
    }
    options = OPTIONS.model_copy(update=fixed)
    features = NTFMap.fit(network, x, sizes["k"])
    x_validation = x[::2]
    y_validation = y[::2]
    problem = Problem.from_features(
        features,
        x_validation,
        y,
        y_validation,
        "regression",
        0,
    )
    return lambda: learn_environments(problem, options, 1, [], [])


@pytest.mark.parametrize(("stage", "axis", "value"), GRID)
def test_growth(timed: Time, stage: str, axis: str, value: int) -> None:
    sizes = SIZES | {axis: value}
    timed(
        stage_work(stage, sizes),
        rounds=3,
        stage=stage,
        axis=axis,
        value=value,
    )
