"""Reading YAML strictly, and merging files so that every key knows the file it comes from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kerhrm.errors import KerhrmError

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
    """Read a YAML mapping; an empty file is an empty mapping.

    Raises
    ------
    KerhrmError
        In one line, if the file cannot be read, is not a mapping, or has a key twice or a tag.
    """
    name = shown(path)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
        json.dumps(content, default=str)  # refuses what contains itself
    except OSError as error:
        raise KerhrmError(f"{name}: cannot be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        text = " ".join(filter(None, (error.context, error.problem)))
        raise KerhrmError(f"{name}: line {line} is not valid YAML: {text}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise KerhrmError(f"{name}: is not valid YAML: {text}") from error
    if content is not None and not isinstance(content, dict):
        raise KerhrmError(f"{name}: write 'key: value' lines")
    return content or {}


def shown(path: Path) -> str:
    """Path as errors show it: relative to the working directory where it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Tree:
    """``base`` with ``changes`` on top: mappings merge, everything else is replaced."""
    result = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merge(result[key], value) if both else value
    return result


def text_keys(tree: Any) -> Any:
    """Tree whose keys are text, as :func:`read_yaml` gives it."""
    if isinstance(tree, Mapping):
        return {str(key): text_keys(value) for key, value in tree.items()}
    return tree


@dataclass
class Sources:
    """Files in the order in which they are merged, each with its place in the whole tree."""

    layers: list[tuple[str, Key, Tree]] = field(default_factory=list)

    def add(self, name: str, place: Key, content: Tree) -> None:
        """Add a file whose content belongs at the key ``place``."""
        self.layers.append((name, place, content))

    def tree(self) -> Tree:
        """All files merged."""
        whole: Tree = {}
        for _, place, content in self.layers:
            for part in reversed(place):
                content = {part: content}
            whole = merge(whole, content)
        return whole

    def error(self, key: Key, problem: str, hint: str | None = None) -> KerhrmError:
        """One-line error about a key of the whole tree, naming the last file that gives it.

        Where no file gives the key, the file of the nearest key above it is named.
        """
        for n in range(len(key), -1, -1):
            for name, place, content in reversed(self.layers):
                rest, value = key[len(place) : n], _get(content, key[len(place) : n])
                if key[: len(place)] == place and len(place) <= n and value is not ABSENT:
                    rest = key[len(place) :]
                    text = ".".join(map(str, rest))
                    if n == len(key) and not isinstance(value, Mapping) and text:
                        text += f" = {value!r}"
                    return KerhrmError(": ".join(filter(None, (name, text, problem))), hint)
        return KerhrmError(f"{'.'.join(map(str, key))}: {problem}", hint)


def _get(tree: Any, key: Key) -> Any:
    for part in key:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return tree
