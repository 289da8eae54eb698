"""Files of the configuration, each of which knows its name, and how they merge."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kerhrm.errors import KerhrmError

Tree = dict[str, Any]
Key = tuple[Any, ...]  #: from the top of a file, or of the resolved tree, down to a value
ABSENT: Any = object()
MAPPING = "write 'key: value' lines"


@dataclass(frozen=True)
class Source:
    """What a file says; its ``name`` begins the errors about it."""

    name: str
    content: Tree

    def get(self, key: Key) -> Any:
        """The value of a key, or :data:`ABSENT`."""
        value: Any = self.content
        for part in key:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def section(self, key: Key) -> Tree:
        """A mapping inside the file, empty where nothing is said; all else is an error."""
        value: Any = self.content
        for n in range(len(key) + 1):
            if value is None:
                return {}
            if not isinstance(value, dict):
                raise self.error(key[:n], MAPPING)
            if n < len(key):
                value = value.get(key[n])
        return dict(value)

    def error(self, key: Key, told: str) -> KerhrmError:
        """One line: the file, the key in it, its value, and ``told``."""
        value, shown = self.get(key), ".".join(map(str, key))
        if value is not ABSENT and not isinstance(value, Mapping):
            shown += f" = {value!r}"
        return KerhrmError(": ".join(filter(None, (self.name, shown, told))))


#: with libyaml's parser, several times as fast, where PyYAML has it
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictSafeLoader(yaml.composer.Composer, _SafeLoader):  # type: ignore[misc]
    """Plain values alone; keys are text as it stands in the file, and each is given once."""

    def __init__(self, text: str) -> None:
        _SafeLoader.__init__(self, text)
        yaml.composer.Composer.__init__(self)

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(None, None, "a key is plain text", key.start_mark)
            if key.value in seen:
                told = f"the key '{key.value}' is given twice"
                raise yaml.MarkedYAMLError(None, None, told, key.start_mark)
            seen.add(key.value)
            if key.value != "<<":
                key.tag = "tag:yaml.org,2002:str"
        return node


def read(path: Path) -> Source:
    """Read a YAML mapping (an empty file is an empty mapping).

    Raises
    ------
    KerhrmError
        If it cannot be read, is something else, or has a key twice.
    """
    source = Source(shown(path), {})
    try:
        content = _StrictSafeLoader(path.read_text(encoding="utf-8")).get_single_data()
    except OSError as error:
        raise source.error((), f"cannot be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        told = " ".join(filter(None, (error.context, error.problem)))
        raise source.error((), f"line {line} is not valid YAML: {told}") from error
    # of no text, of a value like the date 2026-13-45, and of brackets without end
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise source.error((), f"is not valid YAML: {' '.join(str(error).split())}") from error
    if content is not None and not isinstance(content, dict):
        raise source.error((), MAPPING)
    return Source(source.name, content or {})


def shown(path: Path) -> str:
    """A path as errors show it: from the working directory, where it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Tree:
    """``base`` with ``changes`` laid over it: mappings merge, everything else is replaced."""
    result = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merge(result[key], value) if both else value
    return result


def text_keys(tree: Any) -> Any:
    """A tree whose keys are text, as :func:`read` gives it."""
    if isinstance(tree, Mapping):
        return {str(key): text_keys(value) for key, value in tree.items()}
    return tree
