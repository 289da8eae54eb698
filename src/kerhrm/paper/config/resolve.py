"""From the files of ``config/`` to the parameters of every job."""

import fnmatch
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError
from kerhrm.features.options import NystroemOptions
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.paper.config import strict_yaml
from kerhrm.paper.config.causes import cause, leaves
from kerhrm.paper.config.choices import add_choices
from kerhrm.paper.config.fields import Cell
from kerhrm.paper.config.files import Key, Sources, Tree, read_sources
from kerhrm.paper.config.learners import KERNEL_POINTS, Learners
from kerhrm.paper.config.models import KINDS, DataSet, Table, Whole
from kerhrm.paper.config.names import check_names, check_shown, check_used, context
from kerhrm.paper.config.options import check_fields, dump, entry_of, known
from kerhrm.paper.config.rows import check_alternatives, check_rows, check_titles
from kerhrm.paper.data.registry import DATA_SETS, RAW

FULL = ("paper", "fresh")  #: presets of the published sizes and options
SHOWN = 3  #: changed options that a mark names


def resolve(overrides: Mapping[str, Any], files: list[Path], folder: Path) -> Tree:
    """Read, merge and validate.

    Return the content of :class:`kerhrm.paper.config.Config`.
    """
    for registry in (METHODS, PENALTIES, DATA_SETS):
        registry.load()  # a package that is broken is reported now, not in a job
    sources = read_sources(overrides, files, folder)
    layers = list(sources.layers)
    try:
        return _resolved(sources, folder)
    except KerhrmError as error:
        names = [*map(strict_yaml.shown, files), "--config"]
        raise cause(error, layers, names, lambda s: _resolved(s, folder)) from error


def _resolved(sources: Sources, folder: Path) -> Tree:
    """What files that are read already say, validated."""
    written = _validated(sources)
    add_choices(sources, written)
    whole = _validated(sources, context(sources, written))
    check_names(sources, whole, folder.parent)
    check_shown(sources, whole)
    check_used(sources, whole)
    check_titles(sources, whole)
    check_alternatives(sources, whole)
    return Resolver(sources, whole).content()


def mark(preset: str, changes: Tree, harmless: tuple[str, ...]) -> str:
    """What every table, figure and page of a run carries that is not of the published
    options.

    ``changes`` is what the command line and further files say, of which some keys are
    harmless.
    """
    words = [] if preset in FULL else [f"{preset} sizes"]
    keys = [key for key in leaves(changes) if key.split(".")[0] not in harmless]
    if keys:
        more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
        words.append(
            f"options differ from the published: {', '.join(keys[:SHOWN])}{more}"
        )
    return "; ".join(words)


def _validated(sources: Sources, names: dict[str, list[str]] | None = None) -> Whole:
    """The files, and the data sets and settings that they name are there.

    ``names`` are those that other keys and patterns may refer to.
    """
    try:
        whole = Whole.model_validate(sources.tree(), context=names)
    except ValidationError as error:
        raise sources.invalid((), error) from error
    for name, one in whole.data.items():
        known(sources, ("data", name, "generator"), one.generator, DATA_SETS)
        for setting in one.tuning.settings if one.tuning else ():
            known(sources, ("data", name, "tuning", "settings"), setting, one.settings)
    for name, table in whole.tables.items():
        for place in table.settings:
            (data, setting), key = place.split("/"), ("tables", name, "settings", place)
            known(sources, key, data, whole.data)
            if "*" in setting and setting not in whole.data[data].settings:
                hint = f"list its settings: [{data}/SETTING, ...]"
                raise sources.error(key, "a table takes no pattern here", hint)
            known(sources, key, setting, whole.data[data].settings)
    return whole


class Resolver:
    """The validated files, and what they say of one cell after the other."""

    def __init__(self, sources: Sources, whole: Whole) -> None:
        self.sources, self.whole = sources, whole
        self.learners = Learners(sources, whole)

    def content(self) -> Tree:
        """Everything that :class:`kerhrm.paper.config.Config` holds."""
        whole = self.whole
        tables = {name: self.table(name, table) for name, table in whole.tables.items()}
        data = {name: self.data_set(name, one) for name, one in whole.data.items()}
        outputs: dict[Cell, set[str]] = {}
        if whole.search:
            tables = {}
            for name, one in data.items():
                search = one["tuning"] or {"settings": [], "learners": []}
                for setting, learner in itertools.product(
                    search["settings"], search["learners"]
                ):
                    outputs[name, setting, learner] = set(self.learners.titles(learner))
        for table in tables.values():
            for cell in table["cells"]:
                outputs.setdefault(cell, set()).update(table["outputs"][cell[2]])
        cells = {}
        for cell, made in outputs.items():
            setting = data[cell[0]]["settings"][cell[1]]
            cells["/".join(cell)] = one = self.learners.cell(*cell, setting)
            one["titles"] = {
                o: title for o, title in one["titles"].items() if o in made
            }
            setting["k_max"] = max(setting["k_max"] or 0, one.pop("k_max")) or None
        for name, one in data.items():
            for params in one["settings"].values():
                whole_kernel = params["k_max"] is not None and not params["features"]
                if whole_kernel and (n := params["n_points"]) > KERNEL_POINTS:
                    problem = (
                        f"n={n} training points are too many for a whole kernel matrix"
                    )
                    hint = "set features: {n_landmarks: 8000}"
                    raise self.sources.error(("data", name, "options"), problem, hint)
        resolved = {"data": data, "tables": tables, "cells": cells}
        check_rows(self.sources, resolved, self.learners.complements)
        keys = ("preset", "results", "raw_dir", "on_missing", "device", "threads")
        return {
            **{key: getattr(whole, key) for key in keys},
            "mark": mark(whole.preset, self.sources.changes, keys),
            "own_table": self.sources.own_table,
            **resolved,
            "choices": {
                name: [
                    {**one.model_dump(), "name": one.name}
                    for one in choice.alternatives
                ]
                for name, choice in whole.choices.items()
            },
            "choice_tables": [n for n, table in whole.tables.items() if table.choices],
            "merged": {
                k: one for k, one in self.sources.tree().items() if k != "choices"
            },
        }

    def data_set(self, name: str, one: DataSet) -> Tree:
        """A data set, all its settings, and what a search trains on it."""
        tuning = None
        if one.tuning:
            every = sorted(self.whole.tables.values(), key=lambda t: not t.in_all)
            shown = [(t.in_all, c) for t in every for c in t.cells if c[0] == name]
            # of `all`, if it is there
            cells = [c for in_all, c in shown if in_all == shown[0][0]]
            learners = dict.fromkeys(c[2] for c in cells if c[1] in one.tuning.settings)
            tuning = {
                "settings": one.tuning.settings,
                "learners": [
                    learner for learner in learners if self.learners.is_tuned(learner)
                ],
                "seeds": [data for data, *_ in one.tuning.seeds],
            }
        place = ("data", name, "options")
        check_fields(self.sources, DATA_SETS[one.generator].options, place, one.options)
        settings = {setting: self.setting(name, setting) for setting in one.settings}
        return {"settings": settings, "tuning": tuning}

    def setting(self, data: str, name: str) -> Tree:
        """Parameters of a setting."""
        one, setting = self.whole.data[data], self.whole.data[data].settings[name]
        generator = DATA_SETS[one.generator]
        options: list[Any] = [(("data", data, "options"), one.options)]
        options += [(("data", data, "settings", name, "options"), setting.options)]
        values = dump(self.sources, generator.options, options)
        network, features = (
            self.whole.nearest(data, name, f) for f in ("network", "features")
        )
        (_, seeds), (key, more) = (
            self.whole.nearest(data, name, f) for f in ("seeds", "more_seeds")
        )
        if more and more.seeds[: len(seeds)] != seeds:
            problem = f"its first seeds must be those of {data}/{name}"
            raise self.sources.error((*key, "seeds"), problem, "add others behind them")
        known_options: Any = generator.options(**values)
        architecture = dump(
            self.sources, NetworkOptions, [(network[0], network[1] or {})]
        )
        self._check_network(network[0])
        return {
            "generator": one.generator,
            "options": values,
            "n_points": known_options.n_points,
            **self.whole.seeds(data, name),
            "network": architecture,
            "features": features[1] and dump(self.sources, NystroemOptions, [features]),
            "k_max": None,
            "task": generator.task,
            "raw": generator.raw,
            "data_entries": {
                "generate": entry_of(generator.generate),
                "options": entry_of(generator.options),
                "raw": entry_of(RAW[generator.raw]) if generator.raw else None,
            },
        }

    def _check_network(self, key: Key) -> None:
        """Refuse widths that come with a module, or after it, and have no effect.

        A preset's widths are those of all runs of its size, and a module may replace
        them.
        """
        module, idle = None, False
        for name, place, content in self.sources.layers:
            given = Sources([(name, place, content)]).find(key)[2]
            if not isinstance(given, Mapping):
                continue
            if "module" in given:
                module, idle = given["module"], False
            if "widths" in given:
                idle = idle or "module" in given or Path(name).parent.name != "presets"
        if module is not None and idle:
            problem = f"the module {module} has widths of its own"
            hint = "leave widths out, or set module: null"
            raise self.sources.error((*key, "widths"), problem, hint)

    def table(self, name: str, table: Table) -> Tree:
        """Content of a table."""
        at, cells = ("tables", name), table.cells
        for *_, learner in cells:
            known(self.sources, (*at, "learners"), learner, self.whole.learners)
        tasks = {DATA_SETS[self.whole.data[data].generator].task for data, *_ in cells}
        if len(tasks) != 1:
            problem = (
                "it mixes classification and regression"
                if cells
                else "it has no learners"
            )
            raise self.sources.error(
                (*at, "settings"), problem, "split it, or add learners"
            )
        kinds = KINDS[tasks.pop()]
        kind = known(self.sources, (*at, "kind"), table.kind or kinds[0], kinds)
        outputs = self.outputs((*at, "outputs"), table)
        marks = {learner: self.whole.learners[learner].mark for *_, learner in cells}
        return {
            **table.model_dump(include={"title", "in_all"}),
            "kind": kind,
            "criteria": "all" if table.in_all else "own",
            "outputs": outputs,
            "cells": cells,
            "labels": table.labels,
            "marks": {n: m for n, m in (marks | table.marks).items() if m},
        }

    def outputs(self, key: Key, table: Table) -> dict[str, list[str]]:
        """Outputs that a table shows, by learner."""
        for pattern, named in table.outputs.items():
            fitting = fnmatch.filter(self.whole.learners, pattern)
            made = {o: None for name in fitting for o in self.learners.titles(name)}
            for output in named if fitting else ():
                known(self.sources, (*key, pattern), output, made)
        shown = {}
        for learner in dict.fromkeys(learner for *_, learner in table.cells):
            lists = [
                outputs
                for pattern, outputs in table.outputs.items()
                if fnmatch.fnmatchcase(learner, pattern)
            ]
            titles = self.learners.titles(learner)
            shown[learner] = [o for o in titles if not lists or o in lists[-1]]
            if not shown[learner]:
                problem = f"none is an output of {learner}"
                hint = f"use some of {', '.join(titles)}"
                raise self.sources.error(key, problem, hint)
        return shown
