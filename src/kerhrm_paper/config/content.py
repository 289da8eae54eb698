"""What in the files of data and learners could no cell make right?

It is refused also where no table uses it.
"""

from collections.abc import Iterator

from kerhrm.errors import KerhrmError
from kerhrm.features.options import FeatureOptions
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.options import check_fields, entry_of, known, one_by_one
from kerhrm_paper.config.schema import Learner
from kerhrm_paper.config.schemas import RESERVED, Schemas
from kerhrm_paper.config.strict_yaml import Tree
from kerhrm_paper.data.registry import DATA_SETS


def check_content(schemas: Schemas) -> None:
    """Refuse options, conditions and names that fit nothing.

    Raises KerhrmError for the first one, with its file and key.
    """
    for name in schemas.whole.learners:
        LearnerContent(schemas, name).check()
    for name in schemas.whole.data:
        DataContent(schemas, name).check()
    _check_selected(schemas)


def _check_selected(schemas: Schemas) -> None:
    """Refuse selected options of data or learners that are in no file.

    Of those that a later file sets to null they may stay.
    """
    sources = schemas.sources
    data_sets = sources.names("data")
    learners = sources.names("learners")
    selections = schemas.whole.selected
    for data, selected in selections.items():
        key: Key = ("selected", data)
        known(sources, key, data, data_sets)
        for learner in selected:
            key = ("selected", data, learner)
            known(sources, key, learner, learners)


class LearnerContent:
    """What the files say of one learner.

    Parameters
    ----------
    schemas : Schemas
        Which names there are.
    name : str
        Of the learner.
    """

    def __init__(self, schemas: Schemas, name: str) -> None:
        self.schemas = schemas
        self.sources = schemas.sources
        self.name = name
        self.learner = schemas.whole.learners[name]
        self.method = schemas.methods[name]
        self.key: Key = ("learners", name)

    def check(self) -> None:
        """Refuse options, outputs, conditions and names that fit nothing."""
        learner = self.learner
        key = (*self.key, "titles")
        outputs = self.method.outputs
        for output in learner.titles:
            known(self.sources, key, output, outputs)
        for condition in learner.at:
            key = (*self.key, "at", condition)
            _check_condition(self.schemas, key, condition)
        model = self.method.options
        for key, options in self._all_options():
            check_fields(self.sources, model, key, options)
        if learner.tuned_as is not None:
            self._check_tuned_as(learner.tuned_as)
        if learner.at_only and not learner.at:
            key = (*self.key, "at_only")
            problem = "there are no data that it is for"
            error = self.sources.error(key, problem, "add at: {DATA: {}}")
            raise error
        if learner.checkpoint_iterations:
            self._check_iterations()
        if learner.is_tuned:
            self._check_criterion()

    def _all_options(self) -> Iterator[tuple[Key, Tree]]:
        """Options that any file gives the learner, each with its key."""
        learner = self.learner
        key = (*self.key, "options")
        yield key, learner.options
        for number, candidate in enumerate(learner.candidates):
            key = (*self.key, "candidates", number)
            yield key, candidate
        key = (*self.key, "grid")
        yield from one_by_one(key, learner.grid)
        for condition, change in learner.at.items():
            at = (*self.key, "at", condition)
            key = (*at, "options")
            yield key, change.options
            key = (*at, "grid")
            yield from one_by_one(key, change.grid)
            for number, candidate in enumerate(change.candidates):
                key = (*at, "candidates", number)
                yield key, candidate
        selections = self.schemas.whole.selected
        for data, learners in selections.items():
            by_criterion = learners.get(self.name)
            by_criterion = by_criterion or {}
            for criterion, options in by_criterion.items():
                key = ("selected", data, self.name, criterion)
                yield key, options

    def _check_tuned_as(self, other_name: str) -> None:
        """Refuse to take the selected options of a learner that has none of its own, or
        has other options."""
        learners = self.schemas.whole.learners
        key = (*self.key, "tuned_as")
        known(self.sources, key, other_name, learners)
        other = learners[other_name]
        if _follows(other_name, other):
            problem = f"it has tuned_as: {other.tuned_as} itself"
            raise self.sources.error(key, problem, self._cure(other_name))
        if not other.is_tuned:
            problem = "it has no candidates, so that nothing is selected for it"
            raise self.sources.error(key, problem, self._cure(other_name))
        tried = list(other.grid)
        for candidate in other.all_candidates:
            tried += candidate
        method = self.method
        for option in tried:
            if option not in method.options.model_fields:
                problem = f"its {option} is no option of the method {method.name}"
                hint = f"name a learner of the method {method.name}"
                raise self.sources.error(key, problem, hint)

    def _cure(self, name: str) -> str:
        """What to write instead of a learner that no options are selected for."""
        learners = self.schemas.whole.learners
        passed = set()
        while name in learners and name not in passed:
            learner = learners[name]
            if not _follows(name, learner):
                if learner.is_tuned:
                    return f"write tuned_as: {name}"
                break
            passed.add(name)
            name = str(learner.tuned_as)
        return "name a learner with a grid or candidates, or delete the line"

    def _check_iterations(self) -> None:
        """Refuse iterations of another method than KerHRM, whose steps are jobs."""
        kerhrm = METHODS["kerhrm"]
        train = entry_of(self.method.train)
        trains_alike = train == entry_of(kerhrm.train)
        options = set(self.method.options.model_fields)
        of_kerhrm = set(kerhrm.options.model_fields)
        if trains_alike and options == of_kerhrm:
            return
        needed = "checkpoint_iterations needs the method kerhrm"
        raise self.sources.error(
            (*self.key, "checkpoint_iterations"),
            f"{needed}; it has {self.method.name}",
            "set it to false",
        )

    def _check_criterion(self) -> None:
        """Refuse candidates of a method that has no criterion to select one."""
        criterion = self.schemas.own_criterion(self.name)
        if criterion != "own":
            return
        tried = "candidates" if self.learner.candidates else "grid"
        raise self.sources.error(
            (*self.key, tried),
            f"the method {self.method.name} has no criterion that selects",
            "give options instead",
        )


class DataContent:
    """What the files say of one data set.

    Parameters
    ----------
    schemas : Schemas
        Which names there are.
    name : str
        Of the data set.
    """

    def __init__(self, schemas: Schemas, name: str) -> None:
        self.schemas = schemas
        self.sources = schemas.sources
        self.name = name
        self.data = schemas.whole.data[name]
        self.key: Key = ("data", name)

    def check(self) -> None:
        """Refuse options, conditions and names of seeds that fit nothing."""
        generator = DATA_SETS[self.data.generator]
        self._check_part("options", generator.options)
        self._check_part("network", NetworkOptions)
        self._check_part("features", FeatureOptions)
        for condition in self.data.at:
            key = (*self.key, "at", condition)
            base = _check_condition(self.schemas, key, condition)
            self._check_same(key, base, f"write {self.name}+...")
        if isinstance(self.data.seeds, dict):
            for place in self.data.seeds:
                self._check_seeds(place)
        select_on = self.data.select_on or self.name
        data_sets = self.schemas.whole.data
        key = (*self.key, "select_on")
        known(self.sources, key, select_on, data_sets)

    def _check_part(self, part: str, model: type[Options]) -> None:
        """Refuse options of a part of the data, also where ``at`` changes them."""
        key = (*self.key, part)
        options = getattr(self.data, part)
        check_fields(self.sources, model, key, options)
        conditions = self.data.at
        for condition, change in conditions.items():
            key = (*self.key, "at", condition, part)
            options = getattr(change, part)
            check_fields(self.sources, model, key, options)

    def _check_seeds(self, place: str) -> None:
        """Refuse a key of seeds that is no name of these data, or of a cell of them."""
        key = (*self.key, "seeds", place)
        data, slash, learner = place.partition("/")
        with self.sources.placing(key):
            base, named = self.schemas.parse_data(data)
            if slash:
                self.schemas.parse_learner(learner)
        for option in RESERVED:
            if option in named:
                problem = f"{option} is no part of a key of seeds"
                raise self.sources.error(key, problem, "leave it out")
        self._check_same(key, base, f"write {self.name}")

    def _check_same(self, key: Key, base: str, hint: str) -> None:
        if base != self.name:
            problem = "these are other data"
            raise self.sources.error(key, problem, hint)


def _follows(name: str, learner: Learner) -> bool:
    """Whether a learner takes the selected options of another one."""
    return learner.tuned_as not in (None, name)


def _check_condition(schemas: Schemas, key: Key, condition: str) -> str:
    """Base of a condition; KerhrmError if it is no name of data."""
    try:
        base, named = schemas.parse_data(condition)
    except KerhrmError as error:
        hint = error.hint
        if "*" in condition:
            hint = "write DATA+option=value, or DATA for all of its data"
        raise schemas.sources.error(key, error.problem, hint) from error
    for option in RESERVED:
        if option in named:
            problem = f"{option} is not a condition"
            raise schemas.sources.error(key, problem, "leave it out")
    return base
