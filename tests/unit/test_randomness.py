"""Streams are fixed by seed and name, for ever and independently of each other."""

import hashlib

import numpy as np
import pytest

from kerhrm.randomness import entropy, some_of, stream


def test_entropy_is_the_documented_hash() -> None:
    digest = hashlib.sha256(b"0/data").hexdigest()
    assert entropy(0, "data") == int(digest[:32], 16)
    # and the number itself, so that no refactoring moves the results unseen
    assert entropy(0, "data") == 0x1473CAEA611930A14DB7C6E606FBDCCE
    expected = entropy(12, "a", "b")
    assert entropy(np.int64(12), "a", "b") == expected


def test_streams_repeat_and_differ_by_seed_and_name() -> None:
    keys = [
        (0, "data"),
        (1, "data"),
        (0, "weights"),
        (0,),
        (0, "data", "test"),
        (10, "data"),
    ]
    draws = [stream(*key).standard_normal(4).tolist() for key in keys]
    again = [stream(*key).standard_normal(4).tolist() for key in keys]
    assert draws == again
    assert len({tuple(d) for d in draws}) == len(keys)


@pytest.mark.parametrize(("n", "most"), [(0, 3), (3, 3), (2, 3), (200, 3), (200, 199)])
def test_some_are_drawn_only_of_more(n: int, most: int) -> None:
    numbers = some_of(stream(0, "rows"), n, most)
    assert numbers.dtype == np.int64
    assert len(numbers) == min(n, most)
    assert numbers.tolist() == sorted(set(numbers.tolist()))
    assert set(numbers.tolist()) <= set(range(n))
    if n > most:
        # the same as before there was a function, so that results stay
        drawn = stream(0, "rows").choice(n, most, replace=False)
        assert numbers.tolist() == sorted(drawn.tolist())
