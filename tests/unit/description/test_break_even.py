"""The break-even share, and what a table could have shown, by simulation."""

import numpy as np
import pytest
from described_tables import sorted_rows
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.description.break_even import Losses, break_even, share_above
from kerhrm.description.power import smallest_changes


def losses(n: int, seed: int, d: float, rest: float) -> Losses:
    """Losses whose means differ by d in a fifth of the points, by rest elsewhere."""
    random = np.random.default_rng(seed)
    small = random.random(n) < 0.2
    erm = 2 + random.normal(size=n)
    difference = np.where(small, d, rest)
    kerhrm = erm + difference + 0.5 * random.normal(size=n)
    memberships = np.column_stack([~small, small]).astype(float)
    return Losses(kerhrm, erm, memberships, np.ones(n))


def test_mixing_both_environments_at_that_share_makes_the_models_equal() -> None:
    given_losses = losses(400, 0, -1.0, 0.3)
    found = break_even(given_losses)
    assert found is not None
    assert found.environment == "environment 1"
    small = given_losses.memberships[:, 1] == 1
    a, b = given_losses.kerhrm, given_losses.erm
    s = found.share
    ours = s * a[small].mean() + (1 - s) * a[~small].mean()
    erm = s * b[small].mean() + (1 - s) * b[~small].mean()
    assert ours == pytest.approx(erm)
    assert found.now == pytest.approx(small.mean())
    assert f"more than {s:.0%}" in str(found)


def test_its_interval_holds_the_true_share() -> None:
    """s = .3 / 1.3 by the differences -1 and .3."""
    true = 0.3 / 1.3
    inside = []
    for seed in range(100):
        found = break_even(losses(200, seed, -1.0, 0.3), draws=200)
        assert found is not None
        inside.append(found.low <= true <= found.high)
    assert 0.88 <= np.mean(inside) <= 1


def test_one_model_may_be_better_at_any_share() -> None:
    always = break_even(losses(400, 0, -1, -1))
    never = break_even(losses(400, 0, 1, 1))
    assert always is not None
    assert never is not None
    assert (always.share, always.high) == (0, 0)
    assert "at any share" in str(always)
    assert (never.share, never.low) == (1, 1)
    assert "ERM predicts better whatever" in str(never)
    single = Losses(np.ones(5), np.zeros(5), np.ones((5, 1)), np.ones(5))
    assert break_even(single) is None


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_a_break_even_share_is_a_share(d: float, rest: float) -> None:
    share = float(share_above(np.array(d), np.array(rest)))
    assert 0 <= share <= 1
    if d < 0 < rest:
        assert share * d + (1 - share) * rest == pytest.approx(0, abs=1e-9)


def test_a_change_of_that_size_is_seen_in_four_of_five_tables() -> None:
    """By a t-test of the interaction with known environments."""
    random = np.random.default_rng(0)
    n = 200
    share = 0.3
    sigma = 1.5
    x = random.normal(size=(n, 2))
    x[:, 1] += 0.8 * x[:, 0]
    rows = sorted_rows(x, random.normal(size=n), names=["a", "b"])
    change = smallest_changes(rows, sigma, sigma, share).loc["b", "known"]
    found = []
    for _ in range(400):
        hidden = random.permutation(n) < share * n
        y = x[:, 0] + np.where(hidden, change, 0) * x[:, 1]
        y = y + sigma * random.normal(size=n)
        design = np.column_stack([np.ones(n), x])
        both = np.column_stack([design, design * hidden[:, None]])
        inverse = np.linalg.inv(both.T @ both)
        beta = inverse @ both.T @ y
        residual = y - both @ beta
        variance = residual @ residual / (n - 6)
        error = np.sqrt(inverse[-1, -1] * variance)
        found.append(abs(beta[-1]) > 1.972 * error)
    assert 0.72 < np.mean(found) < 0.87


def test_hidden_changes_go_by_the_share_that_the_pretest_sees() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(250, 1))
    rows = sorted_rows(x, np.arange(250.0))
    table = smallest_changes(rows, 2.0, 2.0, visible=0.65)
    change, sd = table.loc["c0", ["hidden", "sd"]]
    assert 0.2 * 0.8 * change**2 * sd**2 / 2.0**2 == pytest.approx(0.65)
    assert smallest_changes(rows, 2.0, 2.0)["hidden"].isna().all()
