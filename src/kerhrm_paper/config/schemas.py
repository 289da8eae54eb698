"""Names of data and learners, read: their base, and options that it can have."""

import functools
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from kerhrm.errors import KerhrmError, shown
from kerhrm.features.options import FeatureOptions
from kerhrm.methods.base import POOLED, WORST_INFERRED, WORST_TRUE, Method
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options, worded
from kerhrm_paper.config.fields import SeedNumber, nearest
from kerhrm_paper.config.files import Sources
from kerhrm_paper.config.options import known
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.spelling import Nameable, Schema, nameable, parse
from kerhrm_paper.data.registry import DATA_SETS

DEFAULTS = "library defaults"  #: in the place of a criterion: nothing was selected
ORACLE = "oracle"  #: the criterion that sees test points
#: criteria in names, and in words
WORDS = {
    "pooled": POOLED,
    "worst_inferred": WORST_INFERRED,
    "worst_true": WORST_TRUE,
    "oracle": ORACLE,
    "none": DEFAULTS,
}
CROSSED = Nameable(
    "crossed",
    Annotated[int, Field(gt=0, le=20)],
    None,
    "replicates are all combinations of so many seeds of data, network and clustering",
)
SEEDS = Nameable(
    "seeds",
    SeedNumber,
    None,
    "number of replicates, for every learner on these data",
)
RESERVED = ("crossed", "seeds")  #: options of data that are no generator's
RANGES: dict[str, TypeAdapter[int]] = {
    option.key: TypeAdapter(option.annotation) for option in (CROSSED, SEEDS)
}
SELECT = Nameable(
    "select",
    str,
    None,
    f"criterion in place of the method's own: {', '.join(WORDS)}",
)
SELECT_ON = Nameable("select_on", str, None, "data set that options were selected on")


class Schemas:
    """Schemas of the data sets and learners of the files.

    Parameters
    ----------
    sources : Sources
        The files.
    whole : Whole
        What they say, validated.

    Attributes
    ----------
    methods : dict of str to Method
        By learner.

    Raises
    ------
    KerhrmError
        If a generator or a method is unknown.
    """

    def __init__(self, sources: Sources, whole: Whole) -> None:
        self.sources = sources
        self.whole = whole
        self.methods: dict[str, Method] = {}
        self._data_names: dict[str, tuple[str, dict[str, Any]]] = {}
        self._learner_names: dict[str, tuple[str, dict[str, Any]]] = {}
        for name, data in whole.data.items():
            known(sources, ("data", name, "generator"), data.generator, DATA_SETS)
        for name, learner in whole.learners.items():
            key = ("learners", name, "method")
            method = known(sources, key, learner.method, METHODS)
            self.methods[name] = METHODS[method]

    def data_schema(self, base: str) -> Schema:
        """Options that a name can give data.

        Raises KerhrmError if no data set has the name ``base``.
        """
        if base not in self.whole.data:
            problem = f"no data set is called '{shown(base, 60).strip(chr(39))}'"
            raise KerhrmError(problem, nearest(base, self.whole.data))
        return _data_schema(DATA_SETS[self.whole.data[base].generator].options)

    def learner_schema(self, base: str) -> Schema:
        """Options that a name can give a learner.

        Raises KerhrmError if no learner has the name ``base``.
        """
        if base not in self.whole.learners:
            problem = f"no learner is called '{shown(base, 60).strip(chr(39))}'"
            raise KerhrmError(problem, nearest(base, self.whole.learners))
        return _learner_schema(self.methods[base].options)

    def parse_data(self, name: str) -> tuple[str, dict[str, Any]]:
        """Base and options of data of a name; KerhrmError if it is none."""
        if name not in self._data_names:
            base, values = parse(name, self.data_schema)
            for option, ranges in RANGES.items():
                if option in values:
                    _check_range(name, option, values[option], ranges)
            self._data_names[name] = base, values
        base, values = self._data_names[name]
        return base, dict(values)

    def parse_learner(self, name: str) -> tuple[str, dict[str, Any]]:
        """Base and options of a learner of a name; KerhrmError if it is none."""
        if name not in self._learner_names:
            base, values = parse(name, self.learner_schema)
            self._check_selection(name, base, values)
            self._learner_names[name] = base, values
        base, values = self._learner_names[name]
        return base, dict(values)

    def _check_selection(self, name: str, base: str, values: dict[str, Any]) -> None:
        """Refuse a criterion, or data that it saw, that the learner cannot have."""
        learner = self.whole.learners[base]
        select, source = values.get("select"), values.get("select_on")
        tuned = learner.is_tuned
        if (select and not tuned) or (source and not (tuned or learner.tuned_as)):
            key = "select" if select else "select_on"
            problem = f"{name}: nothing is selected for {base}"
            raise KerhrmError(problem, f"leave {key} out")
        if select and select not in self.criteria(base):
            problem = f"{name}: {base} has no criterion '{select}'"
            raise KerhrmError(problem, nearest(select, self.criteria(base)))
        if source and source not in self.whole.data:
            problem = f"{name}: no data set is called '{source}'"
            raise KerhrmError(problem, nearest(source, self.whole.data))

    def own_criterion(self, base: str) -> str:
        """Name of a learner's own criterion."""
        criterion = self.methods[base].criterion
        return next((name for name, text in WORDS.items() if text == criterion), "own")

    def criteria(self, base: str) -> list[str]:
        """Names of the criteria that can have selected a learner's options.

        Its own is the first; there are none where nothing is tried.
        """
        if not self.whole.learners[base].is_tuned:
            return []
        return [*dict.fromkeys([*self.honest_criteria(base), ORACLE, "none"])]

    def honest_criteria(self, base: str) -> list[str]:
        """Names of the criteria that see no test data; a learner's own is the first."""
        can = [self.own_criterion(base)]
        can += [n for n, text in WORDS.items() if text in self.methods[base].criteria]
        return [*dict.fromkeys(can)]


def _check_range(name: str, option: str, value: Any, ranges: TypeAdapter[int]) -> None:
    """Refuse a value of a reserved option, which no class of options validates."""
    try:
        ranges.validate_python(value)
    except ValidationError as error:
        problem, _ = worded(error.errors()[0])
        problem = f"{name}: {option}: {problem}"
        raise KerhrmError(problem, f"write another number, or no {option}") from error


@functools.cache
def _data_schema(options: type[Options]) -> Schema:
    """Options of a generator, then of f_w, of the features and of the seeds."""
    schema = nameable(options)
    schema |= nameable(NetworkOptions, "network.")
    schema |= nameable(FeatureOptions, "features.")
    return schema | {"crossed": CROSSED, "seeds": SEEDS}


@functools.cache
def _learner_schema(options: type[Options]) -> Schema:
    """Options of a method, then of the selection."""
    schema = nameable(options)
    return schema | {"select": SELECT, "select_on": SELECT_ON}
