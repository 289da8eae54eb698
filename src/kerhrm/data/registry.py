"""Data sets by name, and the raw data that some are made from.

Another data set is its files and one line here (with raw data: a second one).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kerhrm.entries import load
from kerhrm.errors import KerhrmError

if TYPE_CHECKING:
    from kerhrm.data.dataset import Dataset, Task
    from kerhrm.data.sources.raw import RawData


@dataclass(frozen=True)
class DataSet:
    """A data set's entry points, see :mod:`kerhrm.entries`; nothing of it is imported here.

    Attributes
    ----------
    name : str
        ``generator`` in the configuration.
    options : str
        The :class:`kerhrm.sections.Section` of what it may be told.
    entry : str
        ``generate(seeds, **options)``, with raw data ``generate(seeds, raw, **options)``,
        which returns a :class:`kerhrm.data.dataset.Dataset`.
    task : "classification" or "regression"
    raw : str, optional
        Name in :data:`RAW` of the data that it is made from.
    truths : str, optional
        What is known of it without training: options to values by reference row and metric.
    """

    name: str
    options: str
    entry: str
    task: "Task"
    raw: str | None = None
    truths: str | None = None


DATA_SETS = {
    data_set.name: data_set
    for data_set in (
        DataSet(
            "classification",
            "kerhrm.data.classification.options:ClassificationData",
            "kerhrm.data.classification.generator:generate",
            "classification",
            truths="kerhrm.scoring.truths:classification",
        ),
        DataSet(
            "colored_mnist",
            "kerhrm.data.colored_mnist.options:ColoredMnistData",
            "kerhrm.data.colored_mnist.generator:generate",
            "classification",
            raw="mnist",
        ),
        DataSet(
            "regression",
            "kerhrm.data.regression.options:RegressionData",
            "kerhrm.data.regression.generator:generate",
            "regression",
            truths="kerhrm.scoring.truths:regression",
        ),
        DataSet(
            "houses",
            "kerhrm.data.houses.options:HousesData",
            "kerhrm.data.houses.generator:generate",
            "regression",
            raw="houses",
        ),
    )
}

#: the :class:`kerhrm.data.sources.raw.RawData` of each name
RAW = {
    "mnist": "kerhrm.data.sources.mnist:Digits",
    "houses": "kerhrm.data.sources.king_county:Houses",
}


def data_set(name: str) -> DataSet:
    """Give the data set of a name.

    Raises
    ------
    KerhrmError
        If there is none.
    """
    if name not in DATA_SETS:
        raise KerhrmError(f"no data set is called '{name}'", f"known are: {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


def generate(
    options: Mapping[str, Any], seeds: Sequence[int], raw: str | os.PathLike[str] | None = None
) -> "Dataset":
    """Make one setting's data set.

    Parameters
    ----------
    options : mapping
        The ``data`` section of the configuration.
    seeds : sequence of int
        Numbers of the replicates.
    raw : path, optional
        Saved raw data (:func:`fetch`), for the data sets that are made from them.

    Raises
    ------
    KerhrmError
        If the data set is unknown, raw data are missing, or its generator refuses an option.
    """
    options = dict(options)
    chosen = data_set(options.pop("generator"))
    if chosen.raw is None:
        return load(chosen.entry)(seeds, **options)
    if raw is None:
        raise KerhrmError(f"{chosen.name} is made from raw data", f"give the file of {chosen.raw}")
    return load(chosen.entry)(seeds, load(RAW[chosen.raw]).load(raw), **options)


def fetch(
    name: str,
    raw_dir: str | os.PathLike[str] | None = None,
    on_missing: Literal["stand-in", "fail"] = "stand-in",
) -> "RawData":
    """Find or fetch the raw data ``name`` of :data:`RAW`.

    See :meth:`kerhrm.data.sources.raw.RawData.fetch` for the parameters and errors.
    """
    return load(RAW[name]).fetch(raw_dir, on_missing)
