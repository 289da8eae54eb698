"""Types of values in the configuration's files.

A name that refers to something is checked against the validation's context, the names
of all files: ``learners``, ``data``, ``settings`` (as ``DATA/SETTING``), ``titles`` and
``criteria``.  Without a context nothing is checked.
"""

import fnmatch
import itertools
import re
from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationInfo,
)

from kerhrm.options import Natural, NonEmpty, Some, similar
from kerhrm.paper.config.run_folder import no_folder

MAX_SEEDS = 10_000
MAX_THREADS = 256
DEVICES = "auto, cpu, cuda or cuda:N"
NOBODY = "none"  #: in the place of a learner whose options are taken
MANY = 12  #: names that an error does not list

Item = TypeVar("Item")
Values = dict[str, Any]
Cell = tuple[str, str, str]  #: data set, setting, learner


def check_name(name: str) -> str:
    """Refuse a name that cannot be a folder or a target."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_=.+-]{0,79}", name) or ".." in name:
        raise ValueError(
            "must be up to 80 letters, digits and _=.+-, and not begin with a sign"
        )
    if name.endswith("."):
        raise ValueError("must not end with a full stop")
    return name


def matching(pattern: str, text: str) -> AfterValidator:
    """Refuse text that does not match, in words."""

    def check(value: str) -> str:
        if re.fullmatch(pattern, value):
            return value
        raise ValueError(text)

    return AfterValidator(check)


_NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?![\w.])")


def _same_numbers(word: str, names: Collection[str]) -> list[str]:
    """Names that differ from a word in how numbers are written, as r2=0.7, r2=0.70."""

    def plain(text: str) -> str:
        return _NUMBER.sub(lambda number: f"{float(number[0]):g}", text.casefold())

    return [name for name in names if plain(name) == plain(word)]


def _other_numbers(word: str, names: Collection[str]) -> list[str]:
    """Names that differ from a word in the numbers alone, as r2=0.6 and r2=0.70."""
    bare = [_NUMBER.sub("#", text.casefold()) for text in (word, *names)]
    fit = (name for name, one in zip(names, bare[1:], strict=True) if one == bare[0])
    return list(fit) if "#" in bare[0] else []


def closest(word: str, names: Collection[str]) -> str | None:
    """Hint for a name that may be another one in another spelling; None if none is.

    Of two numbers only equal ones are spellings of each other.
    """
    same = _same_numbers(word, names)
    others = _other_numbers(word, names)
    if not same and len(others) > 1:
        return _listed(others)
    close = same[0] if same else similar(word, names)
    return f"did you mean '{close}'?" if close else None


def nearest(word: str, names: Collection[str]) -> str:
    """Hint for a name that is unknown: the nearest one, or all if they are few."""
    return closest(word, names) or _listed(names)


def _listed(names: Collection[str]) -> str:
    """Hint of the names that are known, or the first ones."""
    if len(names) <= MANY:
        return f"known are: {', '.join(names)}"
    shown = ", ".join(list(names)[:MANY])
    return f"known are: {shown} and {len(names) - MANY} more"


def _known(kind: str, free: str = "") -> AfterValidator:
    """Refuse a name that is not among those of a kind, nor the ``free`` one."""

    def check(name: str, info: ValidationInfo) -> str:
        names = info.context
        if names is None or name in names[kind] or name == free:
            return name
        raise ValueError(f"'{name}' is unknown; {nearest(name, names[kind])}")

    return AfterValidator(check)


def _matches(
    kind: str, matches: Callable[[str, str], bool], other: str = ""
) -> AfterValidator:
    """Refuse a pattern that ``matches`` no name of a kind.

    Names of the ``other`` kind are proposed, too.
    """

    def check(pattern: str, info: ValidationInfo) -> str:
        names = info.context
        if names is None or any(matches(name, pattern) for name in names[kind]):
            return pattern
        hint = nearest(pattern, [*names.get(other, ()), *names[kind]])
        raise ValueError(f"'{pattern}' matches nothing; {hint}")

    return AfterValidator(check)


def is_at(place: str, pattern: str) -> bool:
    """Whether a pattern, or a data set, has the place ``DATA/SETTING``."""
    whole = pattern if "/" in pattern else f"{pattern}/*"
    return fnmatch.fnmatchcase(place, whole)


def _without_null(entries: Any) -> Any:
    """Leave out entries that a file sets to null."""
    if not isinstance(entries, dict):
        return entries
    return {name: one for name, one in entries.items() if one is not None}


def _differ(items: list[Item]) -> list[Item]:
    for number, item in enumerate(items):
        if item in items[:number]:
            raise ValueError(f"{item!r} is given twice; write it once")
    return items


def _spell_out(seeds: Any) -> Any:
    """``10``: 0 to 9, the same in every stream; ``crossed: 4``: all combinations of
    four each."""
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if not 0 < seeds <= MAX_SEEDS:
            raise ValueError(f"write a number from 1 to {MAX_SEEDS}")
        seeds = list(range(seeds))
    if isinstance(seeds, dict) and set(seeds) == {"crossed"}:
        n = TypeAdapter(Annotated[int, Field(gt=0, le=20)]).validate_python(
            seeds["crossed"]
        )
        return list(itertools.product(range(n), repeat=3))
    if not isinstance(seeds, list):
        raise ValueError("write a number, a list of seeds, or crossed: N")
    return [seed if isinstance(seed, list | tuple) else (seed,) * 3 for seed in seeds]


def _differing_seeds(seeds: list[Any]) -> list[Any]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed is given twice; write each once")
    return seeds


def _check_there(folder: str) -> str:
    """Refuse a folder that is not there."""
    if wrong := no_folder(folder):
        raise ValueError(f"it {wrong}")
    return folder


Name = Annotated[str, AfterValidator(check_name)]
Place = Annotated[str, matching("[^/]+/[^/]+", "must be DATA/SETTING")]
DataName = Annotated[str, _known("data")]
LearnerName = Annotated[str, _known("learners")]
Selected = Annotated[str, _known("learners", NOBODY)]
Title = Annotated[str, _known("titles")]
Criterion = Annotated[str, _known("criteria")]
#: as ``classification``, ``classification/r2=0.70`` or ``regression/*r=1.5``
PlacePattern = Annotated[str, _matches("settings", is_at, "data")]
LearnerPattern = Annotated[str, _matches("learners", fnmatch.fnmatchcase)]
Differing = AfterValidator(_differ)
WithoutNull = BeforeValidator(_without_null)
Entries = Annotated[dict[Name, Item], NonEmpty, WithoutNull]
Criteria = Literal["all", "own"]
Shown = Literal["all", "own", "others"]
#: seeds of the data, of the initial weights w_0 and of all random initialisations
Replicate = tuple[Natural, Natural, Natural]
Seeds = Annotated[
    Some[Replicate], BeforeValidator(_spell_out), AfterValidator(_differing_seeds)
]
Folder = Annotated[str, AfterValidator(_check_there)]
FolderName = Annotated[
    str,
    matching(
        r"[^{}<>$\x00-\x1f]+",
        "must be a path without { } < > $ and line breaks; "
        "write the folder out: variables are not replaced",
    ),
]
