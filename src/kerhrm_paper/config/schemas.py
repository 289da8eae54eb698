"""Which options can a name of data, or of a learner, have?"""

import functools
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from kerhrm.errors import KerhrmError, shown
from kerhrm.features.options import FeatureOptions
from kerhrm.methods.base import Method
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options, worded
from kerhrm_paper.config.criteria import NAME_OF, ORACLE, WORDS
from kerhrm_paper.config.fields import SeedNumber, nearest
from kerhrm_paper.config.files import Sources
from kerhrm_paper.config.nameable import Nameable, Schema, nameable
from kerhrm_paper.config.options import known
from kerhrm_paper.config.schema import Learner, Whole
from kerhrm_paper.config.spelling import ParsedName, UnknownOption, parse
from kerhrm_paper.data.registry import DATA_SETS

CROSSED = Nameable(
    key="crossed",
    annotation=Annotated[int, Field(gt=0, le=20)],
    default=None,
    meaning="replicates are all combinations of so many seeds of data, network and "
    "clustering",
)
SEEDS = Nameable(
    key="seeds",
    annotation=SeedNumber,
    default=None,
    meaning="number of replicates, for every learner on these data",
)
#: options of data that are no generator's; their ranges no class of options checks
RESERVED = ("crossed", "seeds")
#: names of options of data that have a meaning of their own
DATA_OPTIONS = (*RESERVED, "network", "features")
#: likewise of a learner
LEARNER_OPTIONS = ("select", "select_on")
RANGES: dict[str, TypeAdapter[int]] = {
    "crossed": TypeAdapter(CROSSED.annotation),
    "seeds": TypeAdapter(SEEDS.annotation),
}
SELECT = Nameable(
    key="select",
    annotation=str,
    default=None,
    meaning=f"criterion in place of the method's own: {', '.join(WORDS)}",
)
SELECT_ON = Nameable(
    key="select_on",
    annotation=str,
    default=None,
    meaning="data set that options were selected on",
)


class Schemas:
    """Schemas of the data sets and learners, and the names that they allow.

    Parameters
    ----------
    sources : Sources
        The files.
    whole : Whole
        Their content, validated.

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
        self._data_names: dict[str, ParsedName] = {}
        self._learner_names: dict[str, ParsedName] = {}
        for name, data in whole.data.items():
            key = ("data", name, "generator")
            known(sources, key, data.generator, DATA_SETS)
        for name, learner in whole.learners.items():
            key = ("learners", name, "method")
            method = known(sources, key, learner.method, METHODS)
            self.methods[name] = METHODS[method]

    # --- names -----------------------------------------------------------------------

    def data_schema(self, base: str) -> Schema:
        """Options that a name can give data.

        Raises KerhrmError if no data set has the name ``base``.
        """
        data = self.whole.data
        if base not in data:
            hint = nearest(base, data)
            if base in DATA_SETS:  # a generator that no file makes a data set
                hint = f"write config/data/{base}.yaml, or data: {{{base}: ...}}"
            raise KerhrmError(f"no data set is called '{_unquoted(base)}'", hint)
        generator = DATA_SETS[data[base].generator]
        return _data_schema(generator.options)

    def learner_schema(self, base: str) -> Schema:
        """Options that a name can give a learner.

        Raises KerhrmError if no learner has the name ``base``.
        """
        learners = self.whole.learners
        if base not in learners:
            raise KerhrmError(
                f"no learner is called '{_unquoted(base)}'", nearest(base, learners)
            )
        method = self.methods[base]
        return _learner_schema(method.options)

    def parse_data(self, name: str) -> ParsedName:
        """Base and options of a name of data; KerhrmError if it is none."""
        if name not in self._data_names:
            try:
                parsed = parse(name, self.data_schema)
            except UnknownOption as error:
                raise self._of_another(error, is_data=True) from error
            for option in RESERVED:
                if option in parsed.options:
                    _check_range(name, option, parsed.options[option])
            self._data_names[name] = parsed
        return self._data_names[name]

    def parse_learner(self, name: str) -> ParsedName:
        """Base and options of a name of a learner; KerhrmError if it is none."""
        if name not in self._learner_names:
            try:
                parsed = parse(name, self.learner_schema)
            except UnknownOption as error:
                raise self._of_another(error, is_data=False) from error
            self._check_select(name, parsed)
            self._check_select_on(name, parsed)
            self._learner_names[name] = parsed
        return self._learner_names[name]

    def _of_another(self, error: UnknownOption, is_data: bool) -> KerhrmError:
        """The error, with the option that tables call so, or with what has the option
        if the base does not."""
        key = error.key
        for option, label in self.whole.labels.items():
            if label == key:
                hint = f"tables call {option} so: write {option}=..."
                return KerhrmError(error.problem, hint)
        data, learners = [], []
        for name in self.whole.data:
            if key in self.data_schema(name):
                data.append(name)
        for name in self.whole.learners:
            if key in self.learner_schema(name):
                learners.append(name)
        owners = data + learners
        if not owners:
            return error
        shortest = min(owners, key=len)
        hint = f"it is an option of {shortest}: kerhrm options {shortest}"
        if is_data and not data:
            hint = f"learners have it: write {key}=... behind the /, as of {shortest}"
        elif not is_data and not learners:
            hint = f"data have it: write {key}=... in front of the /, as of {shortest}"
        return KerhrmError(error.problem, hint)

    def _check_select(self, name: str, parsed: ParsedName) -> None:
        """Refuse a criterion that the learner cannot have."""
        base = parsed.base
        criterion = parsed.options.get("select")
        if not criterion:
            return
        learner = self.whole.learners[base]
        if not learner.is_tuned:
            raise _nothing_selected(name, base, "select")
        criteria = self.criteria(base)
        if criterion not in criteria:
            raise KerhrmError(
                f"{name}: {base} has no criterion '{criterion}'",
                nearest(criterion, criteria),
            )

    def _check_select_on(self, name: str, parsed: ParsedName) -> None:
        """Refuse data on which nothing was selected for the learner."""
        base = parsed.base
        source = parsed.options.get("select_on")
        if not source:
            return
        learner = self.whole.learners[base]
        if not _takes_selected(learner):
            raise _nothing_selected(name, base, "select_on")
        if source not in self.whole.data:
            raise KerhrmError(
                f"{name}: no data set is called '{source}'",
                nearest(source, self.whole.data),
            )

    # --- criteria --------------------------------------------------------------------

    def own_criterion(self, base: str) -> str:
        """Name of a learner's own criterion; ``own`` if it has no other name."""
        method = self.methods[base]
        return NAME_OF.get(method.criterion, "own")

    def criteria(self, base: str) -> list[str]:
        """Names of the criteria that can have selected a learner's options.

        Its own is the first; there are none where nothing is tried.
        """
        learner = self.whole.learners[base]
        if not learner.is_tuned:
            return []
        honest = self.honest_criteria(base)
        criteria = [*honest, ORACLE, "none"]
        return list(dict.fromkeys(criteria))

    def honest_criteria(self, base: str) -> list[str]:
        """Names of the criteria that see no test data; a learner's own is the first."""
        method = self.methods[base]
        criteria = [self.own_criterion(base)]
        for name, words in WORDS.items():
            if words in method.criteria:
                criteria.append(name)
        return list(dict.fromkeys(criteria))


def _takes_selected(learner: Learner) -> bool:
    """Whether options are selected for a learner, or for another one it follows."""
    return learner.is_tuned or bool(learner.tuned_as)


def _nothing_selected(name: str, base: str, option: str) -> KerhrmError:
    """Error of a name with an option about selection, where nothing is selected."""
    return KerhrmError(f"{name}: nothing is selected for {base}", f"leave {option} out")


def _unquoted(name: str) -> str:
    """A name as errors show it, shortened, between quotes that they add."""
    return shown(name, 60).strip("'")


def _check_range(name: str, option: str, value: Any) -> None:
    """Refuse a value of a reserved option that is out of its range."""
    try:
        RANGES[option].validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        problem, _ = worded(first)
        hint = f"write another number, or no {option}"
        raise KerhrmError(f"{name}: {option}: {problem}", hint) from error


@functools.cache
def _data_schema(options: type[Options]) -> Schema:
    """Options of a generator, then of f_w, of the features and of the seeds."""
    schema = nameable(options)
    schema |= nameable(NetworkOptions, "network.")
    schema |= nameable(FeatureOptions, "features.")
    schema |= {"crossed": CROSSED, "seeds": SEEDS}
    return schema


@functools.cache
def _learner_schema(options: type[Options]) -> Schema:
    """Options of a method, then of the selection."""
    schema = nameable(options)
    schema |= {"select": SELECT, "select_on": SELECT_ON}
    return schema
