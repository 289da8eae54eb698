"""What does a YAML file say, read strictly?

It has plain values only: no surprises of YAML 1.1, no tags, no bombs.
"""

import errno
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kerhrm.errors import FileError, KerhrmError, shortened
from kerhrm.files import CURES, check_regular

Tree = dict[str, Any]
MAX_VALUES = 50_000  #: of a file, aliases counted as often as they stand
MAX_DEPTH = 50
GIVE_PATH = "give the path of a YAML file"
#: keys of the target own_table
OWN_KEYS = (
    "csv",
    "target",
    "task",
    "categorical",
    "drop",
    "group",
    "held_out",
    "test_share",
    "n_environments",
    "seed",
)
LISTS = ("categorical", "drop", "held_out")  #: those of several names
#: keys of the command line whose values are text, also where they look like a number
TEXTS = (
    "preset",
    "results",
    "raw_dir",
    "on_missing",
    "device",
    *OWN_KEYS,
)

_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Plain values only; keys are text, and no key is given twice."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            plain = isinstance(key, yaml.ScalarNode)
            if not plain or key.value in seen:
                problem = "a key must be plain text"
                if plain:
                    problem = f"the key '{key.value}' is given twice"
                raise yaml.MarkedYAMLError(None, None, problem, key.start_mark)
            seen.add(key.value)
            if key.value != "<<":
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


# The core schema of YAML 1.2, without its octal and hexadecimal numbers: in YAML 1.1
# 010 is 8, 1:30 is 90, 1_0 is 10, yes is true, 2020-01-01 a date, and 1e-5 is text.
_NUMBER = r"[-+]?(?:0|[1-9][0-9]*)"
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", _NUMBER, list("-+0123456789")),
    (
        "float",
        rf"(?:{_NUMBER}(?:\.[0-9]*)?|[-+]?\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first
    )


class _Dumper(yaml.SafeDumper):
    """Plain values, of which texts are quoted that would be read as numbers."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    tag = "tag:yaml.org,2002:str"
    first = text[:1]
    resolvers = _Loader.yaml_implicit_resolvers.get(first, [])
    is_other = any(pattern.match(text) for _, pattern in resolvers)
    return dumper.represent_scalar(tag, text, style="'" if is_other else None)


_Dumper.add_representer(str, _text)


def dump(tree: Mapping[str, Any], **style: Any) -> str:
    """A mapping as YAML that :func:`read_yaml` reads as it was, in its order.

    ``style`` are keywords of :func:`yaml.dump`.
    """
    return str(yaml.dump(tree, Dumper=_Dumper, sort_keys=False, **style))


def read_yaml(path: Path) -> Tree:
    """Read a YAML mapping, empty if the file is.

    Raises KerhrmError, in one line with the file and the line, for anything but plain
    values and aliases of them.
    """
    name = shown_path(path)
    if os.path.realpath(path) != os.devnull:  # which is an empty file
        check_regular(name, GIVE_PATH)
    try:
        content = parse(path.read_text(encoding="utf-8-sig"))
    except KerhrmError as error:
        raise KerhrmError(f"{name}: {error.problem}", error.hint) from error
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise _unreadable(name, error) from error
    is_mapping = isinstance(content, dict)
    if content is not None and not is_mapping:
        problem = f"{name}: must be a mapping; got a {type(content).__name__}"
        raise KerhrmError(problem, "write 'key: value' lines")
    return content or {}


def _unreadable(name: str, error: Exception) -> KerhrmError:
    """Error of a file that is no YAML, in one line with the number of its line."""
    if isinstance(error, OSError):
        problem = f"{name}: {error.strerror or error}"
        hint = CURES.get(error.errno or 0)
        if error.errno == errno.ENOENT:
            is_link = os.path.islink(name)
            hint = "correct this link, or delete it" if is_link else None
        hint = hint or GIVE_PATH
        return FileError(problem, hint)
    if isinstance(error, UnicodeDecodeError):
        problem = f"{name}: is not in UTF-8: {error.reason} at byte {error.start}"
        return KerhrmError(problem, "save it as UTF-8")
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1} " if mark else ""
    reason = getattr(error, "problem", None)
    words = str(reason or error).split()
    return KerhrmError(
        f"{name}: {where}cannot be read as YAML: {' '.join(words)}",
        "check that it is a file of 'key: value' lines, each key once",
    )


def parse(text: str) -> Any:
    """The value that a YAML text stands for.

    Raises yaml.YAMLError, or KerhrmError if it is too large.
    """
    _check(text)
    return yaml.load(text, _Loader)


def _check(text: str) -> None:
    """Refuse tags, very many values, nesting very deep, and what contains itself.

    An alias counts as what it stands for, so that a few lines of aliases of aliases,
    which are quick to read but endless to walk through, are refused.
    """
    # of every collection that is open, from the whole text on: its anchor, the number
    # of values below it, and how deep they are nested
    anchors: list[str | None] = [None]
    sizes = [0]
    depths = [0]
    known: dict[str | None, tuple[int, int]] = {}
    event: Any
    for event in yaml.parse(text, _Loader):
        size = depth = 0
        if tag := getattr(event, "tag", None):
            problem = f"the tag '{tag}' is not allowed"
            raise yaml.MarkedYAMLError(None, None, problem, event.start_mark)
        if isinstance(event, yaml.CollectionStartEvent):
            anchors.append(event.anchor)
            sizes.append(0)
            depths.append(0)
            known.pop(event.anchor, None)
        elif isinstance(event, yaml.CollectionEndEvent):
            size = sizes.pop() + 1
            depth = depths.pop() + 1
            anchor = anchors.pop()
            known[anchor] = (size, depth)
        elif isinstance(event, yaml.ScalarEvent):
            size = 1
            known[event.anchor] = size, depth
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in anchors:
                hint = "write its values out"
                raise KerhrmError(f"the alias '{event.anchor}' contains itself", hint)
            unknown = (0, 0)
            size, depth = known.get(event.anchor, unknown)
        sizes[-1] += size
        depths[-1] = max(depths[-1], depth)
        if sizes[-1] > MAX_VALUES:
            problem = f"it stands for more than {MAX_VALUES} values"
            raise KerhrmError(problem, "use fewer aliases, or shorten it")
        deepest = len(depths) + depths[-1]
        if deepest > MAX_DEPTH:
            problem = f"it is nested more than {MAX_DEPTH} deep"
            raise KerhrmError(problem, "no key is; check its brackets")


def _texts(text: str) -> Any:
    """A YAML text whose values are all text, or lists of it."""
    _check(text)
    return yaml.load(text, yaml.BaseLoader)


def read_overrides(entries: Sequence[str]) -> Tree:
    """The keys and values that follow ``--config``, each as ``key=value``.

    Raises KerhrmError if an entry has no key, or a key is given twice.
    """
    values: Tree = {}
    for entry in entries:
        key, equals, text = entry.partition("=")
        is_key = re.fullmatch(r"[\w-]+", key)  # unlike DATA+option of DATA+option=value
        if not equals or not is_key:
            problem = f"--config takes KEY=VALUE; got {entry}"
            raise KerhrmError(problem, "write targets and files before --config")
        if key in values:
            raise KerhrmError(f"--config: {key} is given twice", "write it once")
        values[key] = _value(key, text)
    return values


def _value(key: str, text: str) -> Any:
    """What the text behind ``key=`` stands for; None if it is empty."""
    try:
        if text and key in TEXTS:
            is_list = key in LISTS and text[0] == "["
            is_quoted = text[0] in "\"'"
            return _texts(text) if is_list or is_quoted else text
        return parse(text)
    except yaml.YAMLError:  # no YAML, as a path or a name need not be
        return text
    except KerhrmError as error:
        problem = f"--config: {key}: {error.problem}"
        raise KerhrmError(problem, error.hint) from error
    except ValueError as error:  # of a number that Python refuses for its length
        problem = f"--config: {key}={shortened(text)} cannot be read"
        raise KerhrmError(problem, "write a number of fewer digits") from error


def shown_path(path: Path) -> str:
    """Path as errors show it.

    Relative to the working directory where it lies below that.
    """
    here = Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    return os.fspath(path)


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Tree:
    """``base`` with ``changes`` on top: mappings merge, everything else is replaced."""
    result = dict(base)
    for key, value in changes.items():
        earlier = result.get(key)
        if isinstance(value, Mapping) and isinstance(earlier, Mapping):
            value = merge(earlier, value)
        result[key] = value
    return result
