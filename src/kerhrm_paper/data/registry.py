"""Data sets by name, and the raw data that some are made from.

Another data set is a file with its options and its generator, and one line here.  Other
packages add theirs by an entry point of the group ``kerhrm.data_sets`` that loads to a
:class:`~kerhrm_paper.data.dataset.DataSet`.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task, check_declared
from kerhrm.plugins import Registry, check_by_name, origin
from kerhrm_paper.data import (
    classification,
    closed_forms,
    colored_mnist,
    houses,
    regression,
    temporal,
)
from kerhrm_paper.data.dataset import DataSet as DataSet
from kerhrm_paper.data.dataset import Dataset, check_generated
from kerhrm_paper.data.sources import RawData

RAW: dict[str, type[RawData]] = {"mnist": colored_mnist.Digits, "houses": houses.Houses}


def _check(name: str, data: Any) -> None:
    """Refuse what is no data set, or declares what no job could use."""
    if not isinstance(data, DataSet):
        hint = "let its package's entry point load to one"
        raise KerhrmError("it is not a DataSet", hint)
    if data.task not in get_args(Task):
        tasks = " or ".join(get_args(Task))
        raise KerhrmError(f"its task must be {tasks}; got {data.task!r}", "correct it")
    check_declared(data.options)
    check_by_name(data.generate, "generate")
    n_points = getattr(data.options(), "n_points", None)
    if not isinstance(n_points, int) or isinstance(n_points, bool) or n_points < 1:
        problem = f"its options need n_points, a positive number; got {n_points!r}"
        raise KerhrmError(problem, "declare how many points train")
    if data.raw is not None and data.raw not in RAW:
        problem = f"raw must be None or of {', '.join(RAW)}; got {shown(data.raw)}"
        raise KerhrmError(problem, "read other files in generate")
    for key in ("closed_forms", "attribute"):
        if (function := getattr(data, key)) is not None and not callable(function):
            problem = f"{key} must be a function; got {shown(function)}"
            raise KerhrmError(problem, "correct it, or leave it out")


DATA_SETS: Registry[DataSet] = Registry(
    "kerhrm.data_sets",
    {
        "classification": DataSet(
            classification.ClassificationData,
            classification.generate,
            "classification",
            closed_forms=closed_forms.classification,
        ),
        "regression": DataSet(
            regression.RegressionData,
            regression.generate,
            "regression",
            closed_forms=closed_forms.regression,
        ),
        "temporal": DataSet(
            temporal.TemporalData,
            temporal.generate,
            "classification",
            closed_forms=closed_forms.temporal,
        ),
        "colored_mnist": DataSet(
            colored_mnist.ColoredMnistData,
            colored_mnist.generate,
            "classification",
            raw="mnist",
            attribute=colored_mnist.colour,
        ),
        "houses": DataSet(
            houses.HousesData, houses.generate, "regression", raw="houses"
        ),
    },
    _check,
)


def generate(
    generator: str,
    options: Mapping[str, Any],
    seeds: Sequence[int],
    raw: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Make one setting's data set of the name ``generator``, a replicate per seed.

    ``raw`` is the file of raw data, for the data sets that are made from them.
    Raises KerhrmError if the generator returns something else than it declares.
    """
    chosen = DATA_SETS[generator]
    parsed = chosen.options.parse(options, f"{generator}: ")
    more = [RAW[chosen.raw].load(str(raw))] if chosen.raw else []
    made = chosen.generate(parsed, seeds, *more)
    where = origin(DATA_SETS.group, generator)
    n_points = parsed.n_points  # type: ignore[attr-defined]
    return check_generated(made, where, chosen.task, n_points, seeds)
