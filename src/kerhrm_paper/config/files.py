"""The configuration's files, merged so that every key knows the file it comes from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.options import suggest, worded
from kerhrm_paper.config.fields import check_name, closest
from kerhrm_paper.config.spelling import RENAMED
from kerhrm_paper.config.strict_yaml import OWN_KEYS, merge, shown
from kerhrm_paper.config.strict_yaml import Tree as Tree
from kerhrm_paper.config.strict_yaml import read_yaml as read_yaml

Key = tuple[Any, ...]  #: path from the top of a tree to a value
ABSENT: Any = object()
#: parts of the place of a pydantic error that stand in no file
NO_KEYS = ("[key]", "[number]", "[map]")
#: keys that may be taken for keys of the whole configuration, and where they stand in
#: a data set
OF_DATA: dict[str, Key] = {
    name: (name,) for name in ("seeds", "network", "features", "generator")
}
OF_DATA |= {"n_seeds": ("seeds",)}
OF_DATA |= {name: ("network", name) for name in ("widths", "module")}
#: keys of earlier versions, and what takes their place
ENDED = {
    "like": "name the options: LEARNER+option=value in a table or a path",
    "mark": "name the options; labels: {option: SYMBOL} changes what tables show",
    "marks": "labels: {option: SYMBOL} says what tables show",
    "steps": "write checkpoint_iterations: true",
    "criteria": "write select: [own, pooled, oracle, none] in the table",
    "selected": "name it: LEARNER+select=none, or LEARNER+select_on=DATA",
    "selected_from": "write select_on: DATA",
    "settings": "name the data: DATA+option=value",
    "more_seeds": "write seeds: {DATA: 5, DATA/LEARNER: 20}",
    "n_seeds": "write seeds: NUMBER",
    "set": "name it: learner: LEARNER+option=value",
    "candidates": "write it in learners.yaml: LEARNER: {candidates: [...]}",
}
#: keys whose keys are options, or values of some
OF_OPTIONS = ("options", "network", "features", "grid", "candidates")
#: keys of those that mean something else at the top of a file
OTHERWISE = (*OF_DATA, "steps", "set")


class PlacedError(KerhrmError):
    """An error that names the file and the key that it comes from."""


@dataclass
class Sources:
    """Files in the order in which they are merged, each with its place in the whole
    tree."""

    layers: list[tuple[str, Key, Tree]] = field(default_factory=list)
    changes: Tree = field(default_factory=dict)  #: by further files and --config
    own_table: Tree = field(default_factory=dict)  #: keys of that target in these files
    #: number of the preset among the layers: what follows it is the user's
    preset_at: int | None = None

    def tree(self, start: int | None = None, stop: int | None = None) -> Tree:
        """All files merged, or some of them."""
        whole: Tree = {}
        for _, place, content in self.layers[start:stop]:
            for part in reversed(place):
                content = {part: content}
            whole = merge(whole, content)
        return whole

    def given(self, key: Key) -> Iterator[Any]:
        """What every file says of a key, also where a later one replaces it."""
        for _, place, content in self.layers:
            for part in reversed(place):
                content = {part: content}
            value = _get(content, key)
            if value is not ABSENT:
                yield value

    def names(self, *key: Any) -> list[str]:
        """Names below a key in any file, also where a later one leaves them out."""
        some = (value for value in self.given(key) if isinstance(value, Mapping | list))
        return list(dict.fromkeys(str(name) for value in some for name in value))

    def find(self, key: Key) -> tuple[str, Key, Any]:
        """The last file that gives a key or else the nearest above it.

        Name, place, the value.

        The value is :data:`ABSENT` where only a key above is given.
        """
        for n in range(len(key), -1, -1):
            for name, place, content in reversed(self.layers):
                fits = key[: len(place)] == place and len(place) <= n
                value = _get(content, key[len(place) : n]) if fits else ABSENT
                if value is not ABSENT:
                    return name, place, value if n == len(key) else ABSENT
        return "", (), ABSENT

    def error(self, key: Key, problem: str, hint: str | None = None) -> KerhrmError:
        """One-line error about a key of the whole tree: file, key, value, problem."""
        name, place, value = self.find(key)
        text = ".".join(map(str, key[len(place) :]))
        if text and value is not ABSENT and not isinstance(value, Mapping):
            text += f" = {value!r}"
        return PlacedError(": ".join(filter(None, (name, text, problem))), hint)

    def invalid(self, above: Key, error: ValidationError) -> KerhrmError:
        """One-line error of a validation below the key ``above``."""
        first = error.errors()[0]
        loc = tuple(part for part in first["loc"] if part not in NO_KEYS)
        problem, hint = worded(first)
        if first["type"] in ("model_type", "dict_type", "model_attributes_type"):
            problem = "write 'key: value' lines"
        if first["type"] == "list_type" and isinstance(
            first["input"], str | int | float
        ):
            hint = f"write [{first['input']}]"
        if first["type"] == "int_type":
            hint = hint or f"write {loc[-1]}: NUMBER"
        key = (*above, *loc)
        if first["type"] == "missing" and loc and isinstance(loc[-1], str):
            problem, hint = "it is missing", f"add {loc[-1]}: ..."
            if other := self.alike(key[:-1]):
                hint += f" to a new '{key[-2]}'; or {other}"
        if first["type"] != "misfit":
            return self.error(key, problem, hint)
        value = self.find(key)[2]
        if cure := _ended(key, value):
            return self.error(key, problem, cure)
        if self._learner(loc) and not (hint or "").startswith("did you mean"):
            given = {"options": {key[-1]: value}}
            if len(key) == 1:
                given = {"learners": {key[0]: {"options": value}}}
            text = yaml.safe_dump(given, default_flow_style=True, width=10**6)
            hint = f"options of a method: write {text.strip()[1:-1]}"
        return self.error(key, problem, self._cure(key) or hint)

    def _cure(self, key: Key) -> str | None:
        """Hint for a key that belongs elsewhere."""
        name, _, value = self.find(key)
        *data, last = str(key[-1]).split(".")
        if len(key) == 1 and self.own_table and (near := closest(last, OWN_KEYS)):
            return near
        if len(key) == 1 and last in OF_DATA:
            sets = self.names("data")
            at = data[1] if data[1:] and data[1] in sets else next(iter(sets), "DATA")
            sign = "=" if name == "--config" else ": "
            for part in reversed(OF_DATA[last]):
                value = {part: value}
            text = yaml.safe_dump({at: value}, default_flow_style=True)
            return f"write 'data{sign}{' '.join(text.split())}'"
        if len(key) == 1:
            return closest(last, OWN_KEYS)
        if len(key) == 3 and key[0] == "data" and last == "label":
            return f"it is of a table: data: {{{key[1]}: {{label: TEXT}}}}"
        return None

    def alike(self, key: Key) -> str | None:
        """Hint for an entry that says too little: another one that may be meant."""
        if not key:
            return None
        others = [name for name in self.names(*key[:-1]) if name != key[-1]]
        return closest(str(key[-1]), others)

    def _learner(self, loc: Key) -> str:
        """Name of the learner whose options seem to be meant by an unknown key."""
        name = loc[1] if loc[0] == "learners" and len(loc) > 2 else loc[0]
        return str(name) if name in self.tree().get("learners", {}) else ""


def _ended(key: Key, value: Any) -> str | None:
    """What takes the place of a key of an earlier version."""
    *above, last = key
    if last == "steps" and not isinstance(value, bool):
        return None  # the number of an optimiser's steps
    if last == "more_seeds" and above[:1] == ["tables"]:
        return "write seeds: NUMBER; data have seeds: {DATA: 5, DATA/LEARNER: 20}"
    if {*above} & {*OF_OPTIONS}:
        now = RENAMED.get(last)
        return now and f"KerHRM's {last} is {now} now"
    if last in ENDED and (above or last not in OTHERWISE):
        return ENDED[last]
    return None


def _get(tree: Any, key: Key) -> Any:
    for part in key:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return tree


def _files(folder: Path) -> list[Path]:
    """The files ``NAME.yaml`` of a folder.

    Raises KerhrmError for a YAML file that would not be read, or has no name.
    """
    for path in sorted(folder.rglob("*")):
        yaml = path.suffix.lower() in (".yaml", ".yml") and path.is_file()
        if yaml and (path.suffix != ".yaml" or path.parent != folder):
            hint = f"call it {folder.name}/{path.stem}.yaml"
            raise KerhrmError(f"{shown(path)}: a file of this name is not read", hint)
    files = sorted(folder.glob("*.yaml"))
    for path in files:
        try:
            check_name(path.stem)
        except ValueError as error:
            raise KerhrmError(f"{shown(path)}: {error}", "rename the file") from error
    return files


def read_sources(
    overrides: Mapping[str, Any], files: list[Path], folder: Path
) -> Sources:
    """Read the files in the order in which they are merged: later ones win.

    ``data/``, ``learners.yaml``, ``tables/``, ``selected/`` and ``choices.yaml``, then
    ``config.yaml``, the preset, further files and the command line.
    """
    sources = Sources()
    for name in ("data", "tables", "selected"):
        for path in _files(folder / name):
            sources.layers.append((shown(path), (name, path.stem), read_yaml(path)))
    for name in ("learners", "choices", "labels"):
        path = folder / f"{name}.yaml"
        if path.exists():
            sources.layers.append((shown(path), (name,), read_yaml(path)))
    presets = {path.stem: path for path in _files(folder / "presets")}
    place = len(sources.layers) + 1  # of the preset, behind config.yaml
    general = [
        (shown(path), read_yaml(path)) for path in (folder / "config.yaml", *files)
    ]
    for name, content in (*general, ("--config", dict(overrides))):
        own = {key: content.pop(key) for key in OWN_KEYS if key in content}
        sources.own_table.update(own)
        sources.layers.append((name, (), content))
        sources.changes = merge(sources.changes, content)
    preset = str(sources.changes.get("preset", "paper"))
    if preset not in presets:
        raise sources.error(
            ("preset",), "no such preset", suggest(preset, sorted(presets))
        )
    own = read_yaml(presets[preset])
    if "preset" in own:
        problem = (
            f"{shown(presets[preset])}: preset: a preset must not name another one"
        )
        raise KerhrmError(problem, "delete the key preset")
    sources.layers.insert(place, (shown(presets[preset]), (), own))
    sources.preset_at = place
    return sources
