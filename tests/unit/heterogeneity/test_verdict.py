"""The test of heterogeneity: exact under its null, blind to what does not matter, and not blind."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from kerhrm.algorithm.options import Heterogeneity
from kerhrm.algorithm.problem import Problem
from kerhrm.errors import KerhrmError
from kerhrm.heterogeneity.records import BINARY, FOUND, NONE, HeterogeneityTest
from kerhrm.heterogeneity.verdict import (
    against_permutations,
    examine,
    heterogeneity_test,
    orthonormal,
)

FEW = Heterogeneity(folds=2, max_iterations=30, tolerance=1e-3)


def flipped(n: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three inputs, a constant, and y, with the first coefficient flipped in a share of rows."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((n, 3))
    sign = np.where(random.random(n) < share, -1, 1)
    y = sign * x[:, 0] + x[:, 1] + 0.3 * random.standard_normal(n)
    return np.column_stack([x, np.ones(n)]), y


def test_the_p_value_is_uniform_where_residuals_are_exchangeable() -> None:
    p_values = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        features = orthonormal(random.standard_normal((60, 2)))
        test = against_permutations(features, random.standard_normal(60), FEW, seed)
        p_values.append(float(test.p_value))
    assert min(p_values) >= 1 / 20
    # ranks among 20, spread over their cell: uniform on [0, 1]
    spread = np.array(p_values) - np.random.default_rng(0).random(20) / 20
    assert stats.kstest(spread, "uniform").pvalue > 0.01


def test_a_flipped_coefficient_is_found() -> None:
    features, y = flipped(300, 0.3)
    test = heterogeneity_test(features, y, options=FEW)
    assert test.verdict == FOUND
    assert float(test.p_value) == pytest.approx(1 / 20)
    assert float(test.excess) > 0.05
    assert not bool(test.none_found)


def test_nothing_is_found_where_nothing_is() -> None:
    features, y = flipped(300, 0.0)
    test = heterogeneity_test(features, y, options=FEW)
    assert test.verdict == NONE
    assert bool(test.none_found)


def test_a_gain_too_small_to_count_is_no_environment() -> None:
    features, y = flipped(300, 0.3)
    strict = FEW.model_copy(update={"smallest_gain": 1e6})
    assert heterogeneity_test(features, y, options=strict).verdict == NONE


def test_units_of_the_label_and_maps_of_the_features_do_not_matter() -> None:
    features, y = flipped(200, 0.2)
    test = heterogeneity_test(features, y, options=FEW)
    moved = heterogeneity_test(features, 4 * y - 3, options=FEW)
    torch.testing.assert_close(moved.statistic, test.statistic)
    torch.testing.assert_close(moved.null, test.null)
    mixed = features @ np.random.default_rng(1).standard_normal((4, 4))
    mapped = heterogeneity_test(mixed, y, x=features, options=FEW)
    torch.testing.assert_close(mapped.statistic, test.statistic, rtol=1e-6, atol=1e-9)


def test_the_seed_decides_everything() -> None:
    features, y = flipped(200, 0.2)
    one, again, other = (heterogeneity_test(features, y, options=FEW, seed=s) for s in (5, 5, 6))
    torch.testing.assert_close(one.null, again.null, rtol=0, atol=0)
    assert not torch.equal(one.null, other.null)


def test_binary_labels_are_refused_in_words() -> None:
    features, y = flipped(200, 0.3)
    test = heterogeneity_test(features, np.sign(y), options=FEW)
    assert test.verdict == BINARY
    assert bool(test.p_value.isnan())
    assert not bool(test.found)
    assert not bool(test.none_found)


def test_many_data_sets_are_tested_one_by_one(tmp_path: Path) -> None:
    drawn = [flipped(200, share) for share in (0.0, 0.3)]
    x = torch.from_numpy(np.stack([features for features, _ in drawn]))
    y = torch.from_numpy(np.stack([labels for _, labels in drawn]))
    u, s, _ = torch.linalg.svd(x, full_matrices=False)
    nothing = torch.zeros_like(y)
    problem = Problem(u, s, x[:, :5], nothing, nothing[:, :5], y, y[:, :5], "regression", [3, 4])
    tests = examine(problem, x, FEW)
    assert tests.none_found.tolist() == [True, False]
    alone = heterogeneity_test(
        problem.psi_train[1].numpy(), drawn[1][1], x=drawn[1][0], options=FEW, seed=4
    )
    torch.testing.assert_close(tests.take(1).null, alone.null)
    tests.save(tmp_path / "tests.npz")
    read = HeterogeneityTest.load(tmp_path / "tests.npz")
    assert [read.take(b).verdict for b in (0, 1)] == [NONE, FOUND]


def test_what_cannot_be_tested_is_said() -> None:
    features, y = flipped(200, 0.3)
    with pytest.raises(KerhrmError, match="too few"):
        heterogeneity_test(features[:79], y[:79])
    with pytest.raises(KerhrmError, match="do not fit"):
        heterogeneity_test(features, y[:-1])
    y[3] = np.nan
    with pytest.raises(KerhrmError, match="finite"):
        heterogeneity_test(features, y)
