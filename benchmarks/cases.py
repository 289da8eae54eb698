"""Sizes, and the data, networks and problems that the benchmarks work on."""

import functools
import os
from typing import Literal

from kerhrm import KerHRMOptions, NTFMap, Problem
from kerhrm.features.ntf import FactoredNTF, extract
from kerhrm.methods.inputs import Inputs
from kerhrm.networks.blocks import blocks_by_zeros
from kerhrm_paper.data.mnist import Digits
from kerhrm_paper.data.paper_data import inputs as training_inputs
from kerhrm_paper.data.paper_data import reduced
from kerhrm_paper.data.registry import generate

TINY = os.environ.get("BENCH") == "tiny"  #: of the tests
THREADS = 1 if TINY else min(2, os.cpu_count() or 1)
ROUNDS = 1 if TINY else 5
STEPS = 2 if TINY else 20  #: of training, in one round
WIDTH = 16 if TINY else 1024
SEEDS = 2 if TINY else 10
TABLE1 = "Table 1"
CMNIST = "Colored MNIST"
N = {TABLE1: 80 if TINY else 2000, CMNIST: 60 if TINY else 5000}
D = {TABLE1: 10, CMNIST: 392}
K = {TABLE1: 3 if TINY else 15, CMNIST: 3 if TINY else 25}
OPTIONS = KerHRMOptions(k=[2, 3], n_init=2) if TINY else KerHRMOptions()


@functools.lru_cache(maxsize=16)
def inputs(name: str, seed: int = 0) -> Inputs:
    """One replicate of Table 1 at r2 = .70, or of Colored MNIST, and w_0."""
    n_train = N[name] // 2  # of each environment
    if name == TABLE1:
        n_validation = n_train // 2
        options = {
            "r2": 0.7,
            "n_train_per_environment": n_train,
            "n_validation_per_environment": n_validation,
            "n_test": n_validation,
        }
        draws = generate("classification", options, [seed])
    else:
        n_validation = min(1000, n_train)
        options = {
            "n_per_environment": n_train,
            "n_validation_per_environment": n_validation,
            "n_test": n_validation,
        }
        on_missing: Literal["fallback", "fail"] = "fallback" if TINY else "fail"
        digits = Digits.fetch(on_missing=on_missing)
        draws = generate("colored_mnist", options, [seed], digits)
    return training_inputs(draws, WIDTH)


def ntf(points: Inputs) -> FactoredNTF:
    """Factored tangent features of the training points."""
    features, *_ = extract(points.network, points.x)
    assert isinstance(features, FactoredNTF)
    return features


@functools.lru_cache(maxsize=16)
def problem(name: str, seed: int = 0) -> Problem:
    """Reduced features and labels."""
    points = inputs(name, seed)
    k_max = max(OPTIONS.k)
    features = NTFMap.fit(points.network, points.x, k_max)
    return reduced(points, features)


def training_gflop(name: str) -> float:
    """Multiply-adds, counted twice, of ``STEPS`` full-batch steps; elementwise work is
    left out.

    A step has the outputs, the gradients of the weights, and those of the hidden layer.
    Columns that are zero in a block of points are in no product, and are not counted.
    """
    points = inputs(name)
    blocks = blocks_by_zeros(points.x, WIDTH)
    entries = sum(block.x.numel() for block in blocks)
    forward = entries * WIDTH
    hidden = N[name] * WIDTH
    return 2e-9 * STEPS * (2 * forward + hidden)
