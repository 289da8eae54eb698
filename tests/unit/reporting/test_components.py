"""Where a spread comes from: against draws of known variances, and by an analysis by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.reporting.components import STREAMS, component_table, crossed, variance_components

TRUE = {"data": 0.9, "network": 0.4, "clustering": 0.0, "together": 0.25}


def draw(rng: np.random.Generator, shape: tuple[int, ...] = (6, 5, 4)) -> np.ndarray:
    a, b, c = (rng.normal(0, TRUE[s] ** 0.5, n) for s, n in zip(STREAMS, shape, strict=True))
    noise = rng.normal(0, TRUE["together"] ** 0.5, shape)
    return 3 + a[:, None, None] + b[:, None] + c + noise


def test_components_are_those_of_the_draw() -> None:
    rng = np.random.default_rng(0)
    found = pd.DataFrame([variance_components(draw(rng)) for _ in range(2000)]).mean()
    for name in ("data", "network", "together"):
        assert found[name] == pytest.approx(TRUE[name], rel=0.05)
    assert found["clustering"] < 0.02  # zero, but that estimates below it count as it


@given(seed=st.integers(0, 10**6), shift=st.floats(-5, 5), scale=st.floats(0.1, 10))
def test_shifts_do_not_count_and_scales_square(seed: int, shift: float, scale: float) -> None:
    values = draw(np.random.default_rng(seed), (3, 2, 4))
    before, after = variance_components(values), variance_components(scale * values + shift)
    for name in TRUE:
        assert after[name] == pytest.approx(scale**2 * before[name], rel=1e-6, abs=1e-9)


def test_an_effect_of_one_stream_is_all_there_is() -> None:
    values = np.zeros((3, 2, 4)) + np.array([1.0, 2.0, 6.0])[:, None, None]
    parts = variance_components(values)
    assert parts["data"] == pytest.approx(np.var([1, 2, 6], ddof=1))
    assert [parts[name] for name in ("network", "clustering", "together")] == pytest.approx([0] * 3)


def scores(seeds: list[str | int], values: list[float]) -> pd.DataFrame:
    same = {"setting": "a", "method": "KerHRM (NTF)", "metric": "test_acc"}
    return pd.DataFrame({"seed": seeds, "value": values} | same)


def test_a_table_of_a_full_cross_alone() -> None:
    names = [f"data={d},network={w},clustering={c}" for d, w, c in product((7, 9), (0, 1), (3, 4))]
    rng = np.random.default_rng(1)
    order = rng.permutation(8)
    values = draw(rng, (2, 2, 2)).ravel()
    shuffled = scores([names[i] for i in order], values[order].tolist())
    expected = variance_components(values.reshape(2, 2, 2))
    row = component_table(shuffled).splitlines()[2]
    cells = [cell.strip() for cell in row.split("|")[4:-1]]
    assert cells == [f"{expected[name] ** 0.5:.4f}" for name in TRUE]
    for seeds in (names[:7], list(range(8)), [*names[:7], 3]):
        assert crossed(pd.Series(seeds)) is None
        part = scores(list(seeds), values[: len(seeds)].tolist())
        assert component_table(part).startswith("Seeds here")
