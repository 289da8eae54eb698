"""Reading YAML strictly, and merging files so that every key knows the file it comes
from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.options import suggest, worded
from kerhrm.paper.config.models import check_name

Tree = dict[str, Any]
Key = tuple[Any, ...]  #: path from the top of a tree to a value
ABSENT: Any = object()
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Plain values only; keys are text, and no key is given twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            plain = isinstance(key, yaml.ScalarNode)
            if not plain or key.value in seen:
                problem = f"the key '{key.value}' is given twice"
                problem = problem if plain else "a key must be plain text"
                raise yaml.MarkedYAMLError(None, None, problem, key.start_mark)
            seen.add(key.value)
            if key.value != "<<":
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Tree:
    """Read a YAML mapping, empty if the file is.

    Refuse a key that is given twice, and tags.
    """
    name = shown(path)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
        json.dumps(content, default=str)  # refuses what contains itself
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1} " if mark else ""
        text = (
            getattr(error, "problem", None) or getattr(error, "strerror", None) or error
        )
        problem = f"{where}cannot be read as YAML: {' '.join(str(text).split())}"
        hint = "check that it is a file of 'key: value' lines, each key once"
        raise KerhrmError(f"{name}: {problem}", hint) from error
    if content is not None and not isinstance(content, dict):
        problem = f"{name}: must be a mapping; got a {type(content).__name__}"
        raise KerhrmError(problem, "write 'key: value' lines")
    return content or {}


def shown(path: Path) -> str:
    """Path as errors show it.

    Relative to the working directory where it lies below that.
    """
    return str(
        path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    )


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Tree:
    """``base`` with ``changes`` on top: mappings merge, everything else is replaced."""
    result = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merge(result[key], value) if both else value
    return result


def beyond(tree: Mapping[str, Any], base: Mapping[str, Any]) -> Tree:
    """What ``tree`` says that ``base`` does not."""
    more = {key: value for key, value in tree.items() if base.get(key, ABSENT) != value}
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), Mapping):
            more[key] = beyond(value, base[key])
    return more


@dataclass
class Sources:
    """Files in the order in which they are merged, each with its place in the whole
    tree."""

    layers: list[tuple[str, Key, Tree]] = field(default_factory=list)
    changes: Tree = field(default_factory=dict)  #: by further files and --config

    def tree(self) -> Tree:
        """All files merged."""
        whole: Tree = {}
        for _, place, content in self.layers:
            for part in reversed(place):
                content = {part: content}
            whole = merge(whole, content)
        return whole

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
        return KerhrmError(": ".join(filter(None, (name, text, problem))), hint)

    def invalid(self, above: Key, error: ValidationError) -> KerhrmError:
        """One-line error of a validation below the key ``above``."""
        first = error.errors()[0]
        loc = tuple(part for part in first["loc"] if part != "[key]")
        problem, hint = worded(first)
        if first["type"] in ("model_type", "dict_type", "model_attributes_type"):
            problem = "write 'key: value' lines"
        if first["type"] == "misfit" and (name := self._learner(loc)):
            hint = (
                "options of a method: learners: "
                f"{{{name}: {{options: {{KEY: VALUE}}}}}}"
            )
        return self.error((*above, *loc), problem, hint)

    def _learner(self, loc: Key) -> str:
        """Name of the learner whose options seem to be meant by an unknown key."""
        name = loc[1] if len(loc) == 3 and loc[0] == "learners" else loc[0]
        return str(name) if name in self.tree().get("learners", {}) else ""


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
    extra = [(shown(path), read_yaml(path)) for path in files]
    top = dict(overrides)  # Snakemake hands over both together
    for _, content in extra:
        top = beyond(top, content)
    general = [
        (shown(folder / "config.yaml"), read_yaml(folder / "config.yaml")),
        *extra,
    ]
    sources = Sources()
    for name in ("data", "tables", "selected"):
        for path in sorted((folder / name).glob("*.yaml")):
            try:
                check_name(path.stem)
            except ValueError as error:
                raise KerhrmError(
                    f"{shown(path)}: {error}", "rename the file"
                ) from error
            sources.layers.append((shown(path), (name, path.stem), read_yaml(path)))
    for name in ("learners", "choices"):
        path = folder / f"{name}.yaml"
        if path.exists():
            sources.layers.append((shown(path), (name,), read_yaml(path)))
    presets = {path.stem: path for path in (folder / "presets").glob("*.yaml")}
    place = len(sources.layers) + 1  # of the preset, behind config.yaml
    for name, content in (*general, ("--config", top)):
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
    return sources
