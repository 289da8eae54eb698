"""The best weights of a training and the end of one, against looking at every step."""

import pytest
import torch
from torch import Tensor

from kerhrm.networks import training
from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.networks.stopping import Convergence, KeepBest, Snapshots
from kerhrm.networks.training import train

B, STEPS = 3, 23


def test_the_best_of_the_steps_looked_at_is_kept() -> None:
    network, x = init_mlp(range(B), (2, 8, 1)), torch.randn(B, 30, 2)
    y = torch.randn(B, 30)
    # the networks are best early, late and in between
    level = torch.tensor([0.0, 5.0, 1.0])
    seen: dict[int, list[Tensor]] = {}

    def score(networks: MLP, rows: slice) -> Tensor:
        return -(networks(x[rows]).mean(-1) - level[rows]).abs()

    best = KeepBest(network, score, every=5, steps=STEPS, device=x.device)

    def look(step: int, networks: MLP, rows: slice, losses: Tensor) -> None:
        best(step, networks, rows, losses)
        seen.setdefault(step, []).append(score(networks, rows).detach())

    train(
        network,
        x,
        lambda f, rows: ((f - y[rows] - 2) ** 2).mean(-1),
        steps=STEPS,
        learning_rate=0.05,
        after_step=look,
        keep=best.state,
    )
    looked_at = [5, 10, 15, 20, STEPS]
    scores = torch.stack([torch.cat(seen[step]) for step in looked_at])
    assert best.best_step.tolist() == [looked_at[i] for i in scores.argmax(0)]
    assert len(set(best.best_step.tolist())) > 1  # or this would not tell one from another
    torch.testing.assert_close(best.best_score, scores.amax(0).double())
    torch.testing.assert_close(score(best.best, slice(None)).double(), best.best_score)


def test_nothing_after_the_last_step_is_looked_at() -> None:
    """Of a training that goes on for others it keeps what its own end would have left."""
    network, x = init_mlp(range(B), (2, 8, 1)), torch.randn(B, 30, 2)

    def run(steps: int, last: int) -> KeepBest[MLP]:
        best = KeepBest(  # ever better
            network, lambda networks, rows: -networks(x[rows]).square().mean(-1),
            every=4, steps=last, device=x.device,
        )  # fmt: skip
        train(network, x, lambda f, rows: (f**2).mean(-1), steps=steps, learning_rate=0.01,
              after_step=best, keep=best.state)  # fmt: skip
        return best

    for last in (3, 8, 10):
        longer, own = run(STEPS, last), run(last, last)
        assert longer.best_step.tolist() == [last] * B
        for got, expected in zip(longer.state, own.state, strict=True):
            assert torch.equal(got, expected)


@pytest.mark.parametrize("together", [1, B], ids=["one by one", "together"])
def test_snapshots_are_trainings_of_fewer_steps(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "networks_at_once", lambda device, n: together)
    network, x = init_mlp(range(B), (2, 8, 1)), torch.randn(B, 30, 2)
    y, stops = torch.randn(B, 30), [1, 6, STEPS]

    def run(steps: int, path: Snapshots[MLP]) -> MLP:
        return train(network, x, lambda f, rows: ((f - y[rows]) ** 2).mean(-1), steps=steps,
                     learning_rate=0.05, after_step=path, keep=path.state)  # fmt: skip

    path = Snapshots(network, stops, device=x.device)
    last = run(STEPS, path)
    for stop, snapshot in zip(stops, path.networks, strict=True):
        none: Snapshots[MLP] = Snapshots(network, [], device=x.device)
        alone = run(stop, none)
        for got, expected in zip(snapshot.parameters(), alone.parameters(), strict=True):
            assert torch.equal(got, expected)
            assert not got.requires_grad
    assert torch.equal(path.networks[-1](x), last(x))


@pytest.mark.parametrize("together", [1, B], ids=["one by one", "together"])
def test_a_network_ends_where_its_loss_has_stopped_falling(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: the curve of every network's losses, and its weights at the step that it names."""
    monkeypatch.setattr(training, "networks_at_once", lambda device, n: together)
    network, x = init_mlp(range(B), (2, 8, 1)), torch.randn(B, 30, 2)
    y = torch.randn(B, 30) * torch.tensor([[0.01], [1.0], [3.0]])
    steps, window, tolerance = 400, 10, 0.02

    def run(last: int, convergence: Convergence[MLP] | None = None) -> tuple[MLP, Tensor]:
        losses = torch.full((last, B), torch.nan)

        def look(step: int, networks: MLP, rows: slice, now: Tensor) -> bool:
            losses[step - 1, rows] = now
            return convergence is not None and convergence(step, networks, rows, now)

        keep = convergence.state if convergence else ()
        trained = train(
            network, x, lambda f, rows: ((f - y[rows]) ** 2).mean(-1),
            steps=last, learning_rate=0.02, after_step=look, keep=keep,
        )  # fmt: skip
        return trained, losses

    _, losses = run(steps)
    ends = []
    for curve in losses.T:
        least = curve.cummin(0).values[window - 1 :: window]  # at the end of every window
        stalls = least[:-1] - least[1:] <= tolerance * least[1:]
        ends.append(window * (int(stalls.int().argmax()) + 2) if stalls.any() else 0)
    assert len(set(ends)) == B  # or this would not tell them apart
    convergence = Convergence(network, tolerance=tolerance, window=window, device=x.device)
    trained, _ = run(steps, convergence)
    assert convergence.ended.tolist() == ends
    result = convergence.result(trained)
    for b, end in enumerate(ends):
        expected, _ = run(end or steps)
        torch.testing.assert_close(result(x)[b], expected(x)[b], rtol=1e-4, atol=1e-5)
