"""Weights of a problem's points: their unit does not matter; nonsense is refused."""

import pytest
import torch
from refusals import refusal
from torch import Tensor

from kerhrm import KerHRMOptions, NetworkOptions, NTFMap, Problem, build, fit

N, M = 50, 30
DRAW = torch.Generator().manual_seed(0)
X = torch.randn(N + M, 2, generator=DRAW)
SIGNS = torch.tensor([-1.0, 1.0]).repeat((N + M) // 2)
Y = X[:, 0] + 2 * SIGNS * X[:, 1]
DRAWN = torch.rand(N + M, generator=DRAW).double() + 0.1
IN_MEAN = DRAWN / DRAWN[:N].mean()
FEATURES = NTFMap.fit(build(NetworkOptions(widths=[8]), seed=0, d=2), X[:N], k=4)


def problem(train: Tensor | None, validation: Tensor | None) -> Problem:
    return Problem.from_features(
        FEATURES,
        X[N:],
        y=Y[:N],
        y_validation=Y[N:],
        task="regression",
        seed=0,
        weights=(train, validation),
    )


@pytest.mark.parametrize("unit", [0.1, 1.0, 10.0, 110.0])
def test_the_unit_of_the_weights_does_not_matter(unit: float) -> None:
    given = problem(unit * IN_MEAN[:N], unit * IN_MEAN[N:])
    for weights, expected in zip(given.counts, (IN_MEAN[:N], IN_MEAN[N:]), strict=True):
        torch.testing.assert_close(weights, expected)
    options = KerHRMOptions(k=[3], n_init=2, n_iterations=2)
    result = fit(given, options)
    expected_result = fit(problem(IN_MEAN[:N], IN_MEAN[N:]), options)
    torch.testing.assert_close(result.final.theta, expected_result.final.theta)
    (shares, _) = (row["shares"] for row in result.history(given))
    assert sum(shares) == pytest.approx(1)


def test_weights_of_mean_one_stay_bit_for_bit() -> None:
    given = problem(IN_MEAN[:N], IN_MEAN[N:])
    assert given.weights is not None
    assert given.weights.equal(IN_MEAN[:N])
    in_single = problem(IN_MEAN[:N].float(), None)
    assert in_single.weights is not None
    assert in_single.weights.equal(IN_MEAN[:N].float())


def test_either_part_may_have_no_weights() -> None:
    train = torch.arange(N)  # whole numbers, one of them 0
    given = problem(train, None)
    counts, of_validation = given.counts
    torch.testing.assert_close(counts, train.double() / train.double().mean())
    assert of_validation.equal(torch.ones(M).double())
    given = problem(None, 3 * IN_MEAN[N:])
    counts, of_validation = given.counts
    assert counts.equal(torch.ones(N).double())
    assert of_validation.equal(3 * IN_MEAN[N:])


def test_weights_that_are_none_are_refused() -> None:
    good = IN_MEAN[:N]
    with refusal("weights .49,. do not fit 50 points; give one weight for each"):
        problem(good[1:], None)
    with refusal("weights .50, 1. do not fit 50 points"):
        problem(good[:, None], None)
    with refusal("weights .50,. do not fit 30 points"):
        problem(None, good)
    for value in (-1.0, torch.nan, torch.inf):
        bad = good.clone()
        bad[3] = value
        with refusal(f"weights must be finite and not negative; got {value:g}"):
            problem(bad, None)
    with refusal("all weights are 0; give some"):
        problem(0 * good, None)
