"""Where EM starts of very many points: at mixtures of some of them."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm import starts as module
from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import fit_mixture, random_starts
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.starts import Points, fit_starts

OPTIONS = KerHRMOptions(k=[3], n_init=2, clustering_ridge=[1e-3, 1e-1])
NAME = ("t=1", "k=3")


def turned(n: int) -> tuple[Points, Tensor]:
    """Labels that a feature moves, and two the other way in a fifth of the points."""
    random = torch.Generator().manual_seed(0)
    y = torch.randint(2, (n,), generator=random) * 2.0 - 1
    is_turned = torch.rand(n, generator=random) < 0.2
    cue = torch.where(is_turned, -y, y)
    noise = torch.randn(n, 3, generator=random)
    stable = 0.5 * y + 0.6 * noise[:, 0]
    first = cue + 0.3 * noise[:, 1]
    second = cue + 0.3 * noise[:, 2]
    psi = torch.stack([stable, first, second], dim=1)
    return Points(psi.double(), y.double(), None), is_turned


def test_some_points_are_fitted_first(
    seen: list[tuple[Tensor, Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY", 400)
    monkeypatch.setattr(module, "AT_FIRST", 200)
    points, _ = turned(500)
    mixtures, ridges = fit_starts(points, OPTIONS, EM(), first=None, seed=0, name=NAME)
    (of_some, drawn), (of_all, starts) = seen
    assert of_some.shape == (200, 3)
    rows = {tuple(row) for row in points.psi.tolist()}
    assert len({tuple(row) for row in of_some.tolist()} & rows) == 200
    assert torch.equal(drawn[:2], random_starts(0, 2, 200, 2, *NAME))
    assert of_all is points.psi
    assert starts.shape == (4, 500, 2)
    assert_close(starts.sum(-1), torch.ones(4, 500).double())
    assert ridges.tolist() == [1e-3, 1e-3, 1e-1, 1e-1]
    # the last fit is EM from these starts
    expected = fit_mixture(points.psi, points.y, starts, ridge=ridges, em=EM())
    assert torch.equal(mixtures.theta, expected.theta)


def test_weights_of_some_points_have_mean_one() -> None:
    points, _ = turned(60)
    weighted = Points(points.psi, points.y, torch.arange(60).double() / 29.5)
    some = weighted.some(torch.arange(0, 60, 7))
    assert some.weights is not None
    assert_close(some.weights.mean(), torch.tensor(1.0).double())
    ratio = some.weights[2] / some.weights[1]
    assert_close(ratio, torch.tensor(2.0).double())


def test_environments_of_very_many_points_are_found() -> None:
    """EM on all of them from a random start ends at once, with both regressions
    alike."""
    points, is_turned = turned(400_000)
    random = random_starts(0, 1, 400_000, 2, *NAME)
    stuck = fit_mixture(points.psi, points.y, random, ridge=1e-3, em=EM())
    assert float(stuck.n_iterations) <= 3
    assert_close(stuck.theta[:, 0], stuck.theta[:, 1], atol=0.02, rtol=0)
    mixtures, _ = fit_starts(points, OPTIONS, EM(), first=None, seed=0, name=NAME)
    cue = mixtures.theta[0, :, 2]
    assert cue.min() < -0.2
    assert cue.max() > 0.2
    memberships = mixtures.responsibilities(points.psi, points.y)[0]
    agree = (memberships.argmax(-1).bool() == is_turned).double().mean()
    assert max(agree, 1 - agree) > 0.9
