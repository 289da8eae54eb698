"""Data sets by name, and the raw data that some are made from.

Another data set is a file with its options and its generator, and one line here.  Other
packages add theirs by an entry point of the group ``kerhrm.data_sets`` that loads to a
:class:`~kerhrm_paper.data.generator.Generator`.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from kerhrm.entries import check_by_name, check_names, check_takes
from kerhrm.errors import KerhrmError, shown
from kerhrm.options import Task, check_declared
from kerhrm.plugins import Registry, origin
from kerhrm_paper.data import (
    census,
    classification,
    closed_forms,
    colored_mnist,
    confounded_adult,
    houses,
    king_county,
    mnist,
    regression,
    temporal,
)
from kerhrm_paper.data.checks import check_generated
from kerhrm_paper.data.draws import Draws
from kerhrm_paper.data.generator import Generator
from kerhrm_paper.data.sources import RawData

RAW: dict[str, type[RawData]] = {
    "mnist": mnist.Digits,
    "houses": king_county.Houses,
    "adult": census.Adult,
}


def _check(name: str, generator: Any) -> None:
    """Refuse what is no generator, or declares what no job could use."""
    if not isinstance(generator, Generator):
        hint = "let its package's entry point load to one"
        raise KerhrmError("it is not a Generator", hint)
    tasks = get_args(Task)
    if generator.task not in tasks:
        problem = f"its task must be {' or '.join(tasks)}"
        raise KerhrmError(f"{problem}; got {generator.task!r}", "correct it")
    check_declared(generator.options)
    check_by_name(generator.generate, "generate")
    generator.n_points(generator.options())
    is_unknown = generator.raw is not None and generator.raw not in RAW
    if is_unknown:
        problem = f"raw must be None or of {', '.join(RAW)}"
        problem += f"; got {shown(generator.raw)}"
        raise KerhrmError(problem, "read other files in generate")
    given = ["options", "seeds", *(["raw"] if generator.raw else [])]
    check_takes(generator.generate, "generate", given)
    for key in ("closed_forms", "attribute"):
        function = getattr(generator, key)
        if function is not None and not callable(function):
            problem = f"{key} must be a function; got {shown(function)}"
            raise KerhrmError(problem, "correct it, or leave it out")
    if generator.references != ():
        check_names("references", generator.references, example="ref: the best")


#: those of this repository
PAPER = {
    "classification": Generator(
        options=classification.ClassificationData,
        generate=classification.generate,
        task="classification",
        closed_forms=closed_forms.classification,
        references=(closed_forms.BAYES, closed_forms.CEILING),
    ),
    "regression": Generator(
        options=regression.RegressionData,
        generate=regression.generate,
        task="regression",
        closed_forms=closed_forms.regression,
        references=(closed_forms.LEAST_SQUARES, closed_forms.STRUCTURAL),
    ),
    "temporal": Generator(
        options=temporal.TemporalData,
        generate=temporal.generate,
        task="classification",
        closed_forms=closed_forms.temporal,
        references=(closed_forms.CEILING,),
    ),
    "colored_mnist": Generator(
        options=colored_mnist.ColoredMnistData,
        generate=colored_mnist.generate,
        task="classification",
        raw="mnist",
        closed_forms=closed_forms.colored_mnist,
        references=(closed_forms.CEILING,),
        attribute=colored_mnist.channel_of,
    ),
    "houses": Generator(
        options=houses.HousesData,
        generate=houses.generate,
        task="regression",
        raw="houses",
    ),
    "confounded_adult": Generator(
        options=confounded_adult.ConfoundedAdultData,
        generate=confounded_adult.generate,
        task="classification",
        raw="adult",
    ),
}
DATA_SETS: Registry[Generator] = Registry("kerhrm.data_sets", PAPER, _check)


def generate(
    name: str,
    options: Mapping[str, Any],
    seeds: Sequence[int],
    raw: RawData | str | os.PathLike[str] | None = None,
) -> Draws:
    """Draw a data set, a replicate per seed.

    Parameters
    ----------
    name : str
        Of the generator.
    options : mapping
        Of the generator, by name; others have their defaults.
    seeds : sequence of int
        One for each replicate.
    raw : RawData or path, optional
        Raw data or a run's file of them, for generators that need them.

    Returns
    -------
    Draws
        Arrays of all replicates.

    Raises
    ------
    KerhrmError
        If the generator returns something else than it declares.
    """
    generator = DATA_SETS[name]
    parsed = generator.options.parse(options, f"{name}: ")
    arguments: list[Any] = [parsed, seeds]
    if generator.raw is not None:
        if not isinstance(raw, RawData):
            raw = RAW[generator.raw].load(str(raw))
        arguments.append(raw)
    return check_generated(
        generator.generate(*arguments),
        where=origin(DATA_SETS.group, name),
        task=generator.task,
        n_points=generator.n_points(parsed),
        seeds=seeds,
    )
