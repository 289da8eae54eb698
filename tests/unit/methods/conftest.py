"""A small data set that any method can be trained on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from kerhrm import NetworkOptions, NTFMap, Problem, build
from kerhrm.methods.inputs import Inputs
from kerhrm.options import Task
from kerhrm.randomness import stream

Draw = Callable[..., Inputs]


@pytest.fixture
def draw() -> Draw:
    """``draw(task, seed, n=..., ...)``, options as below.

    The first column is the cause of y, the last one an attribute that follows y less
    closely from environment to environment; those between are noise.  No environment is
    empty, and ``equal`` ones have equally many points.
    """

    def points(
        rng: np.random.Generator,
        task: Task,
        count: int,
        d: int,
        environments: int,
        equal: bool,
        noise: float,
    ) -> list[torch.Tensor]:
        environment = np.arange(count) % environments
        if not equal:
            environment[environments:] = rng.integers(
                environments, size=count - environments
            )
        environment = rng.permutation(environment)
        x = rng.standard_normal((count, d))
        signal = x[:, 0]
        y = signal + noise * rng.standard_normal(count)
        if task == "classification":
            y = np.sign(y)
        spurious = y * 2.0**-environment
        x[:, -1] = spurious + 0.5 * x[:, -1]
        in_single = x.astype(np.float32)
        arrays = (in_single, y.astype(np.float32), environment)
        return [torch.from_numpy(a) for a in arrays]

    def inputs(  # noqa: PLR0913
        task: Task = "classification",
        seed: int = 7,
        *,
        n: int = 40,
        m: int = 25,
        d: int = 4,
        environments: int = 2,
        equal: bool = True,
        noise: float = 1.0,
        k: int = 0,
        widths: tuple[int, ...] = (16,),
    ) -> Inputs:
        rng = stream(seed, "inputs")
        how = d, environments, equal, noise
        trained, held_out = (points(rng, task, count, *how) for count in (n, m))
        x, y, train = trained
        x_validation, y_validation, validation = held_out
        options = NetworkOptions(widths=list(widths))
        network = build(options, seed, d)
        problem: Any = None
        if k:
            features = NTFMap.fit(network, x, k)
            problem = Problem.from_features(
                features, x_validation, y, y_validation, task, seed
            )
        draws = rng.random(len(train))
        shift = torch.from_numpy(draws)
        draws_validation = rng.random(len(validation))
        shift_validation = torch.from_numpy(draws_validation)
        z = (train + shift)[:, None]
        z_validation = (validation + shift_validation)[:, None]
        return Inputs(
            x,
            y,
            x_validation,
            y_validation,
            task,
            seed,
            network,
            train,
            validation,
            problem,
            auxiliary=z,
            auxiliary_validation=z_validation,
        )

    return inputs
