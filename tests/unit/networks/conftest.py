"""Both kinds of products, and blocks so small that a test has several."""

import pytest

from kerhrm.networks import base, blocks


@pytest.fixture(params=[True, False], ids=["convolutions", "plain products"])
def either_product(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products of matrices as on some processors, and as on the others."""
    monkeypatch.setattr(base, "convolutions_pay", lambda: request.param)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four rows of six hidden units a block."""
    monkeypatch.setattr(blocks, "ENTRIES", 64 * 6)
    monkeypatch.setattr(blocks, "MIN_ROWS", 8)
