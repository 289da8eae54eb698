"""HRM's environments of training and validation points, and its turns when it is interrupted."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kerhrm.data.samples import Samples
from kerhrm.methods.hrm.options import HRM
from kerhrm.methods.hrm.train import SMALL, cluster, select_features, train_hrm
from kerhrm.networks.mlp import init_mlp
from kerhrm.storage.checkpoints import Stopped, opened

B, D = 3, 4
QUICK = HRM(iterations=2, cluster_steps=60, cluster_rounds=3, gate_steps=80, gate_rate=1e-2)


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("d", [D, SMALL + 4])
def test_validation_points_join_the_cluster_of_the_nearest_line(
    draw_samples: Callable[..., Samples], d: int, turns: int
) -> None:
    """Point by point; the training points are in their own clusters."""
    samples = draw_samples(seeds=(7, 3, 12), n=80, d=d)
    options = QUICK.model_copy(update={"iterations": turns})
    p = torch.zeros(B, d)
    for b in range(B) if turns == 2 else ():  # as the first turn has left the gates
        rows = slice(b, b + 1)
        first = QUICK.model_copy(update={"iterations": 1})
        turn = select_features(samples.x[rows], samples.y[rows], samples.seeds[rows], first)
        p[b] = 0.5 * (1 + torch.erf(turn.centre[0] / options.gate_noise / 2**0.5))
    given = samples.seeds, options, str(turns - 1)
    split, models = cluster(samples.x, samples.y, p, *given)
    every = train_hrm(samples, init_mlp(range(B), (d, 2, 1)), options).memberships
    own, found = every.split([samples.x.shape[1], samples.x_validation.shape[1]], -1)
    assert found.dtype == torch.float32
    for b in range(B):
        x = (1 - p[b]) * samples.x_validation[b]
        for i, (point, y) in enumerate(zip(x, samples.y_validation[b], strict=True)):
            errors = [float((w @ point - y) ** 2) for w in models[b]]
            expected = [float(e == min(errors)) for e in errors]
            assert found[b, :, i].tolist() == expected or sorted(errors)[1] - min(errors) < 1e-3
    assert bool((found.sum(-1) > 0).sum(-1).ge(2).all())  # or this would not tell
    moved = (own.argmax(1) != split).double().mean(-1)
    assert bool((moved < 0.03).all())  # rounding of the gates, which one and many seeds differ in


@pytest.mark.parametrize("d", [D, SMALL + 4])
def test_it_goes_on_after_every_turn_bit_for_bit(
    draw_samples: Callable[..., Samples], d: int, tmp_path: Path
) -> None:
    samples, network = draw_samples(n=60, d=d), init_mlp(range(B), (d, 2, 1))
    expected, found, interruptions = train_hrm(samples, network, QUICK), None, 0
    while found is None:
        try:
            with opened(tmp_path / "state.npz", lambda: "stopped"):
                found = train_hrm(samples, network, QUICK)
        except Stopped:
            interruptions += 1
    assert interruptions > 1
    assert torch.equal(found.memberships, expected.memberships)
    assert torch.equal(found(samples.x_validation), expected(samples.x_validation))
