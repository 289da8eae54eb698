"""What the paper leaves open or says in two ways: the catalogue, and how each choice is flipped.

``config/ambiguities.yaml`` has the paper's words, the released code's choice and ours; the
experiments ``ambiguities_*`` have, for each kind of data, a first setting with every default and
others in which one choice is flipped: ``r2=0.80`` and ``r2=0.80,target=label``, say.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ValidationError, model_validator

from kerhrm.config.files import read
from kerhrm.config.names import Name, SettingName
from kerhrm.config.schema import Experiment
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS, ROWS
from kerhrm.sections import NonEmpty, Section, Some, option

PREFIX = "ambiguities_"  #: of the experiments' names
Kind = Literal["classification", "regression", "colored_mnist", "houses"]
Text = Annotated[str, NonEmpty]
Tree = dict[str, Any]


class Quotation(Section):
    """Words of the paper."""

    words: Text = option(..., "as printed")
    where: Text = option(..., "section, appendix, algorithm or table")


class Flip(Section):
    """One other choice, and where it is measured.

    Either ``mark`` names settings, or ``method`` a row of the defaults' own setting, which is
    compared with another row (``instead``) or with itself as chosen by another ``rule``.
    """

    to: Text = option(..., "the other choice, in words")
    where: Some[Kind] = option(..., "kinds of data")
    mark: SettingName | None = option(None, "what stands behind the comma of the flipped setting")
    only: str | None = option(None, "title of the row that it can change; null: all that run")
    method: str | None = option(None, "a row's title")
    instead: str | None = option(None, "title of the row that is taken instead")
    rule: str | None = option(None, "selection rule that is taken instead")

    @property
    def name(self) -> str:
        """Short, and one of a kind."""
        return self.mark or f"{self.method}: {self.instead or self.rule}"

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        titles = {row.title for row in ROWS.values()}
        if (self.mark is None) == (self.method is None):
            raise ValueError("give a mark or a method")
        if self.method is not None and (self.instead is None) == (self.rule is None):
            raise ValueError("give instead or rule")
        for title in filter(None, (self.only, self.method, self.instead)):
            if title not in titles:
                raise ValueError(f"no row is called '{title}'")
        return self


class Ambiguity(Section):
    """A choice that the paper leaves open, or makes in two ways."""

    title: Text = option(..., "the choice")
    paper: Some[Quotation] = option(..., "what the paper says of it")
    released: Text = option(..., "what the released code does")
    default: Text = option(..., "what is done here")
    because: Text = option(..., "why")
    flips: list[Flip] = option([], "other choices whose effect is measured")
    unmeasured: Text | None = option(None, "why none is")

    @model_validator(mode="after")
    def _is_measured_or_says_why_not(self) -> Self:
        if bool(self.flips) == (self.unmeasured is not None):
            raise ValueError("give flips, or say in unmeasured why there are none")
        return self


class Catalogue(Section):
    """All of them."""

    entries: Annotated[dict[Name, Ambiguity], NonEmpty] = option(..., "by name")

    @property
    def flips(self) -> list[tuple[str, Flip]]:
        """Every flip, with its entry's name."""
        return [(name, flip) for name, one in self.entries.items() for flip in one.flips]

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [flip.name for _, flip in self.flips]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two flips are called {', '.join(sorted(twice))}")
        return self


def load_catalogue(path: Path) -> Catalogue:
    """Read ``ambiguities.yaml``; a :class:`KerhrmError` tells the first thing that is wrong."""
    source = read(path)
    try:
        return Catalogue(entries=source.content)
    except ValidationError as error:
        found = error.errors()[0]
        raise source.error(found["loc"][1:], found["msg"].removeprefix("Value error, ")) from error


def study(experiments: Mapping[str, Experiment]) -> list[str]:
    """Names of the experiments that measure flips."""
    return [name for name in experiments if name.startswith(PREFIX)]


def kind_of(experiment: str) -> str:
    """Kind of data of an experiment: ``ambiguities_houses`` and ``ambiguities_houses-more``."""
    return experiment.removeprefix(PREFIX).partition("-")[0]


def mark_of(setting: str) -> str:
    """What is flipped in a setting; nothing in the one with all defaults."""
    return setting.partition(",")[2]


def changes(experiments: Mapping[str, Experiment]) -> dict[tuple[str, str], Tree]:
    """What each flipped setting says other than the defaults' one, by kind of data and mark.

    Keys as in an experiment's file; a setting in which nothing differs has an empty mapping.

    Raises
    ------
    KerhrmError
        If an experiment has no setting with all defaults, and no other of its kind has one.
    """
    settings = [
        (kind_of(name), mark_of(setting), _told(experiments[name], setting))
        for name in study(experiments)
        for setting in experiments[name].settings
    ]
    bases = {kind: told for kind, mark, told in settings if not mark}
    if missing := {kind for kind, _, _ in settings} - bases.keys():
        what = f"{PREFIX}{missing.pop()} has no setting without a flip"
        raise KerhrmError(what, "add one whose name has no comma")
    return {(kind, mark): _difference(bases[kind], told) for kind, mark, told in settings if mark}


def _told(experiment: Experiment, setting: str) -> Tree:
    """All that the results of a setting depend on, but for methods that do not run."""
    one = experiment.settings[setting]
    sections = {METHODS[method].section for method in one.run}
    told = one.model_dump(mode="json", include={"data": True, "methods": sections})
    whole = {"seeds", "network", "features", "protocol"}
    return experiment.model_dump(mode="json", include=whole) | told


def _difference(base: Tree, other: Tree) -> Tree:
    """What of ``other`` differs from ``base``, as a tree."""
    found = {}
    for key, value in other.items():
        known = base.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            if inside := _difference(known, value):
                found[key] = inside
        elif value != known:
            found[key] = value
    return found
