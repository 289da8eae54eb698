"""Rows of tables: no two cells of the configuration end in one."""

import functools
import unicodedata
from collections.abc import Iterator, Mapping

from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Key, Sources
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Whole
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
BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0" + "".join(
    map(chr, (*range(0xFE00, 0xFE10), *range(0x180B, 0x180E)))
)
HINT = "give one of them another label or title"


@functools.cache
def plain(text: str) -> str:
    """Text without what a reader hardly sees.

    Case, spaces more than one, and characters of no width.
    """
    shown = "".join(
        c for c in unicodedata.normalize("NFKC", text) if not _is_invisible(c)
    )
    return " ".join(shown.split()).casefold()


def _is_invisible(character: str) -> bool:
    """Whether a character has no width, or no shape."""
    if character.isspace():
        return False
    return unicodedata.category(character) in ("Cc", "Cf") or character in BLANKS


def check_titles(sources: Sources, whole: Whole) -> None:
    """Refuse titles and labels that cannot name a row beside those of all tables."""
    references = {plain(title) for title in REFERENCES}
    for name, learner in whole.learners.items():
        for output, title in learner.titles.items():
            key: Key = ("learners", name, "titles", output)
            if plain(title) in references:
                raise sources.error(
                    key, "it is the name of a reference", "choose another"
                )
            if not plain(title) or plain(title) in COLUMNS:
                raise sources.error(key, "it cannot name a row", "choose another title")
    for name, table in whole.tables.items():
        for place, data in table.data.items():
            label = data.label
            if label is not None and (not plain(label) or plain(label) in COLUMNS):
                at = ("tables", name, "data", place, "label")
                raise sources.error(at, "it cannot name a row", "choose another label")


def check_alternatives(sources: Sources, whole: Whole) -> None:
    """Refuse alternatives whose effect nothing could measure, or that are measured
    twice."""
    titles = {t for one in whole.learners.values() for t in one.titles.values()}
    taken: dict[tuple[str, str], list[str | None]] = {}
    for choice, content in whole.choices.items():
        for number, alternative in enumerate(content.alternatives):
            key: Key = ("choices", choice, "alternatives", number)
            for field in ("only", "title", "instead"):
                if (title := getattr(alternative, field)) not in (None, *titles):
                    problem = f"no learner has the title '{title}'"
                    hint = nearest(title, sorted(titles))
                    raise sources.error((*key, field), problem, hint)
            for number_of, data in enumerate(alternative.where):
                if data not in whole.data:
                    problem = f"no data set is called '{data}'"
                    hint = nearest(data, whole.data)
                    raise sources.error((*key, "where", number_of), problem, hint)
            for data in alternative.places:
                others = taken.setdefault((data, alternative.name), [])
                only = alternative.only
                if others and (only is None or None in others or only in others):
                    problem = f"'{alternative.name}' stands for another one on {data}"
                    raise sources.error(key, problem, "delete one, or add `only`")
                others.append(only)


def check_rows(
    sources: Sources, tables: Mapping[str, TableView], resolver: Resolver
) -> None:
    """Refuse cells of a table that would end in one row, where seeds are pooled.

    A row has a setting's text, a title and a selection criterion.
    """
    for name, table in tables.items():
        owners: dict[tuple[str, str, str], tuple[Row, str]] = {}
        for row, output in _outputs(table):
            generator = resolver.data(row.data).generator
            apart = _setting(table.kind, generator, row.setting)
            title = row.titles[output]
            key = (apart, plain(title), row.selection)
            owner, other = owners.setdefault(key, (row, output))
            if (owner, other) != (row, output):
                at = ("tables", name, "data", row.data)
                shown = f"its row '{row.setting}', '{title}'"
                problem = f"{shown} is of {row.data}/{row.learner}, {output}, and of "
                problem += f"{owner.data}/{owner.learner}, {other}"
                raise sources.error(at, problem, HINT)


def _outputs(table: TableView) -> Iterator[tuple[Row, str]]:
    """Rows of a table, one for each output."""
    for row in table.rows:
        for output in row.titles:
            yield row, output


def _setting(kind: str, generator: str, text: str) -> str:
    """What tells a setting's rows apart from those of another one in the table.

    Rows of test environments or iterations have the names of these in the place of
    what stands before the first comma.
    """
    rest = plain(text.partition(",")[2])
    if kind == "iterations":
        return rest
    return f"{generator},{rest}" if kind in ENVIRONMENTS else plain(text)
