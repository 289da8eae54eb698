"""Are the candidates of a method file options that differ, and that a folder can be
called after?"""

import json
from typing import Any

from pydantic_core import PydanticSerializationError

from kerhrm.errors import KerhrmError, described, shown
from kerhrm.methods.base import Method
from kerhrm.options import Options
from kerhrm_paper.config.nameable import Schema, nameable
from kerhrm_paper.config.spelling import spell
from kerhrm_paper.config.strict_yaml import Tree

#: candidates of every method, at most, as errors name them
ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
)
CANDIDATES = len(ORDINALS)
#: hint for candidates that a folder cannot be called after
NAMEABLE = (
    "let candidates differ in finite numbers, lists of them, truth values or short "
    "texts of A-Z, a-z, 0-9, full stops, _ and -, from which train builds what it needs"
)


def _check_nameable(options: Tree, schema: Schema) -> None:
    """Refuse options of which a folder's name can say nothing."""
    for key in options:
        if key not in schema:
            problem = f"option {key} has values that cannot stand in a folder's name"
            raise KerhrmError(problem, NAMEABLE)


def _values(options: Options, where: str) -> Tree:
    """Values of options as files have them; KerhrmError for objects."""
    try:
        return options.model_dump(mode="json")
    except PydanticSerializationError as error:
        problem = f"{where}options cannot be written to a file ({described(error)})"
        hint = "give numbers, texts, truth values or lists of them"
        raise KerhrmError(
            problem, f"{hint}, from which train builds the rest"
        ) from error


def check_candidates(candidates: Any, method: Method) -> None:
    """Refuse candidates that are too many, wrong, or alike."""
    if not isinstance(candidates, list) or not all(
        isinstance(candidate, dict) for candidate in candidates
    ):
        problem = f"they must be a list of dicts of options; got {shown(candidates)}"
        raise KerhrmError(problem, 'write [{"learning_rate": 0.001}, ...]')
    if len(candidates) > CANDIDATES:
        problem = f"they must be at most {CANDIDATES}, as those of every method"
        raise KerhrmError(f"{problem}; got {len(candidates)}", "leave some out")
    schema = nameable(method.options)
    # by the name of a candidate, and by the values of all options
    numbers: dict[str, int] = {}
    for number, candidate in enumerate(candidates):
        which = f"the {ORDINALS[number]} one"
        where = f"{which}: "
        parsed = method.options.parse(candidate, where=where)
        values = _values(parsed, where)
        given = {key: values[key] for key in candidate}
        if len(candidates) == 1:  # its options are those of the learner itself
            continue
        try:
            _check_nameable(given, schema)
            name = spell(method.name, given, schema)
        except KerhrmError as error:
            raise KerhrmError(f"{where}{error.problem}", NAMEABLE) from error
        text = json.dumps(values, sort_keys=True)
        for spelled in (name, text):
            if spelled in numbers:
                problem = f"{which} is the same as the {ORDINALS[numbers[spelled]]} one"
                raise KerhrmError(problem, "leave one out")
            numbers[spelled] = number
