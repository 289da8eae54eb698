"""Data sets by name, and the raw data that some are made from.

Another data set is its folder and one entry here (with raw data: a second one).  Other packages
add theirs by an entry point in the group ``kerhrm.data_sets`` that loads to a
:class:`~kerhrm.data.declared.DataSet` (docs/extending.md).
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from kerhrm.data.declared import DataSet as DataSet
from kerhrm.entries import added, check, load
from kerhrm.errors import KerhrmError

if TYPE_CHECKING:
    from kerhrm.data.dataset import Dataset, Task
    from kerhrm.data.sources.raw import RawData


def _entry(name: str, options: str, task: "Task | None", **more: str) -> DataSet:
    """A data set with a folder of its own in ``kerhrm.data``."""
    room = f"kerhrm.data.{name}"
    return DataSet(name, f"{room}.options:{options}", f"{room}.generator:generate", task, **more)


def _of_a_package(name: str, entry: str, so_far: Mapping[str, DataSet]) -> DataSet:
    """A data set that another package declares."""
    found = load(entry)
    if not isinstance(found, DataSet):
        raise KerhrmError(f"{entry} is no kerhrm.data.declared.DataSet")
    if found.name != name:
        raise KerhrmError(f"{entry} is called '{found.name}'")
    if found.raw is not None and found.raw not in RAW:
        raise KerhrmError(f"there are no raw data '{found.raw}'")
    if "generator" not in getattr(load(found.options), "model_fields", ()):
        raise KerhrmError(f"{found.options} is no kerhrm.sections.Section with a generator")
    check(found.entry)
    return found


_TRUTHS = "kerhrm.scoring.truths"
_BUILT_IN = {
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
DATA_SETS = added("kerhrm.data_sets", _BUILT_IN, _of_a_package)


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
