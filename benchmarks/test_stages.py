"""Seconds of every stage of KerHRM, and of every baseline's training steps."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cases
from benchmarks.cases import CMNIST, OPTIONS, SEEDS, STEPS, TABLE1, TINY
from benchmarks.conftest import Time
from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.loop import fit
from kerhrm.features.reduction import reduce
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.registry import METHODS

ROOT = Path(__file__).parents[1]
both = pytest.mark.parametrize("name", [TABLE1, CMNIST])


def seeds(name: str) -> range:
    """All of Table 1's; of Colored MNIST one."""
    return range(SEEDS if name == TABLE1 else 1)


@both
def test_gram(timed: Time, name: str) -> None:
    ntf = cases.ntf(name)
    timed(lambda: ntf.kernel(ntf), task=f"Gram, {name}")


@both
def test_svd(timed: Time, name: str) -> None:
    ntf = cases.ntf(name)
    gram = ntf.kernel(ntf)
    timed(lambda: reduce(gram, cases.K[name]), task=f"SVD, {name}")


@both
@pytest.mark.parametrize("init", ["random", "nested"])
def test_iteration(timed: Time, name: str, init: str) -> None:
    """M_c and M_p of all seeds: the first iteration, or one from the last environments."""
    t = 1 if init == "random" else 2
    options = OPTIONS.model_copy(update={"init": init, "n_iterations": t})
    problems = [cases.problem(name, seed) for seed in seeds(name)]
    before = [fit(problem, options) if t > 1 else None for problem in problems]

    def work() -> None:
        for problem, last in zip(problems, before, strict=True):
            environments = [] if last is None else [*last.environments[:1]]
            directions = [] if last is None else [*last.directions[:1]]
            environments.append(learn_environments(problem, options, t, environments, directions))
            learn_directions(problem, environments, options)

    timed(work, rounds=3, task=f"iteration, {init}, {name}")


@both
def test_network(timed: Time, name: str) -> None:
    """A few steps along the direction, one lambda."""
    own, problem, network = cases.points(name), cases.problem(name), cases.network(name)
    result = fit(problem, OPTIONS.model_copy(update={"n_iterations": 1}))
    options = OPTIONS.model_copy(update={"cosine_weight": [100.0], "steps": STEPS})
    given = own.x, own.x_validation, problem, result.final, result.environments, options
    gflop = cases.training_gflop(name)
    timed(lambda: train_network(network, *given), task=f"network, {name}", gflop=gflop)


METHOD_STEPS: dict[str, dict[str, Any]] = {
    "erm": {"steps": STEPS},
    "dro": {"steps": STEPS},
    "irm": {"steps": STEPS, "anneal": STEPS // 2},
    "eiil": {"steps": STEPS // 2, "anneal": 1, "reference_steps": STEPS // 2},
    "iga": {"steps": STEPS},
}


@both
@pytest.mark.parametrize("method", [*METHOD_STEPS])
def test_method(timed: Time, name: str, method: str) -> None:
    own = cases.points(name)._asdict()
    inputs = Inputs(**own, task="classification", seed=0, network=cases.network(name))
    options = METHODS[method].options(**METHOD_STEPS[method])
    gflop = cases.training_gflop(name) * (2 if method == "iga" else 1)  # differentiated once more
    work = lambda: METHODS[method].train(inputs, options)  # noqa: E731
    timed(work, rounds=3, task=f"{method}, {name}", gflop=gflop)


@pytest.mark.parametrize("module", ["kerhrm", "torch", "kerhrm.algorithm.loop"])
def test_import(timed: Time, module: str) -> None:
    """Wall time of an interpreter that only imports."""
    command = [sys.executable, "-c", f"import {module}"]
    timed(lambda: subprocess.run(command, check=True, cwd=ROOT), task=f"import {module}")


EXAMPLE = """
import time; start = time.perf_counter()
from benchmarks.cases import OPTIONS, problem, TABLE1
from kerhrm.algorithm.loop import fit
import kerhrm.paper.data; imported = time.perf_counter()
fit(problem(TABLE1), OPTIONS.model_copy(update={"n_iterations": 2}))
print(time.perf_counter() - imported)
"""


def test_example(timed: Time) -> None:
    """One seed of r2 = .70 from data to the direction, two iterations; the whole process."""
    inside: list[float] = []

    def work() -> None:
        command = [sys.executable, "-c", EXAMPLE]
        run = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
        inside.append(float(run.stdout))

    timed(work, rounds=3, task="example", inside=inside)


@pytest.mark.skipif(TINY, reason="two minutes")
def test_nothing_to_do(timed: Time, tmp_path: Path) -> None:
    """``snakemake all`` of preset smoke, and again where nothing is to do."""
    program = Path(sys.executable).parent / "snakemake"
    command = [
        str(program),
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--cores",
        "2",
        "--quiet",
        "all",
    ]
    command += ["--config", "preset=smoke", "--", "all"]
    subprocess.run(command, check=True, cwd=tmp_path)
    timed(lambda: subprocess.run(command, check=True, cwd=tmp_path), rounds=3, task="no-op")
