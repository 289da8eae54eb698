"""Do any two cells of the configuration end in one row of a table?"""

import functools
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping

from kerhrm.errors import KerhrmError, shown
from kerhrm_paper.config.fields import Names, nearest
from kerhrm_paper.config.files import Key, Sources
from kerhrm_paper.config.references import (
    constant_titles,
    reference_titles,
    titles_of_packages,
)
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Alternative, Whole
from kerhrm_paper.config.views import Row, TableView

#: columns of a table beside its settings, or its methods
COLUMNS = ("method", "selection", "setting")
BY_ENVIRONMENT = ("shift", "period")  #: kinds with a row for each test environment
#: characters without a shape that Unicode counts among letters and marks
BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
#: characters without a shape that select a variant of the one before
SELECTORS = (
    *range(0x180B, 0x180E),
    *range(0xFE00, 0xFE10),
)
PlacedText = tuple[Key, str]  #: a text of the files, with its key
Output = tuple[Row, str]  #: what a table shows of a cell, and of which output
Onlys = list[str | None]  #: titles of the rows that alternatives change
HINT = "give one of them another label or title"


@functools.cache
def plain(text: str) -> str:
    """Text without what a reader hardly sees.

    Case, spaces more than one, and characters of no width.
    """
    visible = ""
    for character in unicodedata.normalize("NFKC", text):
        if not _is_invisible(character):
            visible += character
    words = visible.split()
    return " ".join(words).casefold()


def _is_invisible(character: str) -> bool:
    """Whether a character has no width, or no shape."""
    if character.isspace():
        return False
    if character in BLANKS or ord(character) in SELECTORS:
        return True
    category = unicodedata.category(character)
    return category in ("Cc", "Cf")


# --- titles and labels ---------------------------------------------------------------


def check_titles(sources: Sources, whole: Whole) -> None:
    """Refuse titles and labels that cannot name a row beside those of all tables."""
    _check_titles_of_packages(whole)
    titles = map(plain, reference_titles())
    references = set(titles)
    for key, title in _titles(whole):
        if plain(title) in references:
            problem = "it is the name of a reference"
            raise sources.error(key, problem, "choose another")
        if not _names_row(title):
            problem = "it cannot name a row"
            raise sources.error(key, problem, "choose another title")
    for key, label in _labels(whole):
        if not _names_row(label):
            problem = "it cannot name a row"
            raise sources.error(key, problem, "choose another label")


def _check_titles_of_packages(whole: Whole) -> None:
    """Refuse references of other packages with the title of another row."""
    taken = {plain(title): "a constant" for title in constant_titles()}
    for key, title in _titles(whole):
        taken[plain(title)] = f"the learner {key[1]}"
    for title, package in titles_of_packages().items():
        problem = f"{package}: its reference {shown(title)}"
        owner = taken.get(plain(title))
        if owner is not None:
            hint = "give one of them another title"
            raise KerhrmError(f"{problem} has the title of {owner}", hint)
        if not _names_row(title):
            raise KerhrmError(f"{problem} cannot name a row", "choose another title")


def _titles(whole: Whole) -> Iterator[PlacedText]:
    """Titles of the learners, with their keys."""
    for name, learner in whole.learners.items():
        for output, title in learner.titles.items():
            key = ("learners", name, "titles", output)
            yield key, title


def _labels(whole: Whole) -> Iterator[PlacedText]:
    """Labels of options and of the data of tables, with their keys.

    An option whose label is empty is left out.
    """
    for option, label in whole.labels.items():
        if label:
            yield ("labels", option), label
    for name, table in whole.tables.items():
        for option, label in table.labels.items():
            if label:
                yield ("tables", name, "labels", option), label
        for data_name, data in table.data.items():
            if data.label is not None:
                key = ("tables", name, "data", data_name, "label")
                yield key, data.label


def _names_row(text: str) -> bool:
    """Whether a text can be seen, and is no column's."""
    seen = plain(text)
    return bool(seen) and seen not in COLUMNS


# --- alternatives --------------------------------------------------------------------


def check_alternatives(sources: Sources, whole: Whole) -> None:
    """Refuse alternatives whose effect nothing could measure, or that are measured
    twice."""
    titles: set[str] = set()
    for learner in whole.learners.values():
        titles.update(learner.titles.values())
    changed: dict[tuple[str, str], Onlys] = defaultdict(list)
    for key, alternative in _alternatives(whole):
        _check_alternative_titles(sources, key, alternative, titles)
        _check_where(sources, key, alternative, whole)
        name = alternative.name
        only = alternative.only
        for data in alternative.places:
            others = changed[data, name]
            if _is_taken(only, others):
                problem = f"'{name}' stands for another one on {data}"
                raise sources.error(key, problem, "delete one, or add `only`")
            others.append(only)


def _alternatives(whole: Whole) -> Iterator[tuple[Key, Alternative]]:
    """Alternatives of all choices, with their keys."""
    for name, choice in whole.choices.items():
        for number, alternative in enumerate(choice.alternatives):
            key = ("choices", name, "alternatives", number)
            yield key, alternative


def _check_alternative_titles(
    sources: Sources, key: Key, alternative: Alternative, titles: Names
) -> None:
    """Refuse titles that no learner has."""
    for field in ("only", "title", "instead"):
        title = getattr(alternative, field)
        if title is not None and title not in titles:
            problem = f"no learner has the title '{title}'"
            place = (*key, field)
            hint = nearest(title, sorted(titles))
            raise sources.error(place, problem, hint)


def _check_where(
    sources: Sources, key: Key, alternative: Alternative, whole: Whole
) -> None:
    """Refuse data sets that are not there."""
    for number, data in enumerate(alternative.where):
        if data not in whole.data:
            place = (*key, "where", number)
            problem = f"no data set is called '{data}'"
            hint = nearest(data, whole.data)
            raise sources.error(place, problem, hint)


def _is_taken(only: str | None, others: Onlys) -> bool:
    """Whether alternatives of the same name change a row already.

    Each changes the row of one title ``only``, or all rows, if that is None.
    """
    if not others:
        return False
    return only is None or None in others or only in others


# --- rows ----------------------------------------------------------------------------


def check_rows(tables: Mapping[str, TableView], resolver: Resolver) -> None:
    """Refuse cells of a table that would end in one row, where seeds are pooled, and
    data that would end in one setting, where methods are compared.

    A row has a setting's text, a title and a selection criterion.
    """
    for name, table in tables.items():
        _check_cells(resolver, name, table)
        _check_settings(resolver, name, table)


def _check_cells(resolver: Resolver, name: str, table: TableView) -> None:
    """Refuse cells that would end in one row."""
    owners: dict[tuple[str, ...], Output] = {}
    for row, output in _outputs(table):
        data = resolver.data(row.data)
        title = row.titles[output]
        setting = _setting(table.kind, data.generator, row.setting)
        title_in_row = plain(title)
        key = (setting, title_in_row, row.selection)
        if key not in owners:
            owners[key] = (row, output)
            continue
        owner, other_output = owners[key]
        if (owner, other_output) == (row, output):
            problem = f"{row.learner} is shown by `select` already"
            hint = "leave it out of learners"
            raise _shown_twice(resolver, name, row, problem, hint)
        is_same = (owner.data, owner.trained) == (row.data, row.trained)
        if is_same and other_output == output:
            problem = f"{owner.learner} and {row.learner} are the same"
            hint = "leave one of them out of learners"
            raise _shown_twice(resolver, name, row, problem, hint)
        raise resolver.sources.error(
            ("tables", name, "data", row.data),
            f"its row '{row.setting}', '{title}' "
            f"is of {row.data}/{row.learner}, {output}, "
            f"and of {owner.data}/{owner.learner}, {other_output}",
            HINT,
        )


def _check_settings(resolver: Resolver, name: str, table: TableView) -> None:
    """Refuse data in the setting of others: references of both would be one row, and
    methods on either would be compared as if they had the same data."""
    owners: dict[str, str] = {}
    for data, text in _settings(table):
        generator = resolver.data(data).generator
        setting = _setting(table.kind, generator, text)
        owner = owners.setdefault(setting, data)
        if owner == data:
            continue
        hint = "give one of them another label"
        if table.kind == "iterations" or table.kind in BY_ENVIRONMENT:
            hint = "give one of them a label with a comma, and words of its own behind"
        raise resolver.sources.error(
            ("tables", name, "data", data),
            f"its setting '{text}' is that of {owner}, too",
            hint,
        )


def _settings(table: TableView) -> Iterator[tuple[str, str]]:
    """Data of a table with what it calls them, alone and with learners' options."""
    yield from table.labels.items()
    for row in table.rows:
        yield row.data, row.setting


def _shown_twice(
    resolver: Resolver, table: str, row: Row, problem: str, hint: str
) -> KerhrmError:
    """Error of a learner that a table shows on some data already."""
    key: Key = ("tables", table, "data", row.data, "learners")
    of_data = resolver.whole.tables[table].data.get(row.data)
    if of_data is None or of_data.learners is None:
        key = ("tables", table, "learners")
    return resolver.sources.error(key, problem, hint)


def _outputs(table: TableView) -> Iterator[Output]:
    """Rows of a table, one for each output."""
    for row in table.rows:
        for output in row.titles:
            yield row, output


def _setting(kind: str, generator: str, text: str) -> str:
    """What tells a setting's rows apart from those of another one in the table.

    Rows of test environments or iterations have the names of these in the place of
    what stands before the first comma.
    """
    _, _, rest = text.partition(",")
    if kind == "iterations":
        return plain(rest)
    if kind in BY_ENVIRONMENT:
        return f"{generator},{plain(rest)}"
    return plain(text)
