"""A learner of a name, on data of a name: the options in force, validated."""

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError
from kerhrm.methods.base import Method
from kerhrm.options import Options
from kerhrm_paper.config.cells import DataCell, LearnerCell
from kerhrm_paper.config.data_cells import values_of
from kerhrm_paper.config.files import Key, Sources, Tree
from kerhrm_paper.config.layers import changes_at
from kerhrm_paper.config.options import Places, dump, entry_of, numbers, place_of
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.schemas import RESERVED, WORDS
from kerhrm_paper.config.selection import Selection
from kerhrm_paper.config.spelling import tree

KERNEL_POINTS = 30_000  #: training points of which a machine holds the kernel matrix


class LearnerCells(Selection):
    """Learners of the files on their data, one name after the other."""

    def __init__(self, sources: Sources, whole: Whole) -> None:
        super().__init__(sources, whole)
        self._learners: dict[tuple[str, str], LearnerCell] = {}

    def learner(self, data: str, name: str) -> LearnerCell:
        """What a name of a learner stands for, on data of a name.

        Raises KerhrmError if one of them is none, or their options do not fit.
        """
        key = data, name
        if key not in self._learners:
            self._learners[key] = self._learner(self.data(data), name)
        return self._learners[key]

    def _learner(self, data: DataCell, name: str) -> LearnerCell:
        base, named = self.parse_learner(name)
        _check_effect(data, name, named)
        method, learner = self.methods[base], self.whole.learners[base]
        select, source = named.get("select"), self.select_on(data, named)
        chosen, missing = self.selected(data, base, select, source)
        places = self.places(data, name)
        values = dump(self.sources, method.options, places)
        options = method.options(**values)
        self._check_options(data, options, values, places, method)
        entries = {"train": entry_of(method.train), "options": entry_of(method.options)}
        penalty = values.get("penalty")
        if penalty in PENALTIES.load():
            entries["penalty"] = entry_of(PENALTIES[str(penalty)])
        checkpointed = learner.checkpoint_iterations
        checkpointed = checkpointed and select is None and not self.whole.search
        return LearnerCell(
            name=name,
            base=base,
            method=method.name,
            options=options,
            n_seeds=self._n_seeds(data, name),
            titles=learner.titles,
            selection=method.criterion if select is None else WORDS[select],
            selected=_in_force(places, values, chosen),
            selected_on=source,
            needs_features=method.needs_features,
            needs_environments=method.needs_environments,
            infers=method.infers,
            iterates=method.iterates,
            checkpointed=checkpointed,
            entries=entries,
            missing=missing,
        )

    def _n_seeds(self, data: DataCell, name: str) -> int:
        """Replicates of a learner: all of the data's, unless the map has fewer."""
        _, named = self.parse_data(data.name)
        if self.whole.search or {*RESERVED} & {*named}:
            return len(data.seeds)
        return self.n_seeds(data.base, data.name, name)

    def places(self, data: DataCell, name: str) -> Places:
        """Options of a learner on data, each with where it stands; later ones win."""
        base, named = self.parse_learner(name)
        select, source = named.pop("select", None), self.select_on(data, named)
        named.pop("select_on", None)
        chosen, _ = self.selected(data, base, select, source)
        at, values = ("learners", base), values_of(data)
        tuned = self.whole.learners[base].tuned_as or base
        criterion = select or self.own_criterion(base)
        places: Places = []
        for number, layer in enumerate((self.base, self.changes)):
            learner = layer.get("learners", {}).get(base) or {}
            places.append(((*at, "options"), learner.get("options") or {}))
            if number == 0:
                single = {} if select == "none" else self.single(data, base)
                places.append(((*at, "grid"), single))
                places.append((("selected", source, tuned, criterion), chosen))
            for place, one in changes_at(learner, self.whole.learners[base].at):
                if self.fits(place, data.base, values):
                    options = one.get("options") or {}
                    places.append(((*at, "at", place, "options"), options))
        if self.whole.learners[base].at_only:
            self._check_known(data, base, values)
        places.append((f"{data.name}/{name}", tree(named)))
        return places

    def explained(self, data: str, name: str) -> dict[str, Key | str]:
        """Where each option of a learner stands that is no default of its method."""
        places = self.places(self.data(data), name)
        return {
            option: place if isinstance(place, str) else (*place, option)
            for place, given in places
            for option in given
        }

    # --- checks ----------------------------------------------------------------------

    def _check_known(self, data: DataCell, base: str, values: Tree) -> None:
        """Refuse data that a learner has no values for."""
        every = self.whole.learners[base].at
        if any(self.fits(place, data.base, values) for place in every):
            return
        problem = f"{base} has values of its own by data, and none for {data.name}"
        raise KerhrmError(problem, f"it knows {', '.join(every)}")

    def _check_options(
        self,
        data: DataCell,
        options: Options,
        values: Tree,
        places: Places,
        method: Method,
    ) -> None:
        """Refuse options that do not fit the task, the points or the features."""
        try:
            method.check(options, data.task)
        except KerhrmError as error:
            name = "loss" if data.task in method.tasks else "method"
            raise self._at(places, name, error.problem, error.hint) from error
        too_many = f"it exceeds n={data.n_points} points"
        if max(numbers(values.get("n_environments")), default=0) > data.n_points:
            raise self._at(places, "n_environments", too_many, "lower it or raise n")
        if not method.needs_features:
            return
        if data.features.k > data.n_points:
            problem = f"features.k={data.features.k} exceeds n={data.n_points} points"
            hint = f"name data with features.k={data.n_points} or less"
            raise KerhrmError(f"{data.name}: {problem}", hint)
        k = max(numbers(values.get("k")), default=0)
        if k > data.n_points:
            raise self._at(places, "k", too_many, "lower it or raise n")
        if k > data.features.k:
            problem = f"{data.name} has {data.features.k} features"
            hint = f"lower it, or name data with features.k={k}"
            raise self._at(places, "k", problem, hint)
        landmarks = data.features.n_landmarks
        if landmarks is not None and k > landmarks:
            problem = f"it exceeds the {landmarks} landmarks of {data.name}"
            hint = f"lower it, or name data with features.n_landmarks={k} or more"
            raise self._at(places, "k", problem, hint)
        if landmarks is None and data.n_points > KERNEL_POINTS:
            problem = f"n={data.n_points} training points are too many for a whole"
            key = ("data", data.base, "features")
            hint = "set features: {n_landmarks: 8000}"
            raise self.sources.error(key, f"{problem} kernel matrix", hint)

    def _at(
        self, places: Places, name: str, problem: str, hint: str | None
    ) -> KerhrmError:
        """An error about an option, at the last place that gives it."""
        place = place_of(places, name)
        if isinstance(place, str):
            return KerhrmError(f"{place}: {name}: {problem}", hint)
        return self.sources.error((*place, name), problem, hint)


def _check_effect(data: DataCell, name: str, named: Tree) -> None:
    """Refuse options in a name that change nothing on these data."""
    for option in named:
        if option.split(".")[0] == "pretest" and data.task == "classification":
            problem = f"{name}: {data.name} has labels, which no pretest tests"
            raise KerhrmError(problem, f"leave {option} out")
    if named.get("select") == "none" and "select_on" in named:
        problem = f"{name}: select=none takes no selected options"
        raise KerhrmError(problem, "leave select_on out")


def _in_force(places: Places, values: Tree, chosen: Tree) -> Tree:
    """Selected options that nothing later replaces."""
    last = {name: place for place, given in places for name in given}
    return {key: values[key] for key in chosen if last[key][0] == "selected"}
