"""Where EM starts of very many points: at mixtures of some of them."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm import starts as module
from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.starts import Points, fit_starts, random_starts

OPTIONS = KerHRMOptions(k=[3], n_init=2, clustering_ridge=[1e-3, 1e-1])
NAME = ("t=1", "k=3")


def turned(n: int) -> tuple[Points, Tensor]:
    """Labels that a feature moves, and two the other way in a fifth of the points."""
    random = torch.Generator().manual_seed(0)
    class_of_row = torch.randint(2, (n,), generator=random)
    y = 2.0 * class_of_row - 1
    uniform = torch.rand(n, generator=random)
    is_turned = uniform < 0.2
    cue = torch.where(is_turned, -y, y)
    noise = torch.randn(n, 3, generator=random)
    features = torch.stack([0.5 * y, cue, cue], dim=1)
    scale = torch.tensor([0.6, 0.3, 0.3])
    psi = features + scale * noise
    return Points(psi.double(), y.double(), None), is_turned


def mixtures_of(points: Points) -> tuple[Mixture, Tensor]:
    """The fitted mixtures and the ridge of each."""
    return fit_starts(points, OPTIONS, EM(), first=None, seed=0, name=NAME)


def test_some_points_are_fitted_first(
    seen: list[tuple[Tensor, Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY", 400)
    monkeypatch.setattr(module, "AT_FIRST", 200)
    points, _ = turned(500)
    mixtures, ridges = mixtures_of(points)
    (of_some, drawn), (of_all, starts) = seen
    assert of_some.shape == (200, 3)
    all_rows = {tuple(row) for row in points.psi.tolist()}
    some_rows = {tuple(row) for row in of_some.tolist()}
    assert len(some_rows) == 200
    assert some_rows < all_rows
    expected_starts = random_starts(0, 2, 200, 2, *NAME)
    assert torch.equal(drawn[:2], expected_starts)
    assert of_all is points.psi
    assert starts.shape == (4, 500, 2)
    total = starts.sum(-1)
    assert_close(total, torch.ones_like(total))
    assert ridges.tolist() == [1e-3, 1e-3, 1e-1, 1e-1]
    # the last fit is EM from these starts
    expected = fit_mixture(points.psi, points.y, starts, ridge=ridges, em=EM())
    assert torch.equal(mixtures.theta, expected.theta)


def test_weights_of_some_points_have_mean_one() -> None:
    points, _ = turned(60)
    numbers = torch.arange(60)
    weights = numbers.double() / 29.5
    weighted = Points(points.psi, points.y, weights)
    every_seventh = numbers[::7]
    some = weighted.some(every_seventh)
    assert some.weights is not None
    assert float(some.weights.mean()) == pytest.approx(1)
    _, of_7, of_14, *_ = some.weights.tolist()
    assert of_14 / of_7 == pytest.approx(2)


def test_environments_of_very_many_points_are_found() -> None:
    """EM on all of them from a random start ends at once, with both regressions
    alike."""
    points, is_turned = turned(400_000)
    random = random_starts(0, 1, 400_000, 2, *NAME)
    stuck = fit_mixture(points.psi, points.y, random, ridge=1e-3, em=EM())
    assert float(stuck.n_iterations) <= 3
    assert_close(stuck.theta[:, 0], stuck.theta[:, 1], atol=0.02, rtol=0)
    mixtures, _ = mixtures_of(points)
    cue = mixtures.theta[0, :, 2]
    assert cue.min() < -0.2
    assert cue.max() > 0.2
    memberships = mixtures.responsibilities(points.psi, points.y)
    likeliest = memberships[0].argmax(-1)
    is_equal = likeliest.bool() == is_turned
    agree = float(is_equal.double().mean())
    assert max(agree, 1 - agree) > 0.9
