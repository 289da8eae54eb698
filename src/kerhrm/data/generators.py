"""Data sets by name: a new experiment's generator is entered here."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from kerhrm.data import classification, colored_mnist, houses, regression
from kerhrm.data.dataset import Dataset
from kerhrm.data.mnist import load_digits


def generate(
    options: Mapping[str, Any], seeds: Sequence[int], raw: str | os.PathLike[str] | None = None
) -> Dataset:
    """Make one setting's data set.

    Parameters
    ----------
    options : mapping
        The ``data`` section of the configuration.
    seeds : sequence of int
        Numbers of the replicates.
    raw : path, optional
        Prepared raw data, for the generators that need them.
    """
    options = dict(options)
    name = options.pop("generator")
    if name == "colored_mnist":
        assert raw is not None
        return colored_mnist.generate(seeds, load_digits(raw), **options)
    if name == "houses":
        assert raw is not None
        return houses.generate(seeds, houses.load_saved(raw), **options)
    if name == "regression":
        return regression.generate(seeds, **options)
    return classification.generate(seeds, **options)
