"""Rows of tables: no two cells of the configuration end in one."""

import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kerhrm.paper.config.fields import Cell
from kerhrm.paper.config.files import Key, Sources, Tree
from kerhrm.paper.config.models import Whole

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
HINT = "give one of them another label, mark or title"


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
    """Refuse titles and labels that cannot name a row beside those of all tables, and
    marks that nobody sees."""
    references = {plain(title) for title in REFERENCES}
    for name, learner in whole.learners.items():
        _check_mark(sources, ("learners", name, "mark"), learner.mark)
        for output, title in learner.titles.items():
            key = ("learners", name, "titles", output)
            if plain(title) in references:
                raise sources.error(
                    key, "it is the name of a reference", "choose another"
                )
            if not plain(title) or plain(title) in COLUMNS:
                raise sources.error(key, "it cannot name a row", "choose another title")
    for name, table in whole.tables.items():
        for learner_name, mark in table.marks.items():
            _check_mark(sources, ("tables", name, "marks", learner_name), mark)
        for place, label in table.labels.items():
            if not plain(label) or plain(label) in COLUMNS:
                at = ("tables", name, "settings", place, "label")
                raise sources.error(at, "it cannot name a row", "choose another label")


def _check_mark(sources: Sources, key: Key, mark: str | None) -> None:
    """Refuse a mark of blanks; an empty one is none."""
    if mark and not plain(mark):
        raise sources.error(key, "it is blank", "write a mark, or leave it out")


def check_alternatives(sources: Sources, whole: Whole) -> None:
    """Refuse alternatives on one data set whose rows cannot be told apart."""
    taken: dict[tuple[str, str], list[str | None]] = {}
    for choice, content in whole.choices.items():
        for number, alternative in enumerate(content.alternatives):
            for data in alternative.where:
                others = taken.setdefault((data, plain(alternative.name)), [])
                only = alternative.only
                if others and (only is None or None in others or only in others):
                    key = ("choices", choice, "alternatives", number)
                    problem = f"'{alternative.name}' stands for another one on {data}"
                    raise sources.error(key, problem, "choose another mark, or `only`")
                others.append(only)


class Row(NamedTuple):
    """A row that a cell of a table makes."""

    cell: Cell
    output: str
    text: str  #: of its setting
    title: str
    criterion: str
    setting: str  #: what tells it from the rows of other settings

    @property
    def source(self) -> str:
        """Name of the cell and the output."""
        return f"{'/'.join(self.cell)}, {self.output}"


def check_rows(
    sources: Sources, content: Tree, complements: Callable[[str], bool]
) -> None:
    """Refuse cells of a table that would end in one row, where seeds are pooled.

    A row has a setting's text, a title and a selection criterion.  Learners of one
    title at one setting are refused, too, unless all but one of them show the criteria
    that the other does not (``complements``).

    ``content`` has the resolved ``tables``, ``cells`` and ``data``.
    """
    for name, table in content["tables"].items():
        owners: dict[tuple[str, ...], Row] = {}
        for row in _rows(table, content):
            shared = row.setting, plain(row.title)
            keys: list[tuple[str, ...]] = [(*shared, row.criterion)]
            if not complements(row.cell[2]):
                keys.append(shared)
            for key in keys:
                owner = owners.setdefault(key, row)
                if owner.source != row.source:
                    at = ("tables", name, "settings", "/".join(row.cell[:2]))
                    shown = f"its row '{row.text}', '{row.title}'"
                    problem = f"{shown} is of {row.source} and of {owner.source}"
                    raise sources.error(at, problem, HINT)


def _rows(table: Tree, content: Tree) -> Iterator[Row]:
    """Rows of all cells of a table."""
    for cell in table["cells"]:
        data, setting, learner = cell
        mark = table["marks"].get(learner)
        text = ",".join(filter(None, (table["labels"][f"{data}/{setting}"], mark)))
        generator = content["data"][data]["settings"][setting]["generator"]
        apart = _setting(table["kind"], generator, text)
        params = content["cells"]["/".join(cell)]
        criteria = list(params["shown"])
        for output in table["outputs"][learner]:
            title = params["titles"][output]
            for criterion in criteria[:1] if table["criteria"] == "own" else criteria:
                yield Row(cell, output, text, title, criterion, apart)


def _setting(kind: str, generator: str, text: str) -> str:
    """What tells a setting's rows apart from those of another one in the table.

    Rows of test environments or iterations have the names of these in the place of
    what stands before the first comma.
    """
    rest = plain(text.partition(",")[2])
    if kind == "iterations":
        return rest
    return f"{generator},{rest}" if kind in ENVIRONMENTS else plain(text)
