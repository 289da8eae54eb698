"""ERM keeps the weights of its best look at the validation sample."""

from typing import Any

import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.selection import Task, point_scores, pooled_score
from kerhrm.features.mlp import MLP, init_mlp
from kerhrm.methods.erm import train_erm
from kerhrm.methods.training import Loss, train

B, N, M, D = 4, 30, 25, 3
RATE = 0.03


@pytest.fixture
def data() -> tuple[MLP, Tensor, Tensor, Tensor, Tensor]:
    """Labels of much noise, so that training soon overfits, each network at its own time."""
    x, x_validation = torch.randn(B, N, D), torch.randn(B, M, D)

    def label(x: Tensor) -> Tensor:
        return torch.sign(x[..., 0] + 1.5 * torch.randn(x.shape[:-1]))

    return init_mlp(range(B), (D, 32, 1)), x, label(x), x_validation, label(x_validation)


def squared(y: Tensor) -> Loss:
    return lambda f, rows: ((f - y[rows]) ** 2).mean(-1)


def curve(data: tuple[MLP, Tensor, Tensor, Tensor, Tensor], task: Task, steps: int) -> Tensor:
    """Validation scores after step 1, 2, ...: (steps, B)."""
    mlp, x, y, x_validation, y_validation = data
    scores = torch.full((steps, B), torch.nan, dtype=torch.float64)

    def look(step: int, networks: MLP, rows: slice) -> None:
        outputs = networks(x_validation[rows]).detach()
        scores[step - 1, rows] = pooled_score(point_scores(outputs, y_validation[rows], task))

    train(mlp, x, squared(y), steps=steps, learning_rate=RATE, after_step=look)
    return scores


def fit(
    data: tuple[MLP, Tensor, Tensor, Tensor, Tensor], task: Task, **options: Any
) -> tuple[MLP, Tensor]:
    return train_erm(*data, task=task, learning_rate=RATE, **options)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(
    ("steps", "every"), [(23, 5), (23, 1), (20, 5), (4, 9)], ids=lambda value: str(value)
)
def test_the_best_look_is_kept(
    data: tuple[MLP, Tensor, Tensor, Tensor, Tensor], task: Task, steps: int, every: int
) -> None:
    scores = curve(data, task, steps)
    looks = sorted({*range(every, steps + 1, every), steps})  # the last step is looked at as well
    network, best_step = fit(data, task, steps=steps, evaluate_every=every)
    kept = pooled_score(point_scores(network(data[3]), data[4], task))
    for b in range(B):
        seen = [float(scores[step - 1, b]) for step in looks]
        assert int(best_step[b]) == looks[seen.index(max(seen))]  # the first one among equals
        assert float(kept[b]) == pytest.approx(max(seen), rel=1e-6)
    if (steps, every) == (23, 1):
        # a network that kept its last weights would not pass
        assert len({*best_step.tolist(), steps}) >= 3


def test_the_weights_are_those_of_that_step(
    data: tuple[MLP, Tensor, Tensor, Tensor, Tensor],
) -> None:
    mlp, x, y, *_ = data
    network, best_step = fit(data, "regression", steps=40, evaluate_every=1)
    for b, steps in enumerate(best_step.tolist()):
        until_then = train(mlp, x, squared(y), steps=steps, learning_rate=RATE)
        for got, expected in zip(network.parameters(), until_then.parameters(), strict=True):
            torch.testing.assert_close(got[b], expected[b])


def test_the_initial_networks_stay_as_they_are(
    data: tuple[MLP, Tensor, Tensor, Tensor, Tensor],
) -> None:
    before = [p.clone() for p in data[0].parameters()]
    network, _ = fit(data, "classification", steps=5, evaluate_every=2)
    for p, old, new in zip(data[0].parameters(), before, network.parameters(), strict=True):
        assert torch.equal(p, old)
        assert not new.requires_grad


def test_a_network_does_not_notice_the_others(
    data: tuple[MLP, Tensor, Tensor, Tensor, Tensor],
) -> None:
    together, steps = fit(data, "regression", steps=15, evaluate_every=2)
    mlp, *tensors = data
    for b in range(B):
        one = MLP([w[[b]] for w in mlp.weights], [v[[b]] for v in mlp.biases])
        single = (one, *(t[[b]] for t in tensors))
        alone, step = fit(single, "regression", steps=15, evaluate_every=2)  # type: ignore[arg-type]
        assert int(step) == int(steps[b])
        torch.testing.assert_close(alone(single[1])[0], together(data[1])[b], rtol=1e-4, atol=1e-5)
