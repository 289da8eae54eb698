"""Memory that one step asks for and takes: ``python peak_of_step.py STEP``."""

import json
import re
import sys
from pathlib import Path

import torch

from kerhrm import KerHRMOptions, NetworkOptions, build
from kerhrm.algorithm import needs
from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.loop import select_iteration
from kerhrm.algorithm.problem import Problem

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
D = 100
asked_for: list[float] = []


def bytes_of(field: str) -> int:
    match = re.search(rf"^{field}:\s*(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    assert match is not None
    return 1024 * int(match[1])


def forget_the_peak() -> None:
    CLEAR.write_text("5")
    asked_for.clear()


def random_problem(n: int, m: int, k: int) -> Problem:
    signs = torch.randint(0, 2, (n + m,)) * 2.0 - 1
    y, y_validation = signs.double().split([n, m])
    return Problem(
        u=torch.randn(n, k) / n**0.5,
        s=torch.linspace(n**0.5, 1, k),
        psi_validation=torch.randn(m, k),
        f0_train=torch.zeros(n),
        f0_validation=torch.zeros(m),
        y=y,
        y_validation=y_validation,
        task="classification",
        seed=0,
    )


def peak_of(step: str, n: int, m: int, k: int) -> int:
    """Largest memory from the problem on, less that before it; the steps that come
    before this one are of few features."""
    options = KerHRMOptions(
        k=[k], n_init=2, clustering_ridge=[1e-2], em_max_iter=2, n_iterations=2
    )
    options = options.model_copy(
        update={"steps": 4, "check_every": 2, "cosine_weight": [1.0], "alpha": [1.0]}
    )
    before = bytes_of("VmRSS")
    problem = random_problem(n, m, k)
    environments = []
    directions = []
    forget_the_peak()
    environments.append(learn_environments(problem, options, 1, [], []))
    if step == "clustering":
        return bytes_of("VmHWM") - before
    forget_the_peak()
    directions.append(learn_directions(problem, environments, options))
    if step == "directions":
        return bytes_of("VmHWM") - before
    if step == "later":
        forget_the_peak()
        learn_environments(problem, options, 2, environments, directions)
        return bytes_of("VmHWM") - before
    final = select_iteration(problem, environments, directions, options)
    network = build(NetworkOptions(widths=[1024]), 0, D)
    x = torch.randn(n, D)
    x_validation = torch.randn(m, D)
    forget_the_peak()
    train_network(network, x, x_validation, problem, final, environments, options)
    return bytes_of("VmHWM") - before


def main(step: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    require = needs.require

    def heard(n_bytes: float, what: str, hint: str) -> None:
        asked_for.append(n_bytes)
        require(n_bytes, what, hint)

    needs.require = heard
    peak_of(step, 200, 40, 5)  # what a first step imports and keeps
    peak = peak_of(step, 20_000, 4000, 300)
    print(json.dumps({"asked_for": asked_for[0], "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
