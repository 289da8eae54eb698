"""From the files of ``config/`` to the parameters of every job."""

import fnmatch
import inspect
import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, get_origin

from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.features.nystroem import NystroemOptions
from kerhrm.methods.inputs import Method
from kerhrm.methods.registry import METHODS
from kerhrm.networks.build import NetworkOptions
from kerhrm.options import Options, Task, suggest
from kerhrm.paper.config.choices import add_choices, catalogue, label, table_cells
from kerhrm.paper.config.files import Key, Sources, Tree, merge, read_yaml, shown, text_keys
from kerhrm.paper.config.models import (
    KINDS,
    NOTEBOOKS,
    At,
    DataSet,
    Learner,
    Table,
    Whole,
    check_name,
)
from kerhrm.paper.data.registry import DATA_SETS, RAW

FOLDERS = ("data", "tables", "selected")
CANDIDATES = 1000  #: of a learner
POINTS = 5_000_000  #: training points
KERNEL_POINTS = 30_000  #: of which a machine holds the kernel matrix
#: number in options, else 1e12
LARGEST = {"n_init": 10_000, "widths": 1_000_000}
Places = list[tuple[Key, Tree]]  #: options, and the key where they stand; later ones win


def resolve(overrides: Mapping[str, Any], files: list[Path], folder: Path) -> Tree:
    """Read, merge and validate; return the content of :class:`kerhrm.paper.config.Config`."""
    sources = read_sources(overrides, files, folder)
    try:
        whole = Whole.model_validate(_without_null(sources.tree()))
    except ValidationError as error:
        raise located(sources, (), error) from error
    return _Resolver(sources, whole).content()


def read_sources(overrides: Mapping[str, Any], files: list[Path], folder: Path) -> Sources:
    """Read the files in the order in which they are merged: later ones win.

    ``data/``, ``learners.yaml``, ``tables/``, ``selected/`` and ``choices.yaml``, then
    ``config.yaml``, the preset, further files and the command line.
    """
    extra = [(shown(path), read_yaml(path)) for path in files]
    machine, top = read_yaml(folder / "config.yaml"), text_keys(overrides)
    general = [(shown(folder / "config.yaml"), machine), *extra, ("--config", top)]
    places = {name: folder / name for name in FOLDERS}
    if named := [content["selected_dir"] for _, content in general if content.get("selected_dir")]:
        places["selected"] = Path(str(named[-1])).expanduser()
    sources = Sources()
    for name, place in places.items():
        for path in sorted(place.glob("*.yaml")):
            _check_stem(path)
            sources.add(shown(path), (name, path.stem), read_yaml(path))
    for name in ("learners", "choices"):
        path = folder / f"{name}.yaml"
        if path.exists():
            sources.add(shown(path), (name,), read_yaml(path))
    presets = {path.stem: path for path in (folder / "presets").glob("*.yaml")}
    name, content = [(n, c) for n, c in (general[0], *general) if "preset" in c or c is machine][-1]
    preset = str(content.get("preset", "paper"))
    if preset not in presets:
        error = Sources([(name, (), content)])
        raise error.error(("preset",), "no such preset", suggest(preset, sorted(presets)))
    given = read_yaml(presets[preset])
    if "preset" in given:
        raise KerhrmError(f"{shown(presets[preset])}: preset: a preset names no other one")
    sources.add(general[0][0], (), machine)
    sources.add(shown(presets[preset]), (), given)
    for name, content in general[1:]:
        sources.add(name, (), content)
    return sources


def _check_stem(path: Path) -> None:
    try:
        check_name(path.stem)
    except ValueError as error:
        raise KerhrmError(f"{shown(path)}: {error}", "rename the file") from error


def _without_null(tree: Tree) -> Tree:
    """Leave out entries that a file sets to null: data, learners, tables and their settings."""
    result = dict(tree)
    for group in ("data", "learners", "tables", "choices"):
        if not isinstance(entries := tree.get(group), Mapping):
            continue
        entries = {name: one for name, one in entries.items() if one is not None}
        for name, one in entries.items():
            if isinstance(one, Mapping) and isinstance(one.get("settings"), Mapping):
                settings = {k: v for k, v in one["settings"].items() if v is not None}
                entries[name] = {**one, "settings": settings}
        result[group] = entries
    return result


def located(sources: Sources, above: Key, error: ValidationError) -> KerhrmError:
    """One-line error of a validation below the key ``above``."""
    first = error.errors()[0]
    loc = tuple(part for part in first["loc"] if part != "[key]")
    text = first["msg"].removeprefix("Value error, ").replace("Input should", "must")
    if first["type"] in ("model_type", "dict_type", "model_attributes_type"):
        text = "write 'key: value' lines"
    problem, _, hint = text.partition("; ")
    return sources.error((*above, *loc), problem, hint or None)


def entry_of(thing: Any) -> str:
    """``module:name`` of a function or class, by which a job loads it alone."""
    return f"{thing.__module__}:{thing.__qualname__}"


def _place(places: Places, name: Any) -> Key:
    """The last place that gives a key, else the last one."""
    return ([key for key, given in places if name in given] or [places[-1][0]])[-1]


def _numbers(value: Any) -> list[int | float]:
    """A number, or the numbers of a list."""
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _too_many_points(setting: Tree, n_points: int) -> tuple[str, str] | None:
    """What is wrong with the number of training points, and a hint."""
    if n_points > POINTS:
        return f"n={n_points} training points are more than {POINTS}", "lower n"
    k = setting["k_max"] or 0
    if k > n_points:
        return f"k={k} exceeds the n={n_points} training points", "lower k or raise n"
    if k and not setting["features"] and n_points > KERNEL_POINTS:
        problem = f"n={n_points} training points are too many for a whole kernel matrix"
        return problem, "set features: {n_landmarks: 8000}"
    return None


def _misfit(
    method: Method, options: Tree, task: Task, n_points: int
) -> tuple[str, str, str | None] | None:
    """Key, problem and hint of options that do not fit the data."""
    try:
        method.check(method.options(**options), task)
    except KerhrmError as error:
        return "loss" if task in method.tasks else "method", error.problem, error.hint
    k = max(_numbers(options.get("k")), default=0) if method.needs_features else 0
    n_environments = options.get("n_environments", 1)
    for name, short, size in (("k", "k", k), ("n_environments", "K", n_environments)):
        if size > n_points:
            problem = f"{short}={size} exceeds the n={n_points} training points"
            return name, problem, f"lower {short} or raise n"
    return None


class _Resolver:
    """The validated files, and what they say of one cell after the other."""

    def __init__(self, sources: Sources, whole: Whole) -> None:
        self.sources, self.whole = sources, whole
        for name, one in whole.data.items():
            self.known(("data", name, "generator"), one.generator, DATA_SETS)
        for name, table in whole.tables.items():
            for place in table.settings:
                (data, setting), key = place.split("/"), ("tables", name, "settings", place)
                self.known(key, data, whole.data)
                self.known(key, setting, whole.data[data].settings)
        try:
            self.origins = add_choices(whole)
        except ValueError as error:
            raise sources.error(error.args[1], error.args[0], "rename one of them") from error
        for name in whole.learners:
            self.titles(name)

    def known(self, key: Key, name: str, names: Collection[str]) -> str:
        """A name; an error suggests another one if it is not among the known ones."""
        if name not in names:
            raise self.sources.error(key, f"there is no '{name}'", suggest(str(name), names))
        return name

    def content(self) -> Tree:
        """Everything that :class:`kerhrm.paper.config.Config` holds."""
        whole = self.whole
        tables = {name: self.table(name, table) for name, table in whole.tables.items()}
        data = {name: self.data_set(name, one) for name, one in whole.data.items()}
        outputs: dict[tuple[str, str, str], set[str]] = {}
        if whole.search:
            for name, one in data.items():
                search = one["tuning"] or {"settings": [], "learners": []}
                for setting, learner in itertools.product(search["settings"], search["learners"]):
                    outputs[name, setting, learner] = set(self.titles(learner))
        for table in () if whole.search else tables.values():
            for cell in table["cells"]:
                outputs.setdefault(cell, set()).update(table["outputs"][cell[2]])
        cells = {}
        for cell, made in outputs.items():
            setting = data[cell[0]]["settings"][cell[1]]
            cells["/".join(cell)] = one = self.cell(*cell, setting)
            one["titles"] = {o: title for o, title in one["titles"].items() if o in made}
            setting["k_max"] = max(setting["k_max"] or 0, one.pop("k_max")) or None
        for name, one in data.items():
            for params in one["settings"].values():
                if problem := _too_many_points(params, self.n_points(params)):
                    raise self.sources.error(("data", name, "options"), *problem)
        keys = ("preset", "results", "raw_dir", "on_missing", "device", "threads")
        options = [m.options for m in METHODS.values()] + [d.options for d in DATA_SETS.values()]
        files = {str(inspect.getfile(o)) for o in options if not o.__module__.startswith("kerhrm.")}
        return {
            **{key: getattr(whole, key) for key in keys},
            "data": data,
            "tables": {} if whole.search else tables,
            "cells": cells,
            "choices": catalogue(whole),
            "merged": whole.model_dump(mode="json", exclude_unset=True, exclude={"choices"}),
            "plugins": sorted(files),
        }

    # data

    def data_set(self, name: str, one: DataSet) -> Tree:
        """A data set, all its settings, and what a search trains on it."""
        tuning = None
        if one.tuning:
            every = sorted(self.whole.tables.values(), key=lambda t: not t.in_all)
            shown = [(t.in_all, c) for t in every for c in table_cells(t) if c[0] == name]
            cells = [c for in_all, c in shown if in_all == shown[0][0]]  # of `all`, if it is there
            learners = dict.fromkeys(c[2] for c in cells if c[1] in one.tuning.settings)
            tuning = {
                "settings": one.tuning.settings,
                "learners": [learner for learner in learners if self.is_tuned(learner)],
                "seeds": one.tuning.seeds.data,
            }
        settings = {setting: self.setting(name, setting) for setting in one.settings}
        return {"settings": settings, "tuning": tuning}

    def setting(self, data: str, name: str) -> Tree:
        """Parameters of a setting."""
        one, at = self.whole.data[data], ("data", data, "settings", name)
        setting, generator = one.settings[name], DATA_SETS[one.generator]
        changed = self.origins.get(f"{data}/{name}", at)
        options: Places = [(("data", data, "options"), one.options)]
        options += [((*at, "options") if changed == at else changed, setting.options)]
        network: Places = [(("data", data, "network"), one.network or {})]
        if setting.network:
            network = [((*at, "network") if changed == at else changed, setting.network)]
        own = setting.features is not None
        features = setting.features if own else one.features
        features_at: Key = (*at, "features") if own else ("data", data, "features")
        return {
            "generator": one.generator,
            "options": self.dump(generator.options, options),
            **self.seeds(data, name),
            "network": self.dump(NetworkOptions, network),
            "features": features and self.dump(NystroemOptions, [(features_at, features)]),
            "k_max": None,
            "task": generator.task,
            "raw": generator.raw,
            "data_entries": {
                "generate": entry_of(generator.generate),
                "options": entry_of(generator.options),
                "raw": entry_of(RAW[generator.raw]) if generator.raw else None,
            },
        }

    def seeds(self, data: str, name: str, learner: str | None = None) -> Tree:
        """Seeds and replicates of a setting, or of a learner in it."""
        one, setting = self.whole.data[data], self.whole.data[data].settings[name]
        seeds, more = setting.seeds or one.seeds, setting.more_seeds or one.more_seeds
        if more and (learner is None or learner in more.learners):
            seeds = more.seeds
        seeds = seeds.shifted(self.whole.seed_offset)
        if self.whole.search and one.tuning:
            seeds = one.tuning.seeds
        return {"seeds": seeds.model_dump(), "replicates": seeds.names}

    def n_points(self, setting: Tree) -> int:
        """Number of training points."""
        options: Any = DATA_SETS[setting["generator"]].options(**setting["options"])
        return options.n_points

    def dump(self, model: type[Options], places: Places) -> Tree:
        """Options with their defaults; an error names the file of the last place with the key."""
        values: Tree = {}
        for _, given in places:
            values = merge(values, given)
        for name, field in model.model_fields.items():
            if get_origin(field.annotation) is list and _numbers(values.get(name)):
                values[name] = _numbers(values[name])
        try:
            dumped = model(**values).model_dump(mode="json")
        except ValidationError as error:
            key = next(iter(error.errors()[0]["loc"]), None)
            raise located(self.sources, _place(places, key), error) from error
        for name, value in dumped.items():
            limit = LARGEST.get(name, 1e12)
            if too_large := [number for number in _numbers(value) if abs(number) > limit]:
                at = (*_place(places, name), name)
                problem = f"{too_large[0]:g} is larger than {limit:g}"
                raise self.sources.error(at, problem, "write a smaller number")
        return dumped

    # learners

    def chain(self, name: str) -> list[tuple[str, Learner]]:
        """A learner and those that it is like, the first of them first."""
        found: dict[str, Learner] = {}
        while name not in found:
            found[name] = one = self.whole.learners[name]
            if one.like is None:
                return list(reversed(found.items()))
            at: Key = ("learners", name, "like")
            if name in self.origins:
                at = (*self.origins[name][:-1], "learner")
            name = self.known(at, one.like, self.whole.learners)
        raise self.sources.error(("learners", name, "like"), "it is like itself")

    def inherited(self, name: str, key: str) -> Any:
        """Value of a key of a learner, or of the nearest one that it is like."""
        values = [getattr(one, key) for _, one in self.chain(name)]
        return next((v for v in reversed(values) if v not in (None, {}, [])), None)

    def method(self, name: str) -> Method:
        """Method of a learner."""
        method = self.inherited(name, "method")
        if method is None:
            raise self.sources.error(("learners", name), "it has no method", "add method or like")
        return METHODS[self.known(("learners", name, "method"), method, METHODS)]

    def titles(self, name: str) -> dict[str, str]:
        """Titles of a learner's outputs."""
        titles = self.inherited(name, "titles") or {}
        for output in titles:
            self.known(("learners", name, "titles"), output, self.method(name).outputs)
        if not titles:
            raise self.sources.error(("learners", name), "it has no titles", "add titles")
        return titles

    def layers(self, data: str, setting: str, learner: str) -> Iterator[tuple[Key, Learner | At]]:
        """Where a learner's options on a setting stand, later ones win."""
        for name, one in self.chain(learner):
            yield ("learners", name), one
            for pattern, at in one.at.items():
                whole = pattern if "/" in pattern else f"{pattern}/*"
                if fnmatch.fnmatchcase(f"{data}/{setting}", whole):
                    yield ("learners", name, "at", pattern), at

    def is_tuned(self, learner: str) -> bool:
        """Whether a learner has candidates."""
        one = self.whole.learners[learner]
        return bool(one.grid or one.candidates)

    def candidates(self, data: str, setting: str, learner: str) -> Iterator[tuple[Key, Tree]]:
        """Options that are tried: the given ones, or all combinations of the grid."""
        grid: dict[str, list[Any]] = {}
        for key, layer in self.layers(data, setting, learner):
            if key[1] == learner:
                grid = layer.grid | {k: v for k, v in grid.items() if k not in layer.grid}
        at: Key = ("learners", learner, "grid" if grid else "candidates")
        if math.prod(map(len, grid.values())) > CANDIDATES:
            raise self.sources.error(at, f"it has more than {CANDIDATES} combinations")
        products = itertools.product(*grid.values())
        own = self.whole.learners[learner].candidates
        for values in own or (dict(zip(grid, values, strict=True)) for values in products):
            yield at, values

    def cell(self, data: str, setting: str, learner: str, base: Tree) -> Tree:
        """Parameters of a learner on a setting."""
        one, own = self.whole.data[data], self.whole.data[data].settings[setting]
        method, tuned, n_points = self.method(learner), self.is_tuned(learner), self.n_points(base)
        changes: Places = [
            (self.origins.get(key[-1], (*key, "options")), layer.options)
            for key, layer in self.layers(data, setting, learner)
        ]

        def options(selected: tuple[Key, Tree], *candidate: tuple[Key, Tree]) -> Tree:
            places = [selected, *changes, *candidate]
            values = self.dump(method.options, places)
            if problem := _misfit(method, values, base["task"], n_points):
                raise self.sources.error((*_place(places, problem[0]), problem[0]), *problem[1:])
            return values

        source = own.selected_from or one.selected_from or data
        entry = self.inherited(learner, "selected") or self.chain(learner)[0][0]
        chosen = self.whole.selected.get(source, {}).get(entry)
        missing = None
        if tuned and not chosen and not self.whole.search:
            missing = f"config/selected/{source}.yaml: it has no options of {entry}"
        criteria = self.inherited(learner, "criteria") or ("all" if tuned else "own")
        if "own" in (own.criteria or one.criteria, criteria):
            criteria = "own"
        trials: list[Tree] = []
        shown_at: dict[str, int] = {}
        chosen = chosen or {method.criterion: {}}
        first = min(chosen, key=lambda criterion: criterion != method.criterion)
        places: Places = [(("selected", source, entry, name), chosen[name]) for name in chosen]
        places.sort(key=lambda place: place[0][-1] != first)
        for place in () if self.whole.search else places[: 1 if criteria == "own" else None]:
            trial = options(place)
            trials += [trial] * (trial not in trials)
            shown_at[place[0][-1]] = trials.index(trial)
        if criteria == "others" and len(shown_at) > 1:
            del shown_at[first]
        searched = one.tuning is not None and setting in one.tuning.settings
        oracle = tuned and searched and criteria != "own" and not self.whole.search
        if oracle or self.whole.search:
            for candidate in self.candidates(data, setting, learner):
                trial = options(places[0], candidate)
                trials += [trial] * (trial not in trials)
        ks = [k for trial in trials for k in _numbers(trial.get("k")) if method.needs_features]
        seeds = self.seeds(data, setting, learner)
        return {
            "method": method.name,
            "entries": {"train": entry_of(method.train), "options": entry_of(method.options)},
            "needs_features": method.needs_features,
            "needs_environments": method.needs_environments,
            "criteria": method.criteria,
            "steps": bool(self.inherited(learner, "steps")),
            "candidates": trials,
            "shown": shown_at,
            "oracle": oracle,
            "titles": self.titles(learner),
            "missing": missing,
            "k_max": max(ks, default=0),
            **({} if seeds["seeds"] == base["seeds"] else seeds),
        }

    # tables

    def table(self, name: str, table: Table) -> Tree:
        """Content of a table."""
        at, cells = ("tables", name), table_cells(table)
        for *_, learner in cells:
            self.known((*at, "learners"), learner, self.whole.learners)
        tasks = {DATA_SETS[self.whole.data[data].generator].task for data, *_ in cells}
        if len(tasks) != 1:
            problem = "it mixes classification and regression" if cells else "it has no learners"
            raise self.sources.error((*at, "settings"), problem)
        kinds = KINDS[tasks.pop()]
        kind = self.known((*at, "kind"), table.kind or kinds[0], kinds)
        if NOTEBOOKS[table.notebook] not in (None, kind):
            problem = f"it shows tables of the kind {NOTEBOOKS[table.notebook]}"
            raise self.sources.error((*at, "notebook"), problem, "use table")
        outputs = {}
        for learner in dict.fromkeys(learner for *_, learner in cells):
            given = [o for p, o in table.outputs.items() if fnmatch.fnmatchcase(learner, p)]
            outputs[learner] = [o for o in self.titles(learner) if not given or o in given[-1]]
            if not outputs[learner]:
                raise self.sources.error((*at, "outputs"), f"none is an output of {learner}")
        marks = {learner: self.whole.learners[learner].mark for *_, learner in cells}
        return {
            **table.model_dump(include={"title", "notebook", "in_all"}),
            "kind": kind,
            "criteria": table.criteria or ("all" if table.in_all else "own"),
            "outputs": outputs,
            "cells": cells,
            "labels": {place: label(place, one) for place, one in table.settings.items()},
            "marks": {n: m for n, m in (marks | table.marks).items() if m},
        }
