"""Options in a name: ``kerhrm+k=10_15+n_init=1`` and back.

A cell is ``DATA+option=value+.../LEARNER+option=value+...``; that text is its name in
tables and its path.  It holds only characters that are safe everywhere: Snakemake
splits a list of targets at a comma, and ``:`` and ``%`` trouble Windows, scp and
Slurm's logs.  How values are spelled: :mod:`kerhrm_paper.config.nameable`.
"""

import re
from collections.abc import Callable, Collection, Mapping
from itertools import accumulate
from typing import Any

from kerhrm.errors import KerhrmError, shown
from kerhrm.options import suggest
from kerhrm_paper.config.nameable import Misspelled as Misspelled
from kerhrm_paper.config.nameable import Nameable as Nameable
from kerhrm_paper.config.nameable import Schema as Schema
from kerhrm_paper.config.nameable import nameable as nameable
from kerhrm_paper.config.nameable import spell_value as spell_value

#: options of KerHRM in earlier versions, and what they are now
RENAMED = {"selection": "stop_by", "network": "training"}
LONGEST = 100  #: characters of a part
_CHARACTERS = re.compile(r"[A-Za-z0-9_.=+-]+")


def base_of(name: str) -> str:
    """A name without its options."""
    return name.partition("+")[0]


def spell(base: str, values: Mapping[str, Any], schema: Schema) -> str:
    """The name of a base with some options, by key, in declared order.

    Raises KerhrmError if one of them is unknown or has no spelling, or the name is too
    long.
    """
    for key in values:
        if key not in schema:
            raise _unknown(base, key, schema)
    words = [base]
    for key in (key for key in schema if key in values):
        try:
            words.append(f"{key}={spell_value(values[key])}")
        except ValueError as error:
            problem = f"{base}: {key}={shown(values[key])}: {error}"
            hint = "give the option to a learner, or a data set, of its own"
            raise KerhrmError(problem, hint) from error
    text = "+".join(words)
    _check_length(text)
    return text


def parse(text: str, schema_of: Callable[[str], Schema]) -> tuple[str, dict[str, Any]]:
    """The base and the options, by key, of a name.

    ``schema_of`` gives the options of a base, and raises KerhrmError if there is none.

    Raises KerhrmError if the name is no name, has an unknown option, a value that does
    not fit, an option twice, or another spelling than :func:`spell` gives it.
    """
    _check_length(text)
    base, *words = text.split("+")
    if not base or not _CHARACTERS.fullmatch(text) or ".." in text:
        problem = f"{shown(text)} must be a name"
        hint = "write BASE+option=value+..., of letters, digits and _.=+-"
        joined = text.replace("/", "+")
        if "/" in text and ".." not in text and _CHARACTERS.fullmatch(joined):
            hint = f"write {joined}"
        raise KerhrmError(problem, hint)
    schema = schema_of(base)
    values: dict[str, Any] = {}
    for word in words:
        key, _, _ = word.partition("=")
        if key in values:
            raise KerhrmError(f"{text}: {key} is given twice", "write it once")
        values[key] = _value(text, word, schema)
    _check_groups(text, values)
    canonical = spell(base, values, schema)
    if canonical != text:
        problem = f"{text}: its options are in another order"
        raise KerhrmError(problem, f"write {canonical}")
    return base, values


def _value(text: str, word: str, schema: Schema) -> Any:
    """The value in a word ``option=value`` of a name."""
    key, _, value = word.partition("=")
    base, *words = text.split("+")
    if not word:
        raise KerhrmError(f"{text}: an option is missing behind a +", "delete the +")
    if key not in schema:
        raise _unknown(text, key, schema)
    if not value:
        hint = f"write {key}=VALUE: {schema[key].values}"
        raise KerhrmError(f"{text}: {key} has no value", hint)
    try:
        return schema[key].read(value)
    except Misspelled as error:
        again = [error.word if one == word else one for one in words]
        hint = f"write {'+'.join([base, *again])}"
        raise KerhrmError(f"{text}: {error}", hint) from error
    except ValueError as error:
        problem, _, hint = str(error).partition("; ")
        hint = hint or f"kerhrm options {base} lists what options take"
        raise KerhrmError(f"{text}: {problem}", hint) from error


def _check_groups(text: str, values: Mapping[str, Any]) -> None:
    """Refuse an option of a group that the name leaves out."""
    for key in values:
        *above, _ = accumulate(key.split("."), "{}.{}".format)
        for group in above:
            if group in values:
                problem = f"{text}: {group}=none leaves {key} out"
                raise KerhrmError(problem, "delete one of them")


def _unknown(where: str, key: str, schema: Schema) -> KerhrmError:
    problem = f"{where}: no option is called '{shown(key).strip(chr(39))}'"
    return KerhrmError(problem, _hint(base_of(where), key, schema))


def _hint(base: str, key: str, known: Collection[str]) -> str:
    """Hint for an unknown option: the nearest one, or where all are listed."""
    if RENAMED.get(key) in known:
        return f"it is {RENAMED[key]} now"
    hint = suggest(key, known) if known else ""
    return hint if "did you" in hint else f"kerhrm options {base} lists them"


def _check_length(text: str) -> None:
    """Refuse a name that is too long for a folder."""
    if len(text) > LONGEST:
        problem = f"{shown(text)} has {len(text)} characters, more than {LONGEST}"
        hint = "give its options to a learner, or a data set, of its own"
        raise KerhrmError(problem, hint)


def tree(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options by dotted key as nested ones.

    Examples
    --------
    >>> tree({"k": [5], "pretest.level": 0.1})
    {'k': [5], 'pretest': {'level': 0.1}}
    """
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *above, last = key.split(".")
        place = nested
        for part in above:
            place = place.setdefault(part, {})
        place[last] = value
    return nested
