"""The best weights of a training, against looking at every step."""

import torch
from torch import Tensor

from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.networks.stopping import KeepBest
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

    def look(step: int, networks: MLP, rows: slice) -> None:
        best(step, networks, rows)
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
