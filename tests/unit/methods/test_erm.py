"""ERM keeps the weights of its best look at the validation sample."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.selection import point_scores, pooled_score
from kerhrm.data.dataset import Task
from kerhrm.data.samples import Samples
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.networks.training import Loss, train

B, D = 4, 3
RATE = 0.03

Draw = Callable[[Task], tuple[Samples, MLP]]


@pytest.fixture
def draw(draw_samples: Callable[..., Samples]) -> Draw:
    """Labels of much noise, so that training soon overfits, each network at its own time."""
    return lambda task: (
        draw_samples(task, range(B), n=30, d=D, noise=1.5),
        init_mlp(range(B), (D, 32, 1)),
    )


def squared(y: Tensor) -> Loss:
    return lambda f, rows: ((f - y[rows]) ** 2).mean(-1)


def score(networks: MLP, samples: Samples, rows: slice = slice(None)) -> Tensor:
    outputs = networks(samples.x_validation[rows])
    return pooled_score(point_scores(outputs, samples.y_validation[rows], samples.task))


def curve(samples: Samples, mlp: MLP, steps: int) -> Tensor:
    """Validation scores after step 1, 2, ...: (steps, B)."""
    scores = torch.full((steps, B), torch.nan, dtype=torch.float64)

    def look(step: int, networks: MLP, rows: slice, losses: Tensor) -> None:
        scores[step - 1, rows] = score(networks, samples, rows).detach()

    train(mlp, samples.x, squared(samples.y), steps=steps, learning_rate=RATE, after_step=look)
    return scores


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(
    ("steps", "every"), [(23, 5), (23, 1), (20, 5), (4, 9)], ids=lambda value: str(value)
)
def test_the_weights_are_those_of_the_best_look(
    draw: Draw, task: Task, steps: int, every: int
) -> None:
    samples, mlp = draw(task)
    scores = curve(samples, mlp, steps)
    looks = sorted({*range(every, steps + 1, every), steps})  # the last step is looked at as well
    options = ERM(steps=steps, learning_rate=RATE, evaluate_every=every)
    (network,) = train_erm(samples, mlp, options, [steps])
    kept = score(network, samples)
    best = []
    for b in range(B):
        seen = [float(scores[step - 1, b]) for step in looks]
        assert float(kept[b]) == pytest.approx(max(seen), rel=1e-6)
        best.append(looks[seen.index(max(seen))])  # the first one among equals
        until_then = train(mlp, samples.x, squared(samples.y), steps=best[b], learning_rate=RATE)
        for got, expected in zip(network.parameters(), until_then.parameters(), strict=True):
            torch.testing.assert_close(got[b], expected[b])
    if (steps, every) == (23, 1):
        # a network that kept its last weights would not pass
        assert len({*best, steps}) >= 3
