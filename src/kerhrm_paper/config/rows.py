"""Do any two cells of the configuration end in one row of a table?"""

import functools
import unicodedata
from collections.abc import Iterator, Mapping

from kerhrm_paper.config.fields import Names, nearest
from kerhrm_paper.config.files import Key, Sources
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Alternative, Whole
from kerhrm_paper.config.views import Row, TableView

#: titles of rows that no learner makes, at each kind of score or generator
REFERENCES = (
    "ref: majority",
    "ref: predict zero",
    "ref: predict the mean",
    "ref: each period's own mean",
    "ref: Bayes pooled",
    "ref: invariant ceiling",
    "ref: least squares on S",
    "ref: structural function",
)
#: columns of a table beside its settings, or its methods
COLUMNS = ("method", "selection", "setting")
ENVIRONMENTS = ("shift", "period")  #: kinds with a row for each test environment
#: characters without a shape that Unicode counts among letters and marks
BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
SELECTORS = (*range(0x180B, 0x180E), *range(0xFE00, 0xFE10))  #: of variants; no shape
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
    return unicodedata.category(character) in ("Cc", "Cf")


# --- titles and labels ---------------------------------------------------------------


def check_titles(sources: Sources, whole: Whole) -> None:
    """Refuse titles and labels that cannot name a row beside those of all tables."""
    references = {plain(title) for title in REFERENCES}
    for name, learner in whole.learners.items():
        for output, title in learner.titles.items():
            key: Key = ("learners", name, "titles", output)
            if plain(title) in references:
                problem = "it is the name of a reference"
                raise sources.error(key, problem, "choose another")
            if not _names_row(title):
                raise sources.error(key, "it cannot name a row", "choose another title")
    for name, table in whole.tables.items():
        for data_name, data in table.data.items():
            if data.label is not None and not _names_row(data.label):
                at: Key = ("tables", name, "data", data_name, "label")
                raise sources.error(at, "it cannot name a row", "choose another label")


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
    taken: dict[tuple[str, str], Onlys] = {}
    for choice, content in whole.choices.items():
        for number, alternative in enumerate(content.alternatives):
            key: Key = ("choices", choice, "alternatives", number)
            _check_alternative_titles(sources, key, alternative, titles)
            _check_where(sources, key, alternative, whole)
            for data in alternative.places:
                change = (data, alternative.name)
                others = taken.setdefault(change, [])
                if _is_taken(alternative.only, others):
                    problem = f"'{alternative.name}' stands for another one on {data}"
                    raise sources.error(key, problem, "delete one, or add `only`")
                others.append(alternative.only)


def _check_alternative_titles(
    sources: Sources, key: Key, alternative: Alternative, titles: Names
) -> None:
    """Refuse titles that no learner has."""
    for field in ("only", "title", "instead"):
        title = getattr(alternative, field)
        if title is not None and title not in titles:
            problem = f"no learner has the title '{title}'"
            place = (*key, field)
            raise sources.error(place, problem, nearest(title, sorted(titles)))


def _check_where(
    sources: Sources, key: Key, alternative: Alternative, whole: Whole
) -> None:
    """Refuse data sets that are not there."""
    for number, data in enumerate(alternative.where):
        if data not in whole.data:
            place = (*key, "where", number)
            problem = f"no data set is called '{data}'"
            raise sources.error(place, problem, nearest(data, whole.data))


def _is_taken(only: str | None, others: Onlys) -> bool:
    """Whether alternatives of the same name change a row already.

    Each changes the row of one title ``only``, or all rows, if that is None.
    """
    if not others:
        return False
    return only is None or None in others or only in others


# --- rows ----------------------------------------------------------------------------


def check_rows(
    sources: Sources, tables: Mapping[str, TableView], resolver: Resolver
) -> None:
    """Refuse cells of a table that would end in one row, where seeds are pooled.

    A row has a setting's text, a title and a selection criterion.
    """
    for name, table in tables.items():
        owners: dict[tuple[str, ...], Output] = {}
        for row, output in _outputs(table):
            data = resolver.data(row.data)
            setting = _setting(table.kind, data.generator, row.setting)
            title = row.titles[output]
            key = (setting, plain(title), row.selection)
            owner, other_output = owners.setdefault(key, (row, output))
            if (owner, other_output) != (row, output):
                raise sources.error(
                    ("tables", name, "data", row.data),
                    f"its row '{row.setting}', '{title}' "
                    f"is of {row.data}/{row.learner}, {output}, "
                    f"and of {owner.data}/{owner.learner}, {other_output}",
                    HINT,
                )


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
    if kind in ENVIRONMENTS:
        return f"{generator},{plain(rest)}"
    return plain(text)
