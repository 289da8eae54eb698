"""The break-even share, and what a table could have shown, by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from described_tables import sorted_rows
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kerhrm.description.break_even import (
    BreakEven,
    Losses,
    break_even,
    share_above,
)
from kerhrm.description.power import STANDARD_ERRORS, smallest_changes


def losses(n: int, seed: int, d: float, rest: float) -> Losses:
    """Losses whose means differ by d in a fifth of the points, by rest elsewhere."""
    random = np.random.default_rng(seed)
    small = random.random(n) < 0.2
    erm = 2 + random.normal(size=n)
    difference = np.where(small, d, rest)
    noise = 0.5 * random.normal(size=n)
    kerhrm = erm + difference + noise
    memberships = np.column_stack([~small, small])
    weights = np.ones(n)
    return Losses(kerhrm, erm, memberships.astype(float), weights)


def test_mixing_both_environments_at_that_share_makes_the_models_equal() -> None:
    given_losses = losses(400, 0, -1.0, 0.3)
    found = break_even(given_losses)
    assert found is not None
    assert found.environment == "environment 1"
    small = given_losses.memberships[:, 1] == 1
    s = found.share

    def mixed(model: np.ndarray) -> float:
        """Mean loss of a model where the small environment has the share s."""
        of_small = model[small].mean()
        of_rest = model[~small].mean()
        return float(s * of_small + (1 - s) * of_rest)

    kerhrm = mixed(given_losses.kerhrm)
    erm = mixed(given_losses.erm)
    assert kerhrm == pytest.approx(erm)
    share_now = small.mean()
    assert found.now == pytest.approx(share_now)
    assert f"more than {s:.0%}" in str(found)


def test_its_interval_holds_the_true_share() -> None:
    """s = .3 / 1.3 by the differences -1 and .3."""
    true = 0.3 / 1.3
    inside = []
    for seed in range(100):
        drawn = losses(200, seed, -1.0, 0.3)
        found = break_even(drawn, draws=200)
        assert found is not None
        inside.append(found.low <= true <= found.high)
    assert 0.88 <= np.mean(inside) <= 0.98


def test_one_model_may_be_better_at_any_share() -> None:
    better = losses(400, 0, -1, -1)
    worse = losses(400, 0, 1, 1)
    always = break_even(better)
    never = break_even(worse)
    assert always is not None
    assert never is not None
    assert always.share == 0
    assert always.high == 0
    assert "at any share" in str(always)
    assert never.share == 1
    assert never.low == 1
    assert "ERM predicts better whatever" in str(never)
    ones = np.ones(5)
    one_environment = np.ones((5, 1))
    single = Losses(ones, np.zeros(5), one_environment, ones)
    assert break_even(single) is None


def by_environment(*of_environments: tuple[int, float]) -> Losses:
    """Losses with so many points and differences from ERM's 1 in each environment."""
    sizes = [size for size, _ in of_environments]
    values = [1 + difference for _, difference in of_environments]
    number = np.repeat(np.arange(len(sizes)), sizes)
    kerhrm = np.repeat(values, sizes)
    ones = np.ones(sum(sizes))
    return Losses(kerhrm, ones, np.eye(len(sizes))[number], ones)


def test_kerhrm_may_be_better_below_a_share() -> None:
    """.5 s - .8 (1 - s) < 0 where s < .8 / 1.3."""
    found = break_even(by_environment((320, -0.8), (80, 0.5)))
    assert found is not None
    assert found.share == pytest.approx(0.8 / 1.3)
    assert found.side == "below"
    assert found.better == "KerHRM"
    text = "KerHRM predicts better than ERM if less than 62% of new rows belong to "
    assert str(found).startswith(f"{text}environment 1 (95 % interval 62% to 62%;")
    dear = break_even(by_environment((320, -0.1), (80, 0.8)))
    assert dear is not None
    assert dear.better == "ERM"
    assert dear.share == pytest.approx(0.1 / 0.9)


@pytest.mark.parametrize(
    ("d", "rest", "better", "text"),
    [
        (-0.1, -0.5, "KerHRM", "better than ERM at any share of environment 1"),
        (0.5, 0.1, "ERM", "ERM predicts better whatever share environment 1 has"),
        (0.0, -0.5, "KerHRM", "better than ERM at any share of environment 1"),
        (0.0, 0.5, "ERM", "ERM predicts better whatever share environment 1 has"),
        (0.0, 0.0, "neither", "KerHRM and ERM predict equally well at any share of"),
        (0.8, -0.2, "neither", "if less than 20% of new rows belong to environment 1"),
        (-0.8, 0.2, "neither", "if more than 20% of new rows belong to environment 1"),
    ],
)
def test_who_is_better_now_follows_from_all_losses(
    d: float, rest: float, better: str, text: str
) -> None:
    found = break_even(by_environment((320, rest), (80, d)))
    assert found is not None
    assert found.better == better
    assert text in str(found)


def test_rounding_is_no_difference() -> None:
    random = np.random.default_rng(0)
    equal = by_environment((320, 0.0), (80, 0.0))
    noise = 1e-15 * random.normal(size=len(equal.erm))
    found = break_even(replace(equal, kerhrm=equal.erm * (1 + noise)))
    assert found == break_even(equal)
    assert "KerHRM and ERM predict equally well at any share" in str(found)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.999999998, "99.9999998%"), (5e-7, "0.00005%"), (0.004, "0.4%"), (0.5, "50%")],
)
def test_no_share_is_rounded_to_all_or_none(share: float, text: str) -> None:
    found = BreakEven("environment 1", share=share, low=0.0, high=1.0, now=0.5)
    assert f"if more than {text} of new rows" in str(found)


def test_of_several_environments_the_others_keep_their_mix() -> None:
    """In the two others together the difference is (.6 * -.5 + .3 * .2) / .9."""
    found = break_even(by_environment((600, -0.5), (300, 0.2), (100, 0.4)))
    assert found is not None
    rest = (0.6 * -0.5 + 0.3 * 0.2) / 0.9
    assert found.share == pytest.approx(-rest / (0.4 - rest))
    assert found.side == "below"
    assert "belong to environment 2 and the others keep their mix" in str(found)


def test_an_environment_without_rows_is_none() -> None:
    """M_c may leave memberships of 1e-40 to an environment that has no point."""
    two = by_environment((320, 0.3), (80, -1.0))
    n = len(two.kerhrm)
    traces = np.full((n, 2), 1e-40)
    memberships = np.column_stack([two.memberships, traces])
    with_traces = replace(two, memberships=memberships)
    expected = break_even(two)
    share = break_even(with_traces)
    assert share == expected
    in_other_units = replace(with_traces, weights=1e-300 * two.weights)
    share = break_even(in_other_units)
    assert expected is not None
    assert share is not None
    assert share.environment == expected.environment
    assert share.share == pytest.approx(expected.share)


def test_the_interval_below_a_share_holds_the_true_one() -> None:
    """s = .3 / .8 by the differences .5 and -.3."""
    inside = []
    for seed in range(100):
        found = break_even(losses(200, seed, 0.5, -0.3), draws=200)
        assert found is not None
        inside.append(found.low <= 0.3 / 0.8 <= found.high)
    assert 0.88 <= np.mean(inside) <= 0.98


differences = st.floats(-5, 5)


@given(differences, differences, st.floats(0.01, 0.99))
def test_on_one_side_of_it_kerhrm_is_better(d: float, rest: float, s: float) -> None:
    """At any share, by the mean of the differences."""
    found = break_even(by_environment((60, rest), (40, d)), draws=1)
    assert found is not None
    mean = s * d + (1 - s) * rest
    if abs(mean) < 1e-6:
        return
    beyond = s > found.share if found.side == "above" else s < found.share
    assert beyond == (mean < 0)


@given(differences, differences)
def test_a_break_even_share_is_a_share(d: float, rest: float) -> None:
    difference = np.array(d)
    elsewhere = np.array(rest)
    share = float(share_above(difference, elsewhere))
    assert 0 <= share <= 1
    if d < 0 < rest:
        mean = share * d + (1 - share) * rest
        assert mean == pytest.approx(0, abs=1e-9)


def test_a_change_of_that_size_is_seen_in_four_of_five_tables() -> None:
    """By a t-test of the interaction with known environments."""
    random = np.random.default_rng(0)
    n = 200
    share = 0.3
    sigma = 1.5
    x = random.normal(size=(n, 2))
    x[:, 1] += 0.8 * x[:, 0]
    noise = random.normal(size=n)
    rows = sorted_rows(x, noise, names=["a", "b"])
    changes = smallest_changes(rows, sigma, sigma, share)
    change = changes.loc["b", "known"]
    found = []
    for _ in range(400):
        hidden = random.permutation(n) < share * n
        slope = np.where(hidden, change, 0)
        y = x[:, 0] + slope * x[:, 1]
        y = y + sigma * random.normal(size=n)
        design = np.column_stack([np.ones(n), x])
        interaction = design * hidden[:, None]
        both = np.column_stack([design, interaction])
        inverse = np.linalg.inv(both.T @ both)
        beta = inverse @ both.T @ y
        residual = y - both @ beta
        variance = residual @ residual / (n - 6)
        variance_of_last = inverse[-1, -1] * variance
        error = np.sqrt(variance_of_last)
        t = beta[-1] / error
        found.append(abs(t) > 1.972)
    assert 0.72 < np.mean(found) < 0.87


def test_of_weighted_rows_fewer_count() -> None:
    """Against the deviation of slopes by weighted least squares over many tables."""
    random = np.random.default_rng(0)
    n = 2000
    x = random.normal(size=n)
    weights = random.choice([0.1, 1.9], n)
    hidden = random.random(n) < 0.2
    tables = random.normal(size=(n, 400))
    slopes = []
    for rows in (hidden, ~hidden):
        counts = weights[rows]
        mean = np.average(x[rows], weights=counts)
        centred = counts * (x[rows] - mean)
        slopes.append(centred @ tables[rows] / (centred @ x[rows]))
    first, second = slopes
    described = sorted_rows(x[:, None], tables[:, 0], weights=weights)
    changes = smallest_changes(described, 1.0, 1.0, hidden.mean())
    expected = STANDARD_ERRORS * np.std(first - second)
    assert changes.loc["c0", "known"] == pytest.approx(expected, rel=0.08)


def test_hidden_changes_go_by_the_share_that_the_pretest_sees() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(250, 1))
    rows = sorted_rows(x, np.arange(250.0))
    table = smallest_changes(rows, 2.0, 2.0, visible=0.65)
    row = table.loc["c0"]
    change = row["hidden"]
    variance_of_slope = 0.2 * 0.8 * change**2
    visible = variance_of_slope * row["sd"] ** 2 / 2.0**2
    assert visible == pytest.approx(0.65)
    unseen = smallest_changes(rows, 2.0, 2.0)
    assert unseen["hidden"].isna().all()


def test_columns_of_weighted_rows_are_those_of_repeated_rows() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 2))
    x[:, 1] += x[:, 0]
    y = random.normal(size=80)
    counts = random.integers(1, 4, 80)
    weighted = sorted_rows(x, y, weights=counts.astype(float))
    repeated = sorted_rows(np.repeat(x, counts, axis=0), np.repeat(y, counts))
    expected = smallest_changes(repeated, 2.0, 2.0, visible=0.65)
    table = smallest_changes(weighted, 2.0, 2.0, visible=0.65)
    for column in ("sd", "slope", "hidden"):
        assert_allclose(table[column].sort_index(), expected[column].sort_index())


def test_sums_that_are_rounding_are_none() -> None:
    """.1 + .2 - .3 is 5e-17: outside environment 0 both models are as good."""
    losses = Losses(
        kerhrm=np.array([0.0, 0.0, 1.0, 0.0]),
        erm=np.array([1.0, 1.0, 0.0, 1.0]),
        memberships=np.array([[0.0, 1.0]] * 3 + [[1.0, 0.0]]),
        weights=np.array([0.1, 0.2, 0.3, 1.0]),
    )
    result = break_even(losses)
    assert result is not None
    assert "0.0000" not in str(result)
    assert result.share in (0.0, 1.0)


def test_the_ends_of_the_interval_are_not_rounded_away() -> None:
    wrong = np.zeros(1300)
    wrong[0] = 1
    losses = Losses(
        kerhrm=wrong,
        erm=np.concatenate([np.zeros(1000), np.ones(300)]),
        memberships=np.repeat([[1.0, 0.0], [0.0, 1.0]], [1000, 300], axis=0),
        weights=np.ones(1300),
    )
    result = break_even(losses)
    assert result is not None
    assert result.low <= result.share <= result.high
    assert "interval 0% to 0%" not in str(result)
