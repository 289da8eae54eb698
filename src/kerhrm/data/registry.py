"""Data sets by name, and the raw data that some are made from.

Another data set is its folder and one entry here (with raw data: a second one).
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
    """A data set's entry points, see :mod:`kerhrm.entries`; nothing of it is imported here."""

    name: str  #: ``generator`` in the configuration
    options: str  #: the :class:`kerhrm.sections.Section` of what it may be told
    entry: str  #: ``generate(options, seeds)``, with raw data ``generate(options, seeds, raw)``
    task: "Task | None"  #: None: that of its options, see :func:`task_of`
    raw: str | None = None  #: name in :data:`RAW` of the data that it is made from
    truths: str | None = None  #: options to what is known without training, by row and metric


def _entry(name: str, options: str, task: "Task | None", **more: str) -> DataSet:
    """A data set with a folder of its own in ``kerhrm.data``."""
    room = f"kerhrm.data.{name}"
    return DataSet(name, f"{room}.options:{options}", f"{room}.generator:generate", task, **more)


_TRUTHS = "kerhrm.scoring.truths"
DATA_SETS = {
    data_set.name: data_set
    for data_set in (
        _entry(
            "classification", "ClassificationData", "classification",
            truths=f"{_TRUTHS}:classification",
        ),
        _entry("colored_mnist", "ColoredMnistData", "classification", raw="mnist"),
        _entry("regression", "RegressionData", "regression", truths=f"{_TRUTHS}:regression"),
        _entry("houses", "HousesData", "regression", raw="houses"),
        _entry("tabular", "TabularData", None),
    )
}  # fmt: skip

#: the :class:`kerhrm.data.sources.raw.RawData` of each name
RAW = {
    "mnist": "kerhrm.data.sources.mnist:Digits",
    "houses": "kerhrm.data.sources.king_county:Houses",
    "king_county": "kerhrm.data.sources.king_county_table:Sales",
}
#: those of them that are tables, with a ``frame``: a path may be raw:NAME
TABLES = ("king_county",)


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


def task_of(options: Any) -> "Task":
    """Task of a data set, of which its options are given."""
    return DATA_SETS[options.generator].task or options.kind


def source_of(options: Any) -> str | None:
    """Name in :data:`RAW` of what a data set is made from, if it is made from such."""
    return DATA_SETS[options.generator].raw or getattr(options, "source", None)


def file_of(options: Any) -> str | None:
    """Path of the user's file that a data set is made from, if it is."""
    return getattr(options, "file", None)


def generate(
    data: Mapping[str, Any], seeds: Sequence[int], raw: str | os.PathLike[str] | None = None
) -> "Dataset":
    """Make one setting's data set, a replicate per seed.

    Parameters
    ----------
    data : mapping
        The ``data`` section of the configuration.
    raw : path, optional
        Saved raw data (:func:`fetch`), for the data sets that are made from them.

    Raises
    ------
    KerhrmError
        If the data set is unknown, raw data are missing, or its generator refuses them.
    """
    chosen = data_set(data["generator"])
    options, make = load(chosen.options)(**data), load(chosen.entry)
    if file := file_of(options):
        return make(options, seeds, file)
    source = source_of(options)
    if source is None:
        return make(options, seeds)
    if raw is None:
        raise KerhrmError(f"{chosen.name} is made from raw data", f"give the file of {source}")
    return make(options, seeds, load(RAW[source]).load(raw))


def fetch(
    name: str,
    raw_dir: str | os.PathLike[str] | None = None,
    on_missing: Literal["stand-in", "fail"] = "stand-in",
) -> "RawData":
    """:meth:`kerhrm.data.sources.raw.RawData.fetch` of the raw data ``name``."""
    return load(RAW[name]).fetch(raw_dir, on_missing)
