"""Learners: what the files say of each."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError
from kerhrm.methods.inputs import Method
from kerhrm.methods.registry import METHODS
from kerhrm.paper.config.fields import is_at
from kerhrm.paper.config.files import Key, Sources, Tree
from kerhrm.paper.config.models import At, Learner, Whole
from kerhrm.paper.config.names import DEFAULTS
from kerhrm.paper.config.options import (
    Places,
    check_fields,
    dump,
    entry_of,
    known,
    numbers,
    one_by_one,
    place_of,
)

KERNEL_POINTS = 30_000  #: training points of which a machine holds the kernel matrix
CANDIDATES = 1000  #: of a learner


class Learners:
    """The learners of the validated files."""

    def __init__(self, sources: Sources, whole: Whole) -> None:
        self.sources, self.whole = sources, whole
        self.methods: dict[str, Method] = {}
        for name in whole.learners:
            at, method = ("learners", name), self.inherited(name, "method")
            if method is None:
                hint = sources.alike(at) or "add method or like"
                raise sources.error(at, "it has no method", hint)
            self.methods[name] = METHODS[
                known(sources, (*at, "method"), method, METHODS)
            ]
            for output in self.titles(name):
                known(sources, (*at, "titles"), output, self.methods[name].outputs)
            if not self.titles(name):
                raise sources.error(at, "it has no titles", "add titles")
            self._check_options(name)
            self._check_steps(name)

    def _check_steps(self, name: str) -> None:
        """Refuse steps of another method than KerHRM, whose M_c and M_p are jobs."""
        method, ours = self.methods[name], METHODS["kerhrm"]
        same = entry_of(method.train) == entry_of(ours.train) and issubclass(
            method.options, ours.options
        )
        if (
            same
            and method.options.model_fields.keys() == ours.options.model_fields.keys()
        ):
            return
        if self.inherited(name, "steps"):
            problem = f"steps: true needs the method kerhrm; it has {method.name}"
            raise self.sources.error(
                ("learners", name, "steps"), problem, "set steps: false"
            )

    def _check_options(self, name: str) -> None:
        """Refuse options that a learner's method does not take, used or not."""
        learner, at = self.whole.learners[name], ("learners", name)
        tried: list[tuple[Key, Tree]] = [((*at, "options"), learner.options)]
        for number, values in enumerate(learner.candidates):
            tried.append(((*at, "candidates", number), values))
        tried += one_by_one((*at, "grid"), learner.grid)
        for pattern, layer in learner.at.items():
            tried.append(((*at, "at", pattern, "options"), layer.options))
            tried += one_by_one((*at, "at", pattern, "grid"), layer.grid)
        for data, learners in self.whole.selected.items():
            for criterion, values in learners.get(name, {}).items():
                tried.append((("selected", data, name, criterion), values))
        for key, values in tried:
            check_fields(self.sources, self.methods[name].options, key, values)

    def chain(self, name: str) -> Iterator[tuple[str, Learner]]:
        """A learner and those that it is like."""
        seen: list[str] = []
        while name not in seen:
            seen.append(name)
            yield name, (one := self.whole.learners[name])
            if one.like is None:
                return
            name = known(
                self.sources, ("learners", name, "like"), one.like, self.whole.learners
            )
        raise self.sources.error(
            ("learners", name, "like"), "it is like itself", "name another"
        )

    def inherited(self, name: str, key: str, default: Any = None) -> Any:
        """Value of a key of a learner, or of the nearest one that it is like."""
        values = (getattr(one, key) for _, one in self.chain(name))
        return next((value for value in values if value not in (None, {})), default)

    def complements(self, name: str) -> bool:
        """Whether a learner shows the criteria that another one of its title does
        not."""
        return bool(self.inherited(name, "criteria") == "others")

    def titles(self, name: str) -> dict[str, str]:
        """Titles of a learner's outputs."""
        return self.inherited(name, "titles", {})

    def layers(
        self, data: str, setting: str, learner: str
    ) -> Iterator[tuple[Key, Learner | At]]:
        """Where a learner's options on a setting stand, later ones win."""
        for name, one in reversed([*self.chain(learner)]):
            yield ("learners", name), one
            for pattern, at in one.at.items():
                if is_at(f"{data}/{setting}", pattern):
                    yield ("learners", name, "at", pattern), at

    def is_tuned(self, learner: str) -> bool:
        """Whether a learner has candidates."""
        one = self.whole.learners[learner]
        return bool(one.grid or one.candidates)

    def grid(self, data: str, setting: str, learner: str) -> dict[str, list[Any]]:
        """Values that are tried of every option of the grid."""
        grid: dict[str, list[Any]] = {}
        for key, layer in self.layers(data, setting, learner):
            if key[1] == learner:
                grid = layer.grid | {
                    k: v for k, v in grid.items() if k not in layer.grid
                }
        return grid

    def candidates(
        self, data: str, setting: str, learner: str
    ) -> Iterator[tuple[Key, Tree]]:
        """Options that are tried: the given ones, or all combinations of the grid."""
        grid = self.grid(data, setting, learner)
        at: Key = ("learners", learner, "grid" if grid else "candidates")
        if math.prod(map(len, grid.values())) > CANDIDATES:
            problem = f"it has more than {CANDIDATES} combinations"
            raise self.sources.error(at, problem, "shorten its lists")
        products = itertools.product(*grid.values())
        own = self.whole.learners[learner].candidates
        for values in own or (
            dict(zip(grid, values, strict=True)) for values in products
        ):
            yield at, values

    def single(self, data: str, setting: str, learner: str) -> Tree:
        """Options of which the grid has one value, so that no criterion selects it."""
        grid = self.grid(data, setting, learner)
        return {name: values[0] for name, values in grid.items() if len(values) == 1}

    def selected(self, data: str, setting: str, learner: str) -> tuple[Key, Tree]:
        """What each criterion has selected for a setting, and the key of these."""
        source = self.whole.nearest(data, setting, "selected_from")[1] or data
        *_, (first, _) = self.chain(learner)
        entry = self.inherited(learner, "selected", first)
        chosen = self.whole.selected.get(source, {}).get(entry)
        return ("selected", source, entry), chosen or {}

    def keys(
        self, data: str, setting: str, learner: str, criterion: str
    ) -> dict[str, Key]:
        """Key of each option of a learner that is no default of its method.

        As :meth:`cell` puts the options together, of one selection criterion.
        """
        at, chosen = self.selected(data, setting, learner)
        single = self.single(data, setting, learner) if criterion != DEFAULTS else {}
        places: Places = [(("learners", learner, "grid"), single)]
        places.append(((*at, criterion), chosen.get(criterion, {})))
        for key, layer in self.layers(data, setting, learner):
            places.append(((*key, "options"), layer.options))
        return {name: (*key, name) for key, given in places for name in given}

    def cell(self, data: str, setting: str, learner: str, base: Tree) -> Tree:
        """Parameters of a learner on a setting, whose own are ``base``."""
        whole = self.whole
        method, tuned = self.methods[learner], self.is_tuned(learner)
        layers = self.layers(data, setting, learner)
        changes: Places = [((*key, "options"), layer.options) for key, layer in layers]

        def options(selected: tuple[Key, Tree], *candidate: tuple[Key, Tree]) -> Tree:
            places = [selected, *changes, *candidate]
            values = dump(self.sources, method.options, places)
            try:
                method.check(method.options(**values), base["task"])
            except KerhrmError as error:
                name = "loss" if base["task"] in method.tasks else "method"
                key = (*place_of(places, name), name)
                raise self.sources.error(key, error.problem, error.hint) from error
            for name in (
                ("k", "n_environments")
                if method.needs_features
                else ("n_environments",)
            ):
                if max(numbers(values.get(name)), default=0) > (n := base["n_points"]):
                    key, problem = (
                        (*place_of(places, name), name),
                        f"it exceeds n={n} points",
                    )
                    raise self.sources.error(key, problem, "lower it or raise n")
            return values

        at, chosen = self.selected(data, setting, learner)
        missing = None
        if tuned and not chosen and not whole.search:
            missing = f"config/selected/{at[1]}.yaml: it has no options of {at[2]}"
        single = self.single(data, setting, learner)
        chosen = {
            name: single | one
            for name, one in (chosen or {method.criterion: {}}).items()
        }
        names = sorted(chosen, key=lambda criterion: criterion != method.criterion)
        if tuned:
            names.append(DEFAULTS)
        places: Places = [((*at, name), chosen.get(name, {})) for name in names]
        shown = self.inherited(learner, "criteria", "all" if tuned else "own")
        if "own" in (whole.nearest(data, setting, "criteria")[1], shown):
            shown, names = "own", names[:1]
        trials: list[Tree] = []
        shown_at: dict[str, int] = {}
        for name, place in () if whole.search else zip(names, places, strict=False):
            trial = options(place)
            trials += [trial] * (trial not in trials)
            shown_at[name] = trials.index(trial)
        if shown == "others" and len(shown_at) > 1:
            del shown_at[names[0]]
        tuning = whole.data[data].tuning
        if whole.search or (
            tuning and setting in tuning.settings
        ):  # refuse a wrong grid early
            tried = [
                options((at, {}), one)
                for one in self.candidates(data, setting, learner)
            ]
            for trial in tried if whole.search else ():
                trials += [trial] * (trial not in trials)
        steps = bool(self.inherited(learner, "steps"))
        if steps and len(trials) > 1:
            problem = f"{data}/{setting} has {len(trials)} choices of its options, but "
            problem += "jobs of single steps take one"
            key = ("learners", learner, "steps")
            raise self.sources.error(key, problem, "set steps: false")
        ks = [
            k
            for trial in trials
            for k in numbers(trial.get("k"))
            if method.needs_features
        ]
        seeds = whole.seeds(data, setting, learner)
        # those of other packages, whose code M_p runs, too
        penalties = {
            name: entry_of(kind)
            for name, kind in PENALTIES.load().items()
            if any(trial.get("penalty") == name for trial in trials)
        }
        selected = {
            name: {
                option: trials[number][option]
                for option, key in self.keys(data, setting, learner, name).items()
                if key[0] == "selected"
            }
            for name, number in shown_at.items()
        }
        return {
            "method": method.name,
            "selected_on": at[1],
            "selected": selected,
            "entries": {
                "train": entry_of(method.train),
                "options": entry_of(method.options),
            },
            "penalties": penalties,
            "needs_features": method.needs_features,
            "needs_environments": method.needs_environments,
            "criteria": method.criteria,
            "steps": steps,
            "candidates": trials,
            "shown": shown_at,
            "titles": self.titles(learner),
            "missing": missing,
            "k_max": max(ks, default=0),
            **({} if seeds["seeds"] == base["seeds"] else seeds),
        }
