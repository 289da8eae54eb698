"""Do the options of a learner fit the data that it is on?"""

from dataclasses import dataclass

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.errors import KerhrmError
from kerhrm.methods.base import Method
from kerhrm.options import Options
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.files import ABSENT, Key, Sources
from kerhrm_paper.config.nameable import Schema
from kerhrm_paper.config.options import Places, numbers, place_of
from kerhrm_paper.config.spelling import Named, parse, spell
from kerhrm_paper.config.strict_yaml import Tree

TESTED = "regression"  #: task of the data that a pretest tests
KERNEL_POINTS = 30_000  #: training points of which a machine holds the kernel matrix
#: iterations that are jobs: each reads the files of all before, so that plans took 13 s
#: for 20, 24 s for 50, 114 s for 100, and more than 120 s for 400
MAX_JOBS = 100
#: options of generators that give the number of training points
ROWS = ("n_train_per_environment", "n_per_environment", "n_train", "train_fraction")


@dataclass(frozen=True)
class LearnerChecks:
    """Checks of one learner's options on some data.

    Attributes
    ----------
    sources : Sources
        The files, which an error names.
    data : DataCell
        What the learner is on.
    name : str
        Of the learner.
    schema : mapping
        What its name can give.
    method : Method
        What trains it.
    places : list
        Options, each with where it stands.
    values : dict
        All options in force, as plain values.
    """

    sources: Sources
    data: DataCell
    name: str
    schema: Schema
    method: Method
    places: Places
    values: Tree

    def check(self, options: Options) -> None:
        """Refuse options that do not fit the task, the points or the features."""
        self._check_task(options)
        self._check_environments()
        if self.method.needs_features:
            self._check_feature_count()
            self._check_k()
            self._check_kernel()

    def check_iterations(self) -> None:
        """Refuse more iterations than can be planned, where each is a job."""
        number = self._largest("n_iterations")
        if number > MAX_JOBS:
            raise self._error(
                "n_iterations",
                f"each iteration is a job, of which a plan holds at most {MAX_JOBS}",
                "lower it, or set checkpoint_iterations: false of the learner",
            )

    def _check_task(self, options: Options) -> None:
        task = self.data.task
        try:
            self.method.check(options, task)
        except KerhrmError as error:
            is_learned = task in self.method.tasks
            option = "loss" if is_learned else "method"
            hint = error.hint
            if is_learned and self._is_selected(option):
                hint = self._named("loss", "squared")
            raise self._error(option, error.problem, hint) from error

    def _check_environments(self) -> None:
        largest = self._largest("n_environments")
        if largest > self.data.n_points:
            raise self._too_many_points("n_environments")

    def _check_feature_count(self) -> None:
        """Refuse more features than points, of which kernel PCA has at most as many."""
        n = self.data.n_points
        k = self.data.features.k
        if k > n:
            raise KerhrmError(
                f"{self.data.name}: features.k={k} exceeds n={n} points",
                f"name data with features.k={n} or less{self._or_more_rows()}",
            )

    def _check_k(self) -> None:
        """Refuse to use more features than there are."""
        data, features = self.data, self.data.features
        k = self._largest("k")
        if k > data.n_points:
            raise self._too_many_points("k")
        if k > features.k:
            lower = self._lower("k", features.k)
            raise self._error(
                "k",
                f"{data.name} has {features.k} features",
                f"{lower}, or name data with features.k={k}",
            )
        landmarks = features.n_landmarks
        if landmarks is not None and k > landmarks:
            lower = self._lower("k", landmarks)
            raise self._error(
                "k",
                f"it exceeds the {landmarks} landmarks of {data.name}",
                f"{lower}, or name data with features.n_landmarks={k} or more",
            )

    def _check_kernel(self) -> None:
        """Refuse a kernel matrix of all points that no machine holds."""
        data = self.data
        is_whole = data.features.n_landmarks is None
        if not is_whole or data.n_points <= KERNEL_POINTS:
            return
        problem = (
            f"n={data.n_points} training points are too many for a whole kernel matrix"
        )
        if data.name != data.base:
            # an option of the name may make them so many, or leave landmarks out
            hint = "name data with features.n_landmarks=8000"
            raise KerhrmError(f"{data.name}: {problem}", hint)
        key = ("data", data.base, "features")
        raise self.sources.error(key, problem, "set features: {n_landmarks: 8000}")

    def _largest(self, option: str) -> int | float:
        """The largest number that an option gives; 0 if it gives none."""
        value = self.values.get(option)
        return max(numbers(value), default=0)

    def _too_many_points(self, option: str) -> KerhrmError:
        problem = f"it exceeds n={self.data.n_points} points"
        lower = self._lower(option, self.data.n_points)
        return self._error(option, problem, f"{lower}{self._or_more_rows()}")

    def _or_more_rows(self) -> str:
        """Another hint: the option of the data that gives them more points."""
        for option in type(self.data.options).model_fields:
            if option in ROWS:
                return f", or raise {option}"
        return ""

    def _is_selected(self, option: str) -> bool:
        """Whether a criterion has selected the option's value: no file to edit."""
        place = place_of(self.places, option)
        return place[0] == "selected"

    def _named(self, option: str, value: int | str) -> str:
        """Hint to give an option in the learner's name."""
        base, named = parse(self.name, lambda base: self.schema)
        options = {**named, option: value}
        return f"name {spell(base, options, self.schema)}"

    def _lower(self, option: str, largest: int) -> str:
        """Hint to lower an option, where the user has written it, or by a name."""
        place = place_of(self.places, option)
        if isinstance(place, str) or self._is_of_user((*place, option)):
            return "lower it"
        named = self._named(option, largest)
        if self._is_selected(option):
            return named
        return f"{named}, or lower it in a file of yours"

    def _is_of_user(self, key: Key) -> bool:
        """Whether a file or the command line gives a key, and not ``config/``."""
        start = self.sources.preset_at
        later = [] if start is None else self.sources.layers[start + 1 :]
        _, _, value = Sources(later).find(key)
        return value is not ABSENT

    def _error(self, option: str, problem: str, hint: str | None) -> KerhrmError:
        """An error about an option, at the last place that gives it."""
        place = place_of(self.places, option)
        if self._is_selected(option):
            place = f"{self.data.name}/{self.name}"
            option = f"selected {option}"
        if isinstance(place, str):
            return KerhrmError(f"{place}: {option}: {problem}", hint)
        key = (*place, option)
        return self.sources.error(key, problem, hint)


def check_effect(
    data: DataCell, name: str, named: Named, options: type[Options]
) -> None:
    """Refuse options in a learner's name that change nothing on these data.

    ``options`` are those of its method: a pretest is KerHRM's, of numeric targets, and
    of a network's training alone nothing is tested.
    """
    is_kerhrm = issubclass(options, KerHRMOptions)
    is_untested = is_kerhrm and data.task != TESTED
    for option in named:
        part, *_ = option.split(".")
        if is_untested and part == "pretest":
            problem = f"{name}: {data.name} has labels, which no pretest tests"
            raise KerhrmError(problem, f"leave {option} out")
        if option.startswith("training.pretest"):
            problem = f"{name}: the training of a network tests nothing"
            raise KerhrmError(problem, f"leave {option} out")
    takes_none = named.get("select") == "none"
    if takes_none and "select_on" in named:
        problem = f"{name}: select=none takes no selected options"
        raise KerhrmError(problem, "leave select_on out")
