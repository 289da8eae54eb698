"""How many rows of a table test, and how many of the others validate.

This imports nothing, so that a plan reads the share without PyTorch.
"""

TEST_SHARE = 0.3  #: of the rows, drawn at random


def validation_size(n: int, fraction: float) -> int:
    """Number of n rows that validate: a fraction of them, rounded.

    It is at least 1, unless fewer than two rows would be left to train.
    """
    rounded = round(fraction * n)
    at_least_one = max(1, rounded)
    return min(at_least_one, n - 2)
