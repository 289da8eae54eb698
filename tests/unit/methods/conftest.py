"""Small samples that any method can be trained on."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from kerhrm.data.dataset import Task
from kerhrm.data.samples import Samples
from kerhrm.randomness import stream


@pytest.fixture
def draw_samples() -> Callable[..., Samples]:
    """The builder: ``draw_samples(task, seeds, n=..., ...)``, options as below.

    The first column is the cause of y, the last one an attribute that follows y less closely
    from environment to environment; those between are noise.  No environment is empty, and
    ``equal`` ones have equally many points.  A seed's points depend on no other seed.
    """

    def draw(
        task: Task = "classification",
        seeds: Sequence[int] = range(3),
        *,
        n: int = 40,
        m: int = 25,
        d: int = 4,
        environments: int = 2,
        equal: bool = True,
        noise: float = 1.0,
    ) -> Samples:
        def points(
            rng: np.random.Generator, count: int
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            environment = np.arange(count) % environments
            if not equal:
                environment[environments:] = rng.integers(environments, size=count - environments)
            environment = rng.permutation(environment)
            x = rng.standard_normal((count, d))
            y = x[:, 0] + noise * rng.standard_normal(count)
            if task == "classification":
                y = np.sign(y)
            x[:, -1] = y * 2.0**-environment + 0.5 * x[:, -1]
            return x.astype(np.float32), y.astype(np.float32), environment

        streams = [stream(seed, "samples") for seed in seeds]
        x, y, environment = (
            torch.from_numpy(np.stack(part))
            for part in zip(*(points(rng, n) for rng in streams), strict=True)
        )
        x_validation, y_validation, _ = (
            torch.from_numpy(np.stack(part))
            for part in zip(*(points(rng, m) for rng in streams), strict=True)
        )
        return Samples(x, y, x_validation, y_validation, environment, seeds, task)

    return draw
