"""The options of a run's cells: every value in force, and where it stands."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.paper.config.choices import add_choices
from kerhrm.paper.config.config import Config
from kerhrm.paper.config.files import ABSENT, Key, Sources, read_sources
from kerhrm.paper.config.models import Whole
from kerhrm.paper.config.resolve import Resolver
from kerhrm.paper.reporting.run import Run
from kerhrm.paper.runs import provenance
from kerhrm.paper.runs.arrays import load_arrays

#: keys of a run's configuration that say where it ran, not what
ELSEWHERE = ("preset", "results", "raw_dir")
#: keys of the configuration that are no data set's and no learner's
GENERAL = ("device", "threads", "on_missing", "seed_offset")
Tree = dict[str, Any]


class RunOptions:
    """The configuration that a run has written, resolved again.

    Parameters
    ----------
    run : Run
        Whose ``config.yaml`` is read.
    root : path
        The checkout, in whose files values are looked up.

    Raises
    ------
    KerhrmError
        If this version cannot read the configuration.
    """

    def __init__(self, run: Run, root: Path = Path()) -> None:
        self.run = run
        self.tree = _known(run, {k: v for k, v in run.config.items() if k != "mark"})
        self.sources = Sources([(str(run.folder / "config.yaml"), (), self.tree)])
        self.whole = Whole.model_validate(self.tree)
        self.resolver = Resolver(self.sources, self.whole)
        self.config = Config(self.resolver.content())
        self.files = _files(run.preset(), root)

    def setting(self, table: str, data: str, text: str, learner: str) -> str:
        """Name of the setting of a cell whose column ``setting`` has a text.

        A part of a setting, as a period or an iteration, stands there with the
        setting's mark.
        """
        shown = self.config.tables.get(table)
        cells = shown.cells if shown else []
        labels = {
            cell[1]: shown.label(data, cell[1], learner or None)
            for cell in cells
            if shown and cell[0] == data and learner in ("", cell[2])
        }
        exact = [name for name, label in labels.items() if label == text]
        mark = text.partition(",")[1:]
        parts = [name for name, one in labels.items() if one.partition(",")[1:] == mark]
        if not exact + parts:
            problem = f"{self.run.folder}/config.yaml has no such cell of {table}"
            raise KerhrmError(problem, "the table was published from another run")
        return (exact + parts)[0]

    def of_data(self, data: str, setting: str) -> dict[str, Tree]:
        """Options of the run, the seeds, the generator, the network and the features of
        a setting."""
        params = self.config.params(data, setting)
        general = {name: getattr(self.whole, name) for name in GENERAL}
        keys = {name: (name,) for name in general if name in self.tree}
        seeds, _ = self.whole.nearest(data, setting, "seeds")
        replicates = {"seeds": params["replicates"]}
        at = ("data", data, "settings", setting)
        places = [("data", data, "options"), (*at, "options")]
        default = f"default of the data set {params['generator']}"
        found = {
            "run": self._described(general, keys, "default"),
            "seeds": self._described(replicates, {"seeds": seeds}, "default"),
            "data": self._described(params["options"], self._keys(places), default),
        }
        for part in ("network", "features"):
            key, given = self.whole.nearest(data, setting, part)
            keys = {name: (*key, name) for name in given or {}}
            values = params[part]
            found[part] = self._described(values or {}, keys, f"default of the {part}")
        return found

    def of_learner(
        self, table: str, data: str, setting: str, learner: str, criterion: str
    ) -> Tree:
        """Options of a learner, as a criterion has selected them.

        What the job that scored it has noted counts, where a note is there.
        """
        params = self.config.params(data, setting, learner)
        keys = self.resolver.learners.keys(data, setting, learner, criterion)
        default = f"default of the method {params['method']}"
        values = params["candidates"][params["shown"].get(criterion, 0)]
        found = self._described(values, keys, default)
        if cell := self._noted(table, data, setting, learner):
            used = cell["candidates"][cell["shown"].get(criterion, 0)]
            noted_only = {"from": "noted by the run; this version has another value"}
            found = {
                name: found[name]
                if name in found and found[name]["value"] == value
                else {"value": value} | noted_only
                for name, value in used.items()
            }
        return found

    def chosen(
        self, table: str, data: str, setting: str, learner: str, criterion: str
    ) -> list[dict[str, float]]:
        """What a learner's own rule has chosen on each seed; none without predictions.

        Of the candidate that a criterion has selected.
        """
        name = f"{data}/{setting}/{learner}/predictions.npz"
        if not self.run.has(name):
            return []
        cell = self._noted(table, data, setting, learner)
        shown = (cell or self.config.params(data, setting, learner))["shown"]
        number = shown.get(criterion, 0)
        arrays, _ = load_arrays(self.run.folder / name)
        values = {
            key.partition("/")[2]: array[:, number].tolist()
            for key, array in arrays.items()
            if key.startswith("chosen/") and number < array.shape[1]
        }
        rows = zip(*values.values(), strict=True)
        return [dict(zip(values, row, strict=True)) for row in rows]

    def _noted(self, table: str, data: str, setting: str, learner: str) -> Tree:
        """Parameters of a cell that the job which scored it has noted."""
        record = provenance.read(self.run.folder, f"scores/{table}.csv.gz") or {}
        cells = record.get("params", {}).get("cells", {})
        return cells.get(f"{data}/{setting}/{learner}", {})

    def command(self, table: str, data: str, setting: str, learner: str) -> str:
        """The command that makes a cell's table as the run has it.

        Values that the checkout's files do not have follow ``--config``.
        """
        preset, folder = self.run.preset(table), self.run.folder
        options = {"preset": preset}
        if folder.name == preset and str(folder.parent) != "results":
            options["results"] = str(folder.parent)
        changes: Tree = {}
        for key in self._keys_of_cell(table, data, setting, learner):
            own = _get(self.files.tree(), key) if self.files else ABSENT
            change = _beyond(_get(self.tree, key), own)
            if self.files and change is not ABSENT:
                _put(changes, key, change)
        given = {name: json.dumps(value) for name, value in changes.items()}
        words = [f"{name}={text}" for name, text in (options | given).items()]
        return shlex.join(["snakemake", "--cores", "2", table, "--config", *words])

    def _keys_of_cell(
        self, table: str, data: str, setting: str, learner: str
    ) -> Iterator[Key]:
        """Keys of the configuration on which a cell of a table depends."""
        for key, value in self.tree.items():
            if not isinstance(value, dict) and key not in ELSEWHERE:
                yield (key,)
        yield ("tables", table)
        for name in self.tree["data"][data]:
            if name != "settings":
                yield ("data", data, name)
        yield ("data", data, "settings", setting)
        if learner:
            learners = self.resolver.learners
            for name, _ in learners.chain(learner):
                yield ("learners", name)
            yield learners.selected(data, setting, learner)[0]

    def _keys(self, places: Iterable[Key]) -> dict[str, Key]:
        """Key of each option in some places; later ones win."""
        trees = ((key, _get(self.tree, key)) for key in places)
        return {name: (*k, name) for k, t in trees if isinstance(t, dict) for name in t}

    def _described(self, values: Tree, keys: Mapping[str, Key], default: str) -> Tree:
        """Values, each with where it stands."""
        return {
            name: {
                "value": value,
                "from": self._origin(keys[name]) if name in keys else default,
            }
            for name, value in values.items()
        }

    def _origin(self, key: Key) -> str:
        """File and key of a value; the command line, if no file has it."""
        what = "selected: " if key[0] == "selected" else ""
        file, place = "config.yaml of the run", ()
        if self.files and _get(self.files.tree(), key) == _get(self.tree, key):
            file, place, _ = self.files.find(key)
        elif self.files:
            file = "--config or --configfile"
        return f"{what}{file}: {'.'.join(map(str, key[len(place) :]))}"


def _known(run: Run, tree: Tree) -> Tree:
    """The configuration without the keys that only an earlier version knew."""
    tree = json.loads(json.dumps(tree, default=str))
    tree.pop("raw_dir", None)  # the folder need not be here
    while True:
        try:
            Whole.model_validate(tree)
        except ValidationError as error:
            first = error.errors()[0]
            above = _get(tree, first["loc"][:-1])
            if "no such key" not in first["msg"] or not isinstance(above, dict):
                problem = f"{run.folder}/config.yaml is of another version"
                hint = f"git checkout the commit that made it ({first['msg']})"
                raise KerhrmError(problem, hint) from error
            del above[first["loc"][-1]]
            continue
        return tree


def _files(preset: str, root: Path) -> Sources | None:
    """The files of a checkout at a preset, choices included; None: it has none."""
    try:
        sources = read_sources({"preset": preset}, [], root / "config")
        add_choices(sources, Whole.model_validate(sources.tree()))
    except (KerhrmError, ValidationError):
        return None
    return sources


def _get(tree: Any, key: Iterable[Any]) -> Any:
    for part in key:
        if not isinstance(tree, dict) or part not in tree:
            return ABSENT
        tree = tree[part]
    return tree


def _put(tree: Tree, key: Key, value: Any) -> None:
    for part in key[:-1]:
        tree = tree.setdefault(part, {})
    tree[key[-1]] = value


def _beyond(value: Any, base: Any) -> Any:
    """What a value says that another one does not; ABSENT: nothing."""
    if not isinstance(value, dict) or not isinstance(base, dict):
        return ABSENT if value == base else value
    every = {key: _beyond(one, base.get(key, ABSENT)) for key, one in value.items()}
    return {k: one for k, one in every.items() if one is not ABSENT} or ABSENT
