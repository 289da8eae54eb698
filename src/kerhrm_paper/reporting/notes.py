"""Is what a run, or a publication, has noted of itself of the right form?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kerhrm.errors import shown
from kerhrm_paper.config.strict_yaml import Tree, parse

Pattern = tuple[str, ...]  #: a key, in which * is any name
Kind = tuple[type, ...]  #: types that a value may have
MAPPING: Kind = (dict,)
TEXT: Kind = (str,)
NUMBER: Kind = (int, float)
WORDS = {MAPPING: "a mapping", TEXT: "text", NUMBER: "a number"}
#: what ``config.yaml`` has at some keys, if it has them
CONFIGURATION: dict[Pattern, Kind] = {
    ("preset",): TEXT,
    ("mark",): TEXT,
    ("labels",): MAPPING,
    ("selected",): MAPPING,
    ("selected", "*"): MAPPING,
    ("published",): MAPPING,
    ("data",): MAPPING,
    ("data", "*"): MAPPING,
    ("learners",): MAPPING,
    ("learners", "*"): MAPPING,
    ("learners", "*", "timeout"): NUMBER,
    ("tables",): MAPPING,
    ("tables", "*"): MAPPING,
    ("tables", "*", "title"): TEXT,
    ("tables", "*", "about"): TEXT,
    ("changes",): MAPPING,
    ("changes", "*"): MAPPING,
    ("changes", "*", "*"): MAPPING,
    ("preset_changes",): MAPPING,
    ("preset_changes", "*"): MAPPING,
    ("preset_changes", "*", "*"): MAPPING,
}
#: what ``provenance.json`` has, likewise
PUBLICATION: dict[Pattern, Kind] = {
    ("tables",): MAPPING,
    ("tables", "*"): MAPPING,
    ("tables", "*", "preset"): TEXT,
    ("studies",): MAPPING,
    ("studies", "*"): MAPPING,
    ("files",): MAPPING,
    ("files", "*"): TEXT,
    ("again",): MAPPING,
    ("endpoints",): MAPPING,
}


def read_note(path: Path, form: dict[Pattern, Kind]) -> Tree:
    """The content of a YAML or JSON file.

    Raises ValueError with the first key, if it is not of a form.
    """
    content = parse(path.read_text("utf-8"))
    if content is None:
        raise ValueError("it is empty")
    if not isinstance(content, dict):
        raise ValueError(f"it must be a mapping; got {shown(content)}")
    for pattern, kind in form.items():
        for key, value in _matching(content, pattern):
            is_truth = isinstance(value, bool)
            if value is None or (isinstance(value, kind) and not is_truth):
                continue
            problem = f"{key} must be {WORDS[kind]}; got {shown(value)}"
            raise ValueError(problem)
    return content


def _matching(tree: Any, pattern: Pattern) -> Iterator[tuple[str, Any]]:
    """Values at the keys that a pattern stands for, each with its dotted key."""
    if not isinstance(tree, dict):
        return
    first, *rest = pattern
    names = list(tree) if first == "*" else [first]
    for name in names:
        if name not in tree:
            continue
        if not rest:
            yield name, tree[name]
            continue
        for key, value in _matching(tree[name], tuple(rest)):
            yield f"{name}.{key}", value
