"""Which values may a key of the files have, and which name may an unknown one mean?"""

import re
from collections.abc import Collection
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from kerhrm.errors import (
    known_are,
    similar,
)
from kerhrm.options import (
    NonEmpty,
    NotBool,
)
from kerhrm_paper.config.run_folder import no_folder

MAX_SEEDS = 10_000
MAX_THREADS = 256
MAX_OFFSET = 2**62  #: of seeds, which have 64 bits
DEVICES = "auto, cpu, cuda or cuda:N"

Item = TypeVar("Item")
Names = Collection[str]  #: that are known
OptionValues = dict[str, Any]


def check_name(name: str) -> str:
    """Refuse a name that cannot be a folder or a target."""
    is_plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_=.+-]{0,79}", name)
    if not is_plain or ".." in name:
        raise ValueError(
            "must be up to 80 letters, digits and _=.+-, and not begin with a sign"
        )
    if name.endswith("."):
        raise ValueError("must not end with a full stop")
    return name


def check_base(name: str) -> str:
    """Refuse a name to which no options could be added."""
    if "+" in name or "=" in name:
        raise ValueError(
            "options follow a + behind the name; choose one without + and ="
        )
    return check_name(name)


def matching(pattern: str, text: str) -> AfterValidator:
    """Refuse text that does not match, in words."""

    def check(value: str) -> str:
        if re.fullmatch(pattern, value):
            return value
        raise ValueError(text)

    return AfterValidator(check)


_NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?![\w.])")


def _same_numbers(word: str, names: Names) -> list[str]:
    """Names that differ from a word in how numbers are written, as r2=0.7, r2=0.70."""

    def short(number: re.Match[str]) -> str:
        return f"{float(number[0]):g}"

    def plain(text: str) -> str:
        return _NUMBER.sub(short, text.casefold())

    plain_word = plain(word)
    return [name for name in names if plain(name) == plain_word]


def _other_numbers(word: str, names: Names) -> list[str]:
    """Names that differ from a word in the numbers alone, as r2=0.6 and r2=0.70."""

    def bare(text: str) -> str:
        return _NUMBER.sub("#", text.casefold())

    bare_word = bare(word)
    if "#" not in bare_word:
        return []
    return [name for name in names if bare(name) == bare_word]


def closest(word: str, names: Names) -> str | None:
    """Hint for a name that may be another one in another spelling; None if none is.

    Of two numbers only equal ones are spellings of each other.
    """
    same = _same_numbers(word, names)
    if same:
        return _did_you_mean(same[0])
    others = _other_numbers(word, names)
    if len(others) > 1:
        return known_are(others)
    close = similar(word, names)
    return _did_you_mean(close) if close else None


def _did_you_mean(name: str) -> str:
    return f"did you mean '{name}'?"


def nearest(word: str, names: Names) -> str:
    """Hint for a name that is unknown: the nearest one, or all if they are few."""
    return closest(word, names) or known_are(names)


def _without_null(entries: Any) -> Any:
    """Leave out entries that a file sets to null."""
    if not isinstance(entries, dict):
        return entries
    kept = dict(entries)
    for name, entry in entries.items():
        if entry is None:
            del kept[name]
    return kept


def _differ(items: list[Item]) -> list[Item]:
    for number, item in enumerate(items):
        if item in items[:number]:
            raise ValueError(f"{item!r} is given twice; write it once")
    return items


def _check_there(folder: str) -> str:
    """Refuse a folder that is not there."""
    problem = no_folder(folder)
    if problem:
        raise ValueError(f"it {problem}")
    return folder


Name = Annotated[str, AfterValidator(check_name)]
BaseName = Annotated[str, AfterValidator(check_base)]
SeedNumber = Annotated[int, Field(gt=0, le=MAX_SEEDS), NotBool]
Differing = AfterValidator(_differ)
WithoutNull = BeforeValidator(_without_null)
ByName = Annotated[dict[str, Item], WithoutNull]
Entries = Annotated[dict[Name, Item], NonEmpty, WithoutNull]
Bases = Annotated[dict[BaseName, Item], NonEmpty, WithoutNull]
Folder = Annotated[str, AfterValidator(_check_there)]
PLAIN_PATH = matching(
    r"[^\x00-\x1f]*",
    "must be a path without line breaks, tabs and other control characters; "
    "give it another name",
)
FolderName = Annotated[
    str,
    PLAIN_PATH,
    matching(
        r"(?!\w{2,}:/)[\s\S]*",
        "must be a folder of this machine, not an address; write the path of a mount",
    ),
    matching(
        r"[^\ud800-\udfff]*",
        "must be text in the encoding of this machine; rename the folder",
    ),
    matching(
        r"[^{}<>$]+",
        "must be a path without { } < > $; "
        "write the folder out: variables are not replaced",
    ),
]
