"""The card, and what runs on it: sizes, images, problems, a network's training."""

import dataclasses
import functools
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.cases import TINY, WIDTH
from kerhrm import KerHRMOptions, NTFMap, Problem
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import erm_direction
from kerhrm.algorithm.records import Direction
from kerhrm.methods.inputs import Inputs
from kerhrm_paper.config.config import load_config
from kerhrm_paper.data.mnist import Digits
from kerhrm_paper.data.paper_data import inputs as training_inputs
from kerhrm_paper.data.paper_data import reduced
from kerhrm_paper.data.registry import generate

ROOT = Path(__file__).parents[1]
#: where the card is; tests take the CPU for it
CARD = os.environ.get("BENCH_CARD", "cpu" if TINY else "cuda")
CORES = os.cpu_count() or 1
N = (60, 120) if TINY else (5000, 50000)  #: images
K = 3 if TINY else 25
K_PUBLISHED = 5 if TINY else 300  #: of Table 4
OPTIONS = KerHRMOptions(k=[2, 3], n_init=2) if TINY else KerHRMOptions()
STEPS = 4 if TINY else 100  #: of a network's training


@functools.cache
def points(n: int, seed: int = 0) -> Inputs:
    """Colored MNIST with n training images, and w_0."""
    options = {
        "n_per_environment": n // 2,
        "n_validation_per_environment": min(1000, n // 2),
        "n_test": 50,
    }
    digits = Digits.fetch(on_missing="fallback" if TINY else "fail")
    draws = generate("colored_mnist", options, [seed], digits)
    return training_inputs(draws, WIDTH)


def moved(record: Any, device: str) -> Any:
    """A record, or points and their network, on another device."""
    changes = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if hasattr(value, "to"):
            changes[field.name] = value.to(device)
    return dataclasses.replace(record, **changes)


def synchronise() -> None:
    """Wait for the card."""
    if CARD != "cpu":
        torch.cuda.synchronize()


@functools.cache
def problem(n: int, seed: int = 0, where: str = CARD, k: int = K) -> Problem:
    """Reduced features of n images, computed on a device."""
    on_device = moved(points(n, seed), where)
    feature_map = NTFMap.fit(on_device.network, on_device.x, k)
    return reduced(on_device, feature_map)


def published_options() -> KerHRMOptions:
    """KerHRM's of Table 4."""
    if TINY:
        return OPTIONS
    config = load_config({"preset": "fresh"}, [], ROOT)
    learner = config.learner("colored_mnist", "kerhrm")
    return KerHRMOptions(**learner.params()["options"])


def training_options() -> KerHRMOptions:
    """One cosine weight, and few steps."""
    return OPTIONS.model_copy(
        update={"cosine_weight": [100.0], "steps": STEPS, "stop_by": "pooled"}
    )


def trained(
    inputs: Inputs, of_inputs: Problem, direction: Direction, options: KerHRMOptions
) -> Tensor:
    """Outputs of a network that was trained along a direction, on validation points."""
    network = train_network(
        inputs.network,
        inputs.x,
        inputs.x_validation,
        of_inputs,
        direction,
        [],
        options,
    )
    with torch.no_grad():
        return network.network(inputs.x_validation)


def training_direction(of_inputs: Problem) -> Direction:
    """A direction that the network's training takes for an invariant one."""
    direction = erm_direction(of_inputs, OPTIONS.k)
    return dataclasses.replace(direction, iteration=1)
