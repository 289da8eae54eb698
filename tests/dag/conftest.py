"""A fresh copy for tests that change it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from dagtools import Checkout


@pytest.fixture
def checkout(copies: Callable[[], Path]) -> Checkout:
    """A copy in which nothing has run, without raw files."""
    return Checkout(copies())
