"""The training loop's callbacks against a look at every step, and Adam against
PyTorch's."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from kerhrm.networks.build import (
    MLP,
    init_mlp,
)
from kerhrm.networks.training import Adam, Callback, EarlyStopping, Step, train

SIZES = (2, 8, 1)


def data(level: float = 1.0) -> tuple[MLP, Tensor, Tensor]:
    network = init_mlp(0, SIZES)
    x = torch.randn(30, 2)
    y = level * torch.randn(30)
    return network, x, y


def run(x: Tensor, y: Tensor, steps: int, *callbacks: Callback[MLP]) -> MLP:
    def squared_error(f: Tensor, network: MLP, step: int) -> Tensor:
        errors = f - y
        return (errors**2).mean()

    return train(
        init_mlp(0, SIZES),
        x,
        squared_error,
        steps=steps,
        learning_rate=0.02,
        callbacks=callbacks,
    )


@pytest.mark.parametrize("steps", [1, 13])
def test_every_step_is_shown_to_all_callbacks(steps: int) -> None:
    mlp, x, y = data()
    seen: list[tuple[int, Tensor, float]] = []

    def look(step: int, network: MLP, loss: Tensor) -> None:
        outputs = network(x).detach()
        seen.append((step, outputs, float(loss)))

    def stop(step: int, *_: Any) -> bool:
        return step == 7

    trained = run(x, y, steps, stop, look)
    numbers = [step for step, _, _ in seen]
    last = min(steps, 7)
    assert numbers == list(range(1, last + 1))
    _, last_outputs, _ = seen[-1]
    assert_close(last_outputs, trained(x))
    _, first_outputs, first_loss = seen[0]
    # before the step
    errors_of_start = mlp(x) - y
    error_of_start = (errors_of_start**2).mean()
    assert first_loss == pytest.approx(float(error_of_start))
    assert not torch.allclose(first_outputs, mlp(x))  # after it


@pytest.mark.parametrize("level", [0.01, 1.0, 3.0])
def test_training_ends_where_the_loss_has_stopped_falling(level: float) -> None:
    """By hand: from the curve of losses."""
    _, x, y = data(level)
    steps = 400
    window = 10
    tol = 0.02
    curve = torch.zeros(steps)

    def look(step: int, network: MLP, loss: Tensor) -> None:
        curve[step - 1] = loss

    run(x, y, steps, look)
    least_so_far = curve.cummin(0).values
    first_end = window - 1
    least = least_so_far[first_end::window]  # at the end of every window
    falls = least[:-1] - least[1:]
    stalls = (falls <= tol * least[1:]).tolist()
    end = steps
    if any(stalls):
        end = window * (stalls.index(True) + 2)
    assert end < steps

    shown: list[int] = []

    def show(step: int, network: MLP, loss: Tensor) -> None:
        shown.append(step)

    stopping = EarlyStopping(tol, window)
    ended = run(x, y, steps, stopping, show)
    expected = run(x, y, end)
    assert shown[-1] == end
    assert torch.equal(ended(x), expected(x))


def descend(optimiser: Adam | torch.optim.Adam, parameters: list[Tensor]) -> None:
    for step in range(30):
        optimiser.zero_grad()
        factor = 1 + step % 3
        loss = 0.0
        for i, p in enumerate(parameters[:2]):
            distance = p - i
            squares = (distance**2).sum()
            loss = loss + squares * factor
        loss.backward()
        optimiser.step()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_adam_is_that_of_torch(dtype: torch.dtype) -> None:
    """Bit for bit; the third parameter has no gradient and stays as it is."""
    start = [
        torch.randn(4, 3, dtype=dtype),
        torch.randn(7, dtype=dtype),
        torch.randn(2),
    ]
    ours = [p.clone().requires_grad_(True) for p in start]
    theirs = [p.clone().requires_grad_(True) for p in start]
    descend(Adam(ours, 0.02), ours)
    optimiser = torch.optim.Adam(theirs, lr=0.02, fused=True)
    descend(optimiser, theirs)
    for our_result, their_result in zip(ours, theirs, strict=True):
        assert torch.equal(our_result, their_result)
    first, _, without_gradient = ours
    assert not torch.equal(first, start[0])
    assert torch.equal(without_gradient, start[2])


def test_the_compiler_is_not_imported() -> None:
    """What the class is for."""
    code = (
        "import sys, torch; from kerhrm.networks.training import Adam\n"
        "w = torch.zeros(2); w.grad = torch.ones(2); Adam([w], 0.1).step()\n"
        "assert w.sum() < 0; print('torch._dynamo' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_trains_alike() -> None:
    _, x, y = data()
    expected = run(x, y, 5)
    trained = run(x.to("cuda"), y.to("cuda"), 5)
    outputs = trained.to("cpu")(x)
    assert_close(outputs, expected(x), rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_step_that_is_one_graph_gives_the_same_bits() -> None:
    """Also where the loss depends on the step, and callbacks read what came before."""
    _, x, y = data()
    x, y = x.to("cuda"), y.to("cuda")

    def decaying(f: Tensor, network: MLP, step: Step) -> Tensor:
        errors = f - y
        return (errors**2).mean() + 0.5 ** (step - 1) * f.mean()

    def trained(steps_alike: bool) -> tuple[MLP, list[float]]:
        losses: list[float] = []

        def note(step: int, network: MLP, loss: Tensor) -> None:
            losses.append(float(loss))

        network = train(
            init_mlp(0, SIZES),
            x,
            decaying,
            steps=12,
            learning_rate=0.02,
            callbacks=[note],
            steps_alike=steps_alike,
        )
        return network, losses

    one_by_one, expected_losses = trained(steps_alike=False)
    graph, losses = trained(steps_alike=True)
    assert losses == expected_losses
    for name, weight in one_by_one.weights.items():
        assert torch.equal(graph.weights[name], weight)


@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode])
def test_it_trains_where_gradients_are_switched_off(switch: type) -> None:
    _, x, y = data()
    expected = run(x, y, 3)
    with switch():
        found = run(x, y, 3)
        assert not torch.is_grad_enabled()
    for name, weight in expected.weights.items():
        assert torch.equal(found.weights[name], weight)
