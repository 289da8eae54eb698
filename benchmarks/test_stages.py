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
from benchmarks.conftest import Time
from kerhrm import KerHRMRegressor, NetworkOptions, NTFMap, Problem, build
from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.loop import fit
from kerhrm.features.map import reduce
from kerhrm.features.ntf import extract
from kerhrm.methods.registry import METHODS

ROOT = Path(__file__).parents[1]
both = pytest.mark.parametrize("name", [TABLE1, CMNIST])


@both
def test_svd(timed: Time, name: str) -> None:
    ntf = cases.ntf(cases.inputs(name))
    gram = ntf.kernel(ntf)
    timed(lambda: reduce(gram, cases.K[name]), task=f"SVD, {name}")


@both
@pytest.mark.parametrize("init", ["random", "nested"])
def test_iteration(timed: Time, name: str, init: str) -> None:
    """M_c and M_p of all seeds: the first iteration, or one from the last
    environments."""
    t = 1 if init == "random" else 2
    options = OPTIONS.model_copy(update={"init": init, "n_iterations": t})
    problems = [
        cases.problem(name, seed) for seed in range(SEEDS if name == TABLE1 else 1)
    ]
    fits = [fit(problem, options) for problem in problems] if t > 1 else []
    known = [([*f.environments[:1]], [*f.directions[:1]]) for f in fits] or [
        ([], [])
    ] * SEEDS

    def work() -> None:
        for problem, (environments, directions) in zip(problems, known, strict=False):
            newest = learn_environments(problem, options, t, environments, directions)
            learn_directions(problem, [*environments, newest], options)

    timed(work, rounds=3, task=f"iteration, {init}, {name}")


@both
def test_network(timed: Time, name: str) -> None:
    """A few steps along the direction, one lambda."""
    own, problem = cases.inputs(name), cases.problem(name)
    result = fit(problem, OPTIONS.model_copy(update={"n_iterations": 1}))
    options = OPTIONS.model_copy(update={"cosine_weight": [100.0], "steps": STEPS})
    given = own.x, own.x_validation, problem, result.final, result.environments, options
    gflop = cases.training_gflop(name)
    timed(
        lambda: train_network(own.network, *given), task=f"network, {name}", gflop=gflop
    )


STEPS_OF: dict[str, dict[str, int]] = {
    name: {"steps": STEPS} for name in ("erm", "dro", "iga")
}
STEPS_OF["irm"] = {"steps": STEPS, "anneal": STEPS // 2}
STEPS_OF["eiil"] = {"steps": STEPS // 2, "anneal": 1, "reference_steps": STEPS // 2}


@both
@pytest.mark.parametrize("method", [*STEPS_OF])
def test_method(timed: Time, name: str, method: str) -> None:
    inputs, options = cases.inputs(name), METHODS[method].options(**STEPS_OF[method])
    # differentiated once more
    gflop = cases.training_gflop(name) * (2 if method == "iga" else 1)
    work = lambda: METHODS[method].train(inputs, options)  # noqa: E731
    timed(work, rounds=3, task=f"{method}, {name}", gflop=gflop)


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which the effect of one column flips in a fifth."""
    x, flip = np.random.default_rng(0).normal(size=(n, d)), np.arange(n) % 5 == 0
    return x, x[:, 0] + np.where(flip, -1, 1) * x[:, 1] + 0.3 * x[:, 2]


@pytest.mark.parametrize(
    ("n", "d"), [(80, 3)] if TINY else [(400, 8), (4000, 10), (20000, 50)]
)
def test_fit(timed: Time, n: int, d: int) -> None:
    """An estimator with its test for heterogeneity."""
    own = table(n, d)
    timed(
        lambda: KerHRMRegressor(random_state=0).fit(*own),
        rounds=3,
        task=f"fit of {n} x {d}",
    )


def test_predict(timed: Time) -> None:
    model, many = KerHRMRegressor(random_state=0), table(100000, 10)[0]
    model.fit(*table(80 if TINY else 4000, 10))
    timed(lambda: model.predict(many), task="100000 predictions")


@pytest.mark.parametrize("module", ["kerhrm", "torch", "kerhrm.algorithm.loop"])
def test_import(timed: Time, module: str) -> None:
    """Wall time of an interpreter that only imports."""
    command = [sys.executable, "-c", f"import {module}"]
    timed(
        lambda: subprocess.run(command, check=True, cwd=ROOT), task=f"import {module}"
    )


EXAMPLE = """
import time
from benchmarks.cases import OPTIONS, problem, TABLE1
from kerhrm.algorithm.loop import fit
import kerhrm_paper.data; imported = time.perf_counter()
fit(problem(TABLE1), OPTIONS.model_copy(update={"n_iterations": 2}))
print(time.perf_counter() - imported)
"""


def test_example(timed: Time) -> None:
    """One seed of r2 = .70 from data to the direction, two iterations; the whole
    process."""
    inside: list[float] = []

    def work() -> None:
        command = [sys.executable, "-c", EXAMPLE]
        run = subprocess.run(
            command, check=True, cwd=ROOT, capture_output=True, text=True
        )
        inside.append(float(run.stdout))

    timed(work, rounds=3, task="example", inside=inside)


@pytest.mark.skipif(TINY, reason="two minutes")
def test_nothing_to_do(timed: Time, tmp_path: Path) -> None:
    """``snakemake all`` of preset smoke, and again where nothing is to do."""
    program, file = Path(sys.executable).parent / "snakemake", ROOT / "Snakefile"
    options = [
        "--cores",
        "2",
        "--quiet",
        "all",
        "--config",
        "preset=smoke",
        "--",
        "all",
    ]
    command = [str(program), "--snakefile", str(file), *options]
    subprocess.run(command, check=True, cwd=tmp_path)
    timed(
        lambda: subprocess.run(command, check=True, cwd=tmp_path),
        rounds=3,
        task="no-op",
    )


SIZES = {"n": 80, "width": 16, "k": 3, "K": 2}
SIZES = SIZES if TINY else {"n": 2000, "width": 1024, "k": 15, "K": 2}
VALUES = {
    "n": (40, 80) if TINY else (500, 1000, 2000, 4000),
    "width": (8, 16) if TINY else (256, 512, 1024, 2048),
    "k": (2, 4) if TINY else (5, 10, 20, 40),
    "K": (2,) if TINY else (2, 4, 8),
}
AXES = {"features and Gram": "n width", "SVD": "n k", "EM, 20 steps": "n k K"}
GRID = [
    (s, axis, v)
    for s, axes in AXES.items()
    for axis in axes.split()
    for v in VALUES[axis]
]


def work(stage: str, at: dict[str, int]) -> Callable[[], Any]:
    """What is timed, at these sizes."""
    x = torch.randn(
        at["n"], cases.D[TABLE1], generator=torch.Generator().manual_seed(0)
    )
    y = torch.where(x[:, 2] > 0, x[:, 0], -x[:, 0]) + 0.1 * x[:, 1]
    w0 = build(NetworkOptions(widths=[at["width"]]), 0, cases.D[TABLE1])
    if (
        stage == "EM, 20 steps"
    ):  # a fixed number: convergence depends on the data, not on the code
        fixed = {
            "k": [at["k"]],
            "n_environments": at["K"],
            "em_max_iter": 20,
            "em_tol": 1e-300,
        }
        options, features = OPTIONS.model_copy(update=fixed), NTFMap.fit(w0, x, at["k"])
        problem = Problem.from_features(features, x[::2], y, y[::2], "regression", 0)
        return lambda: learn_environments(problem, options, 1, [], [])
    gram = lambda: (own := extract(w0, x)[0]).kernel(own)  # noqa: E731
    if stage == "features and Gram":
        return gram
    matrix = gram()
    return lambda: reduce(matrix, at["k"])


@pytest.mark.parametrize(("stage", "axis", "value"), GRID)
def test_growth(timed: Time, stage: str, axis: str, value: int) -> None:
    timed(
        work(stage, SIZES | {axis: value}),
        rounds=3,
        stage=stage,
        axis=axis,
        value=value,
    )
