"""Which file gives a key its value?

The files are merged in the order of :func:`read_sources`, and every key knows the file
that it comes from.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerhrm.errors import FileError, KerhrmError, suggest
from kerhrm_paper.config.strict_yaml import OWN_KEYS, Tree, merge, read_yaml, shown_path
from kerhrm_paper.config.tries import without_replaced
from kerhrm_paper.config.yaml_files import (
    FILES,
    FOLDERS,
    PRESETS,
    check_read,
    named_files,
)
from kerhrm_paper.runs.arrays import restoring

Key = tuple[Any, ...]  #: path from the top of a tree to a value
Layer = tuple[str, Key, Tree]  #: a file: its name, its place, its content
ABSENT: Any = object()  #: value of a key that no file gives
NEEDED = ("data", "tables")  #: folders of ``config/`` that must not be empty


class PlacedError(KerhrmError):
    """An error that names the file and the key that it comes from."""


@dataclass
class Sources:
    """Files in the order in which they are merged, each with its place in the whole
    tree.

    Attributes
    ----------
    layers : list of Layer
        The files.
    changes : dict
        Content of further files and of the command line.
    own_table : dict
        Keys of that target in these files.
    preset_at : int, optional
        Number of the preset among the layers: what follows it is the user's.
    """

    layers: list[Layer] = field(default_factory=list)
    changes: Tree = field(default_factory=dict)
    own_table: Tree = field(default_factory=dict)
    preset_at: int | None = None

    def tree(self, start: int | None = None, stop: int | None = None) -> Tree:
        """All files merged, or some of them."""
        whole: Tree = {}
        for _, place, content in self.layers[start:stop]:
            part = _below(place, content)
            kept = without_replaced(whole, part)
            whole = merge(kept, part)
        return whole

    def given(self, key: Key) -> Iterator[Any]:
        """What every file says of a key, also where a later one replaces it."""
        for _, place, content in self.layers:
            part = _below(place, content)
            value = _get(part, key)
            if value is not ABSENT:
                yield value

    def names(self, *key: Any) -> list[str]:
        """Names below a key in any file, also where a later one leaves them out."""
        names: dict[str, None] = {}
        for value in self.given(key):
            if isinstance(value, Mapping | list):
                texts = map(str, value)
                names |= dict.fromkeys(texts)
        return list(names)

    def find(self, key: Key) -> Layer:
        """The last file that gives a key or else the nearest above it.

        Name, place, the value.

        The value is :data:`ABSENT` where only a key above is given.
        """
        by_latest = self.layers[::-1]
        for length in range(len(key), -1, -1):
            for name, place, content in by_latest:
                start = len(place)
                is_below = key[:start] == place
                if start > length or not is_below:
                    continue
                inner = key[start:length]
                value = _get(content, inner)
                if value is ABSENT:
                    continue
                if length < len(key):
                    value = ABSENT
                return name, place, value
        return "", (), ABSENT

    def error(self, key: Key, problem: str, hint: str | None = None) -> KerhrmError:
        """One-line error about a key of the whole tree: file, key, value, problem."""
        name, place, value = self.find(key)
        below = key[len(place) :]
        names = map(str, below)
        text = ".".join(names)
        has_entries = isinstance(value, Mapping)
        if text and value is not ABSENT and not has_entries:
            text += f" = {value!r}"
        words = [word for word in (name, text, problem) if word]
        text = ": ".join(words)
        return PlacedError(text, hint)

    @contextmanager
    def placing(self, key: Key, name: str = "") -> Iterator[None]:
        """An error in this context is about a key, and the name that stands there."""
        try:
            yield
        except PlacedError:
            raise
        except KerhrmError as error:
            problem = error.problem
            if name not in problem:
                problem = f"{name}: {problem}"
            raise self.error(key, problem, error.hint) from error


def _below(place: Key, content: Tree) -> Tree:
    """Content of a file as a part of the whole tree."""
    for part in reversed(place):
        content = {part: content}
    return content


def _get(tree: Any, key: Key) -> Any:
    for part in key:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return tree


def read_sources(
    overrides: Mapping[str, Any], files: list[Path], folder: Path
) -> Sources:
    """Read the files in the order in which they are merged: later ones win.

    Those of :data:`FOLDERS` and :data:`FILES` stand in different places of the tree;
    then come ``config.yaml``, the preset, further files and the command line.
    """
    check_read(folder, files)
    sources = Sources()
    for name in FOLDERS:
        for path in named_files(folder / name):
            place = (name, path.stem)
            layer = _read(path, place)
            sources.layers.append(layer)
    for name in FILES:
        path = folder / f"{name}.yaml"
        if os.path.lexists(path):
            layer = _read(path, (name,))
            sources.layers.append(layer)
    known_presets = presets(folder)
    main = folder / "config.yaml"
    if not os.path.lexists(main):
        problem = f"{shown_path(main)}: No such file or directory"
        raise FileError(problem, restoring(shown_path(main)))
    general = _read(main)
    further = [_read(path) for path in files]
    command_line = ("--config", (), dict(overrides))
    if not any("preset" in content for _, _, content in (*further, command_line)):
        _check_no_preset(folder, files)
    _add_changes(sources, general)
    preset_at = len(sources.layers)
    for layer in (*further, command_line):
        _add_changes(sources, layer)
    # only now do we know which preset the user wants
    chosen = sources.changes.get("preset", "paper")
    preset = str(chosen)
    if preset not in known_presets:
        key = ("preset",)
        hint = suggest(preset, list(known_presets))
        raise sources.error(key, "no such preset", hint)
    layer = _read_preset(known_presets[preset])
    sources.layers.insert(preset_at, layer)
    sources.preset_at = preset_at
    _check_needed(sources, folder)
    return sources


def _check_needed(sources: Sources, folder: Path) -> None:
    """Refuse a ``config/`` without a name in a folder that must not be empty."""
    for name in NEEDED:
        if not sources.names(name):
            raise _absent(folder / name)


def _absent(folder: Path) -> FileError:
    """Error of a folder of ``config/`` that is not there, or has no files."""
    problem = f"{shown_path(folder)} has no file NAME.yaml"
    return FileError(problem, restoring(shown_path(folder)))


def presets(folder: Path) -> dict[str, Path]:
    """Files of the presets, by name; KerhrmError if there is none."""
    files = {path.stem: path for path in named_files(folder / PRESETS)}
    if not files:
        raise _absent(folder / PRESETS)
    return files


def _check_no_preset(folder: Path, further: list[Path]) -> None:
    """Refuse a preset that is given as a further file, where none is named: the files
    of another one would be made again at its sizes."""
    folder_of_presets = folder / PRESETS
    for path in further:
        file = path.resolve()
        if file.parent == folder_of_presets.resolve():
            problem = f"{shown_path(path)}: this is a preset"
            raise KerhrmError(problem, f"write --config preset={file.stem}")


def _read(path: Path, place: Key = ()) -> Layer:
    """A file whose content has a place in the whole tree."""
    return shown_path(path), place, read_yaml(path)


def _add_changes(sources: Sources, layer: Layer) -> None:
    """Add a file that may change anything, without the keys of ``own_table``."""
    name, place, content = layer
    changes: Tree = {}
    for key, value in content.items():
        target = sources.own_table if key in OWN_KEYS else changes
        target[key] = value
    changed = (name, place, changes)
    sources.layers.append(changed)
    sources.changes = merge(sources.changes, changes)


def _read_preset(path: Path) -> Layer:
    """A preset; KerhrmError if it names another one."""
    layer = _read(path)
    name, _, content = layer
    if "preset" in content:
        problem = f"{name}: preset: a preset must not name another one"
        raise KerhrmError(problem, "delete the key preset")
    return layer
