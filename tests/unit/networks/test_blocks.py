"""Blocks of points without their zeros: every point once, the products those of all columns."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kerhrm.networks import blocks
from kerhrm.networks.blocks import Block, by_zeros, in_order

H = 6


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "ENTRIES", 64 * H)
    monkeypatch.setattr(blocks, "LEAST", 8)


def coloured(n: int, pixels: int, seed: int) -> Tensor:
    """Images with empty borders, each on one of two channels: (n, 2 pixels)."""
    rng = torch.Generator().manual_seed(seed)
    grey = torch.rand(n, pixels, generator=rng, dtype=torch.float64) + 0.1
    grey[:, 0] = 0
    colour = torch.randint(2, (n, 1), generator=rng)
    return torch.cat([grey * (1 - colour), grey * colour], 1)


def covered(parts: list[Block], n: int) -> list[int]:
    index = torch.arange(n)
    return sorted(i for block in parts for i in index[block.rows].tolist())


@given(st.integers(1, 300), st.integers(2, 9), st.integers(0, 50))
def test_products_are_those_of_all_points_and_columns(n: int, pixels: int, seed: int) -> None:
    x = coloured(n, pixels, seed)
    weight = torch.randn(H, x.shape[1] + 1, dtype=x.dtype)
    signal = torch.randn(n, H, dtype=x.dtype)
    joined = torch.cat([x, x.new_ones(n, 1)], 1)
    for parts in (in_order(x, H), by_zeros(x, H)):
        assert covered(parts, n) == list(range(n))
        moments = x.new_zeros(x.shape[1] + 1, H)
        for block in parts:
            assert len(block.x) % blocks.ROWS == 0
            torch.testing.assert_close(
                block.times(weight)[: block.count], (joined @ weight.T)[block.rows]
            )
            own = torch.stack([block.padded(column) for column in signal.T], 1)
            block.cross(own, moments)
        torch.testing.assert_close(moments, joined.T @ signal)


def test_images_of_two_colours_leave_the_other_channel_out() -> None:
    x = coloured(400, 40, 0)
    parts = by_zeros(x, H)
    assert {block.x.shape[1] for block in parts} == {39 + 1}
    assert sum(block.count for block in parts) == 400


def test_points_without_zeros_stay_as_they_stand() -> None:
    x = torch.rand(150, 5) + 0.1
    found, expected = by_zeros(x, H), in_order(x, H)
    assert [block.rows for block in found] == [block.rows for block in expected]
    for a, b in zip(found, expected, strict=True):
        assert a.columns is None
        assert torch.equal(a.x, b.x)


def test_points_of_zeros_alone_have_their_ones() -> None:
    (block,) = by_zeros(torch.zeros(20, 3), H)
    assert torch.equal(block.times(torch.ones(H, 4))[:20], torch.ones(20, H))
    assert block.x.shape == (32, 1)
