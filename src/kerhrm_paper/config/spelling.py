"""How does a name give options, as ``kerhrm+k=10_15+n_init=1``, and which does it?

A cell is ``DATA+option=value+.../LEARNER+option=value+...``; that text is its name in
tables and its path.  It holds only characters that are safe everywhere: Snakemake
splits a list of targets at a comma, and ``:`` and ``%`` trouble Windows, scp and
Slurm's logs.  How values are spelled: :mod:`kerhrm_paper.config.values`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from kerhrm.algorithm.options import AuxiliaryOptions, KerHRMOptions
from kerhrm.errors import KerhrmError, shown, suggest
from kerhrm_paper.config.nameable import Misspelled, Nameable, Schema
from kerhrm_paper.config.values import read_value, spell_value

#: options of KerHRM in earlier versions, and what they are now
RENAMED = {**KerHRMOptions.renamed, **AuxiliaryOptions.renamed}
LONGEST = 100  #: characters of a part
_CHARACTERS = re.compile(r"[A-Za-z0-9_.=+-]+")


Named = Mapping[str, Any]  #: options of a name, by key
SchemaOf = Callable[[str], Schema]  #: options of a base; KerhrmError if there is none


class ParsedName(NamedTuple):
    """A name of data or of a learner, read.

    Attributes
    ----------
    base : str
        The name without options.
    options : mapping
        Values by key.
    """

    base: str
    options: Named


class UnknownOption(KerhrmError):
    """An option that a base does not have; maybe another one does."""

    def __init__(self, problem: str, hint: str, key: str) -> None:
        super().__init__(problem, hint)
        self.key = key


def base_of(name: str) -> str:
    """A name without its options."""
    return name.partition("+")[0]


def unselected(learner: str) -> str:
    """A learner's name without the criterion that has selected its options."""
    kept = []
    for word in learner.split("+"):
        if not word.startswith("select="):
            kept.append(word)
    return "+".join(kept)


def spell(base: str, options: Named, schema: Schema) -> str:
    """The name of a base with some options, by key, in declared order.

    Raises KerhrmError if one of them is unknown or has no spelling, or the name is too
    long.
    """
    for key in options:
        if key not in schema:
            raise _unknown(base, key, schema)
    words = [base]
    for key in schema:
        if key in options:
            word = _spelled(base, key, options[key])
            words.append(word)
    name = "+".join(words)
    _check_length(name)
    return name


def _spelled(base: str, key: str, value: Any) -> str:
    """The word ``option=value`` of a name; KerhrmError if there is none."""
    try:
        spelled = spell_value(value)
    except ValueError as error:
        problem = f"{base}: {key}={shown(value)}: {error}"
        hint = "give the option to a learner, or a data set, of its own"
        raise KerhrmError(problem, hint) from error
    return f"{key}={spelled}"


def parse(text: str, schema_of: SchemaOf) -> ParsedName:
    """The base and the options, by key, of a name.

    ``schema_of`` gives the options of a base, and raises KerhrmError if there is none.

    Raises KerhrmError if the name is no name, has an unknown option, a value that does
    not fit, an option twice, or another spelling than :func:`spell` gives it.
    """
    _check_length(text)
    base, *words = text.split("+")
    if not base or not _is_name(text):
        raise _no_name(text, schema_of)
    schema = schema_of(base)
    options: dict[str, Any] = {}
    for word in words:
        key, _, _ = word.partition("=")
        if key in options:
            raise KerhrmError(f"{text}: {key} is given twice", "write it once")
        options[key] = _value(text, word, schema)
    _check_groups(text, options)
    canonical = spell(base, options, schema)
    if canonical != text:
        problem = f"{text}: its options are in another order"
        raise KerhrmError(problem, f"write {canonical}")
    return ParsedName(base, options)


def _is_name(text: str) -> bool:
    """Whether a text has only characters of names, and means no folder above."""
    if ".." in text:
        return False
    return bool(_CHARACTERS.fullmatch(text))


def _no_name(text: str, schema_of: SchemaOf) -> KerhrmError:
    """Error of a text that is no name, as one with a / for a +, or a comma."""
    joined = text.replace("/", "+")
    listed = text.replace(",", "_")
    hint = "write BASE+option=value+..., of letters, digits and _.=+-"
    if "/" in text and _is_name(joined):
        hint = "DATA/LEARNER is a cell of two names; write data and learner apart"
        _, *options = re.split(r"[/+]", text)
        if all("=" in option for option in options):
            hint = f"write {joined}"
    if "," in text and "," not in base_of(text) and _is_name(listed):
        hint = _without_commas(text, schema_of)
    return KerhrmError(f"{shown(text)} must be a name", hint)


def _without_commas(text: str, schema_of: SchemaOf) -> str:
    """Hint of how to write a text whose values have commas.

    They are decimal commas, or between the numbers of a list where the option takes
    one.  Raises KerhrmError for a value that is neither, and as ``schema_of`` does.
    """
    base, *words = text.split("+")
    schema = schema_of(base)
    hint = "write"
    corrected = [base]
    for word in words:
        key, _, value = word.partition("=")
        if "," in word:
            numbers = _numbers(schema.get(key), value)
            if numbers is None:
                _value(text, word, schema)  # raises the error of its option
            word = f"{key}={spell_value(numbers)}"
            if isinstance(numbers, list) and "_" not in value:
                hint = "numbers of a list are joined by _, as in"
        corrected.append(word)
    return f"{hint} {'+'.join(corrected)}"


def _numbers(option: Nameable | None, text: str) -> list[Any] | int | float | None:
    """The number or list that an option's value with commas stands for, if any."""
    if option is None or option.group:
        return None
    pointed = text.replace(",", ".")
    listed = text.replace(",", "_")
    # between numbers that are joined by _ already, commas are decimal
    readings = [pointed, listed] if "_" in text else [listed, pointed]
    for reading in readings:
        try:
            value = read_value(option.annotation, reading)
        except ValueError:
            continue
        if isinstance(value, list | int | float):
            return value
    return None


def _value(text: str, word: str, schema: Schema) -> Any:
    """The value in a word ``option=value`` of a name."""
    if not word:
        raise KerhrmError(f"{text}: an option is missing behind a +", "delete the +")
    key, _, value = word.partition("=")
    if key not in schema:
        raise _unknown(text, key, schema)
    option = schema[key]
    if not value:
        hint = f"write {key}=VALUE: {option.values}"
        raise KerhrmError(f"{text}: {key} has no value", hint)
    try:
        return option.read(value)
    except Misspelled as error:
        words = text.split("+")
        words[words.index(word)] = error.word
        canonical = "+".join(words)
        raise KerhrmError(f"{text}: {error}", f"write {canonical}") from error
    except ValueError as error:
        problem, _, hint = str(error).partition("; ")
        hint = hint or f"kerhrm options {base_of(text)} lists what options take"
        raise KerhrmError(f"{text}: {problem}", hint) from error


def _check_groups(text: str, options: Named) -> None:
    """Refuse an option of a group that the name leaves out."""
    for key in options:
        for group in _groups(key):
            if group in options:
                problem = f"{text}: {group}=none leaves {key} out"
                raise KerhrmError(problem, "delete one of them")


def _groups(key: str) -> Iterator[str]:
    """Groups that an option is in: of ``a.b.c``, ``a`` and ``a.b``."""
    group, dot, _ = key.rpartition(".")
    while dot:
        yield group
        group, dot, _ = group.rpartition(".")


def _unknown(where: str, key: str, schema: Schema) -> KerhrmError:
    name = shown(key).strip("'")
    problem = f"{where}: no option is called '{name}'"
    base = base_of(where)
    renamed = RENAMED.get(key)
    if renamed in schema:
        return KerhrmError(problem, f"it is {renamed} now")
    return UnknownOption(problem, _hint(base, key, schema), key)


def _hint(base: str, key: str, known: Collection[str]) -> str:
    """Hint for an unknown option: the nearest one, or where all are listed."""
    hint = suggest(key, known) if known else ""
    if "did you" in hint:
        return hint
    return f"kerhrm options {base} lists them"


def _check_length(text: str) -> None:
    """Refuse a name that is too long for a folder."""
    if len(text) > LONGEST:
        problem = f"{shown(text)} has {len(text)} characters, more than {LONGEST}"
        hint = "give its options to a learner, or a data set, of its own"
        raise KerhrmError(problem, hint)


def tree(options: Named) -> dict[str, Any]:
    """Options by dotted key as nested ones.

    Examples
    --------
    >>> tree({"k": [5], "pretest.level": 0.1})
    {'k': [5], 'pretest': {'level': 0.1}}
    """
    nested: dict[str, Any] = {}
    for key, value in options.items():
        *groups, last = key.split(".")
        innermost = nested
        for group in groups:
            innermost = innermost.setdefault(group, {})
        innermost[last] = value
    return nested
