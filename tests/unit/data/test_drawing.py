"""What generators share: streams, the order of what is drawn, and the mixing matrix."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from refusals import refusal
from scipy import stats

from kerhrm.randomness import stream
from kerhrm_paper.data.drawing import draw_parts, mixing_matrix
from kerhrm_paper.data.registry import DATA_SETS

SIZES = {"train": (3, 2), "test": (4,)}
SEEDS = (7, 100)


def test_environments_follow_each_other_in_every_replicate() -> None:
    def draw(
        random: np.random.Generator, seed: int, environment: int, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        x = random.standard_normal((n, 2))
        number = 10 * seed + environment
        return x, np.full(n, number)

    environments = {}
    for part, sizes in SIZES.items():
        environments[part] = list(enumerate(sizes))
    parts = draw_parts(draw, SEEDS, environments)
    assert parts.keys() == SIZES.keys()
    for part, sizes in SIZES.items():
        split = parts[part]
        n = sum(sizes)
        assert split.x.shape == (2, n, 2)
        assert split.y.shape == (2, n)
        assert split.environment.shape == (2, n)
        assert split.x.dtype == np.float32
        assert split.y.dtype == np.float32
        assert split.environment.dtype == np.int8
        for b, seed in enumerate(SEEDS):
            environments_of_part = range(len(sizes))
            numbers = np.repeat(environments_of_part, sizes)
            assert_array_equal(split.environment[b], numbers)
            expected_y = 10 * seed + numbers
            assert_array_equal(split.y[b], expected_y)
            drawn = []
            for e, size in enumerate(sizes):
                random = stream(seed, "data", part, str(e))
                points = random.standard_normal((size, 2))
                drawn.append(points)
            expected = np.float32(np.concatenate(drawn))
            assert_array_equal(split.x[b], expected)


def test_which_matrix_mixes() -> None:
    released = stats.ortho_group.rvs(size=1, dim=10, random_state=1)
    for seed in (0, 123):
        fixed = mixing_matrix("fixed", 10, seed)
        assert_array_equal(fixed, released.T)
        expected = np.eye(10)
        assert_array_equal(mixing_matrix("identity", 10, seed), expected)
    of_seed_0 = mixing_matrix("per_seed", 10, 0)
    of_seed_1 = mixing_matrix("per_seed", 10, 1)
    again = mixing_matrix("per_seed", 10, 1)
    differences = np.abs(of_seed_0 - of_seed_1)
    assert differences.max() > 0.1
    assert_array_equal(of_seed_1, again)


dimensions = st.integers(2, 16)
seeds = st.integers(0, 2**31)


@given(dimensions, seeds)
def test_seeds_draw_as_scipy_draws(d: int, seed: int) -> None:
    """Uniformly: it is SciPy's own matrix of the same stream."""
    random = stream(seed, "data", "scramble")
    uniform = stats.ortho_group.rvs(d, random_state=random)
    matrix = mixing_matrix("per_seed", d, seed)
    assert_array_equal(matrix, uniform)


@pytest.mark.parametrize(
    ("generator", "key", "numbers"),
    [
        ("classification", "r_test", [0.1, 0.5, 0.1]),
        ("classification", "r_test", [0.1, 0.1001]),
        ("colored_mnist", "test_flip", [0.9, 0.9]),
        ("regression", "test_r", [-1.9, -1.9]),
        ("temporal", "p_test", [0.2, 0.20000001]),
    ],
)
def test_test_environments_have_names_of_their_own(
    generator: str, key: str, numbers: list[float]
) -> None:
    """Their rows in a table would be one."""
    options = DATA_SETS[generator].options
    with refusal(f"^{key}=.*two environments are called"):
        options.parse({key: numbers})


@pytest.mark.parametrize(
    ("points", "told"),
    [
        (None, "must return x and y, and z where there is one; got NoneType"),
        ((np.ones((3, 2)),), "must return x and y, .*; got 1 arrays; return x, y"),
        (
            (np.ones((3, 2)) * 1j, np.ones(3)),
            "must return real numbers; got complex ones",
        ),
    ],
)
def test_points_are_arrays_of_real_numbers(points: Any, told: str) -> None:
    def draw(random: np.random.Generator, seed: int) -> Any:
        return points

    with refusal(f"draw {told}"):
        draw_parts(draw, [0], {"train": [()]})


def test_there_may_be_more_environments_than_a_byte_counts() -> None:
    def draw(random: np.random.Generator, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return random.standard_normal((1, 2)), np.ones(1)

    parts = draw_parts(draw, (0,), {"test": [()] * 300})
    assert_array_equal(parts["test"].environment[0], np.arange(300))
