"""Which file gives a key its value?

The files are merged in the order of :func:`read_sources`, and every key knows the file
that it comes from.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.options import suggest
from kerhrm_paper.config.fields import check_name
from kerhrm_paper.config.strict_yaml import OWN_KEYS, merge, shown
from kerhrm_paper.config.strict_yaml import Tree as Tree
from kerhrm_paper.config.strict_yaml import read_yaml as read_yaml

Key = tuple[Any, ...]  #: path from the top of a tree to a value
ABSENT: Any = object()
FOLDERS = ("data", "tables", "selected")  #: of ``config/``, with a file for each name
FILES = ("learners", "choices", "labels")  #: of ``config/``, with all names


class PlacedError(KerhrmError):
    """An error that names the file and the key that it comes from."""


@dataclass
class Sources:
    """Files in the order in which they are merged, each with its place in the whole
    tree.

    Attributes
    ----------
    layers : list of (str, tuple, dict)
        Name, place and content of each file.
    changes : dict
        Content of further files and of the command line.
    own_table : dict
        Keys of that target in these files.
    preset_at : int, optional
        Number of the preset among the layers: what follows it is the user's.
    """

    layers: list[tuple[str, Key, Tree]] = field(default_factory=list)
    changes: Tree = field(default_factory=dict)
    own_table: Tree = field(default_factory=dict)
    preset_at: int | None = None

    def tree(self, start: int | None = None, stop: int | None = None) -> Tree:
        """All files merged, or some of them."""
        whole: Tree = {}
        for _, place, content in self.layers[start:stop]:
            whole = merge(whole, _below(place, content))
        return whole

    def given(self, key: Key) -> Iterator[Any]:
        """What every file says of a key, also where a later one replaces it."""
        for _, place, content in self.layers:
            value = _get(_below(place, content), key)
            if value is not ABSENT:
                yield value

    def names(self, *key: Any) -> list[str]:
        """Names below a key in any file, also where a later one leaves them out."""
        names: dict[str, None] = {}
        for value in self.given(key):
            if isinstance(value, Mapping | list):
                names |= dict.fromkeys(map(str, value))
        return list(names)

    def find(self, key: Key) -> tuple[str, Key, Any]:
        """The last file that gives a key or else the nearest above it.

        Name, place, the value.

        The value is :data:`ABSENT` where only a key above is given.
        """
        for length in range(len(key), -1, -1):
            for name, place, content in reversed(self.layers):
                start = len(place)
                if start > length or key[:start] != place:
                    continue
                value = _get(content, key[start:length])
                if value is not ABSENT:
                    return name, place, value if length == len(key) else ABSENT
        return "", (), ABSENT

    def error(self, key: Key, problem: str, hint: str | None = None) -> KerhrmError:
        """One-line error about a key of the whole tree: file, key, value, problem."""
        name, place, value = self.find(key)
        text = ".".join(map(str, key[len(place) :]))
        if text and value is not ABSENT and not isinstance(value, Mapping):
            text += f" = {value!r}"
        words = [word for word in (name, text, problem) if word]
        return PlacedError(": ".join(words), hint)

    @contextmanager
    def naming(self, key: Key, name: str) -> Iterator[None]:
        """An error in this context is about a name that a file has at a key."""
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

    ``data/``, ``learners.yaml``, ``tables/``, ``selected/`` and ``choices.yaml``, then
    ``config.yaml``, the preset, further files and the command line.
    """
    sources = Sources()
    for name in FOLDERS:
        for path in _files(folder / name):
            place = (name, path.stem)
            sources.layers.append((shown(path), place, read_yaml(path)))
    for name in FILES:
        path = folder / f"{name}.yaml"
        if path.exists():
            sources.layers.append((shown(path), (name,), read_yaml(path)))
    presets = {path.stem: path for path in _files(folder / "presets")}
    general = folder / "config.yaml"
    _add_changes(sources, shown(general), read_yaml(general))
    preset_at = len(sources.layers)
    further = [(shown(path), read_yaml(path)) for path in files]
    for name, content in further:
        _add_changes(sources, name, content)
    _add_changes(sources, "--config", dict(overrides))
    # only now do we know which preset the user wants
    preset = str(sources.changes.get("preset", "paper"))
    if preset not in presets:
        hint = suggest(preset, sorted(presets))
        raise sources.error(("preset",), "no such preset", hint)
    path = presets[preset]
    sources.layers.insert(preset_at, (shown(path), (), _read_preset(path)))
    sources.preset_at = preset_at
    return sources


def _add_changes(sources: Sources, name: str, content: Tree) -> None:
    """Add a file that may change anything, without the keys of ``own_table``."""
    changes: Tree = {}
    for key, value in content.items():
        target = sources.own_table if key in OWN_KEYS else changes
        target[key] = value
    sources.layers.append((name, (), changes))
    sources.changes = merge(sources.changes, changes)


def _read_preset(path: Path) -> Tree:
    """Content of a preset; KerhrmError if it names another one."""
    content = read_yaml(path)
    if "preset" in content:
        problem = f"{shown(path)}: preset: a preset must not name another one"
        raise KerhrmError(problem, "delete the key preset")
    return content


def _files(folder: Path) -> list[Path]:
    """The files ``NAME.yaml`` of a folder.

    Raises KerhrmError for a YAML file that would not be read, or has no name.
    """
    for path in sorted(folder.rglob("*")):
        is_yaml = path.suffix.lower() in (".yaml", ".yml") and path.is_file()
        is_read = path.suffix == ".yaml" and path.parent == folder
        if is_yaml and not is_read:
            hint = f"call it {folder.name}/{path.stem}.yaml"
            raise KerhrmError(f"{shown(path)}: a file of this name is not read", hint)
    files = sorted(folder.glob("*.yaml"))
    for path in files:
        try:
            check_name(path.stem)
        except ValueError as error:
            raise KerhrmError(f"{shown(path)}: {error}", "rename the file") from error
    return files
