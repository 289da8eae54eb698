"""Seconds of every baseline, trained for a few steps on the points of both data sets."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from benchmarks import flops, problems
from benchmarks.bench_1_stages import both, n_seeds, of_stage, row
from benchmarks.case import Case, Work
from benchmarks.problems import IMAGES, TABLE1
from benchmarks.sizes import Sizes
from kerhrm.methods.dro.options import DRO
from kerhrm.methods.dro.train import train_dro
from kerhrm.methods.eiil.options import EIIL
from kerhrm.methods.eiil.train import train_eiil
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.methods.hrm.options import HRM
from kerhrm.methods.hrm.train import train_hrm
from kerhrm.methods.iga.options import IGA
from kerhrm.methods.iga.train import train_iga
from kerhrm.methods.irm.options import IRM
from kerhrm.methods.irm.train import train_irm
from kerhrm.released.options import Released
from kerhrm.released.train import train_released

Step = Callable[[int, tuple[int, ...]], float]
#: trainer, options for a number of steps, GFLOP of a step
NETWORKS: dict[str, tuple[Any, Callable[[int], Any], Step]] = {
    "ERM": (train_erm, lambda s: ERM(steps=s, evaluate_every=s), flops.training_step),
    "DRO": (train_dro, lambda s: DRO(steps=s), flops.training_step),
    "IRM": (train_irm, lambda s: IRM(steps=s, anneal=s // 2), flops.training_step),
    "EIIL": (
        train_eiil,
        lambda s: EIIL(steps=s - s // 2, anneal=1, reference_steps=s // 2, inference_steps=10 * s),
        flops.training_step,
    ),
    "IGA": (train_iga, lambda s: IGA(steps=s), flops.second_order_step),
}


@both
@pytest.mark.parametrize("name", [*NETWORKS])
def bench_baseline(case: Case, sizes: Sizes, data: str, name: str) -> None:
    train, options, step = NETWORKS[name]
    facts = of_stage(data, sizes)
    seeds = 1 if data == IMAGES else min(2, sizes.seeds)

    def prepare() -> Work:
        samples, w0 = problems.samples(data, seeds), problems.network(data, seeds)
        told = options(sizes.steps)
        stop = told.reference_steps if name == "EIIL" else told.steps
        return lambda: train(samples, w0, told, [stop])

    gflop = seeds * sizes.steps * step(facts["n"], facts["sizes"])
    title = f"{name}, {sizes.steps} steps"
    here = row(title, data, sizes) | {"seeds": seeds}
    case("stages", here, prepare, gflop=gflop, rounds=min(3, sizes.rounds))


@both
def bench_hrm(case: Case, sizes: Sizes, data: str) -> None:
    """One turn; its steps know moments alone, not the points."""
    steps = 10 * sizes.steps
    options = HRM(iterations=1, cluster_steps=steps, gate_steps=2 * steps)

    def prepare() -> Work:
        seeds = n_seeds(data, sizes)
        samples, w0 = problems.samples(data, seeds), problems.network(data, seeds)
        return functools.partial(train_hrm, samples, w0, options)

    title = f"HRM, {steps} + {2 * steps} steps"
    case("stages", row(title, data, sizes), prepare, rounds=min(3, sizes.rounds))


@pytest.mark.parametrize("data", [TABLE1])
def bench_released(case: Case, sizes: Sizes, data: str) -> None:
    """One iteration of the released algorithm on our features."""
    steps = 10 * sizes.steps
    options = Released(k=sizes.k, iterations=1, steps=steps, cluster_steps=steps)

    def prepare() -> Work:
        problem, _ = problems.problem(data, n_seeds(data, sizes), max(problems.options(sizes).k))
        torch.manual_seed(0)
        return lambda: train_released(problem, options)

    title = f"released, {steps} steps"
    case("stages", row(title, data, sizes), prepare, rounds=min(3, sizes.rounds))
