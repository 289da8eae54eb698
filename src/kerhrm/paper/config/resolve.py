"""From the files of ``config/`` to the parameters of every job."""

import fnmatch
import inspect
import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.features.nystroem import NystroemOptions
from kerhrm.methods.inputs import Method
from kerhrm.methods.registry import METHODS
from kerhrm.networks.build import NetworkOptions
from kerhrm.options import Options, suggest
from kerhrm.paper.config import limits
from kerhrm.paper.config.choices import add_choices, describe, label, table_cells
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
                if problem := limits.size(params, self.n_points(params)):
                    raise self.sources.error(("data", name, "options"), *problem)
        keys = ("preset", "results", "raw_dir", "on_missing", "device", "threads")
        options = [m.options for m in METHODS.values()] + [d.options for d in DATA_SETS.values()]
        files = {str(inspect.getfile(o)) for o in options if not o.__module__.startswith("kerhrm.")}
        return {
            **{key: getattr(whole, key) for key in keys},
            "data": data,
            "tables": {} if whole.search else tables,
            "cells": cells,
            "choices": describe(whole),
            "merged": whole.model_dump(mode="json", exclude_unset=True, exclude={"choices"}),
            "plugins": sorted(files),
        }

    # data

    def data_set(self, name: str, one: DataSet) -> Tree:
        """A data set, all its settings, and what a search trains on it."""
        generator, tuning = DATA_SETS[one.generator], None
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
        known = {"title": one.title, "task": generator.task, "raw": generator.raw}
        return {**known, "settings": settings, "tuning": tuning}

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
        lists = [name for name, f in model.model_fields.items() if limits.is_list(f.annotation)]
        values |= {n: [values[n]] for n in lists if limits.is_number(values.get(n))}
        try:
            dumped = model(**values).model_dump(mode="json")
        except ValidationError as error:
            key = next(iter(error.errors()[0]["loc"]), None)
            raise located(self.sources, _place(places, key), error) from error
        for name, value in dumped.items():
            if problem := limits.number(name, value):
                raise self.sources.error((*_place(places, name), name), *problem)
        return dumped

    # learners

    def chain(self, name: str) -> list[tuple[str, Learner]]:
        """A learner and those that it is like, the first of them first."""
        found: dict[str, Learner] = {}
        while name not in found:
            found[name] = one = self.whole.learners[name]
            if one.like is None:
                return list(reversed(found.items()))
            at = (
                (*self.origins[name][:-1], "learner")
                if name in self.origins
                else (("learners", name, "like"))
            )
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
        if math.prod(map(len, grid.values())) > limits.CANDIDATES:
            raise self.sources.error(at, f"it has more than {limits.CANDIDATES} combinations")
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
            if problem := limits.fit(method, values, base["task"], n_points):
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
        ks = [trial.get("k") or 0 for trial in trials] if method.needs_features else [0]
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
            "k_max": max(max(k) if isinstance(k, list) else k for k in ks),
            **(
                {}
                if (seeds := self.seeds(data, setting, learner))["seeds"] == base["seeds"]
                else seeds
            ),
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
            **table.model_dump(include={"title", "about", "notebook", "in_all"}),
            "kind": kind,
            "criteria": table.criteria or ("all" if table.in_all else "own"),
            "outputs": outputs,
            "cells": cells,
            "labels": {place: label(place, one) for place, one in table.settings.items()},
            "marks": {n: m for n, m in (marks | table.marks).items() if m},
        }
