"""What a run's configuration has of a table, and the checkout's files have not.

The command that makes the table again gives it behind ``--config``.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from kerhrm_paper.config.config import Config
from kerhrm_paper.config.files import ABSENT, Key
from kerhrm_paper.config.nulls import NAMED
from kerhrm_paper.config.spelling import base_of
from kerhrm_paper.config.strict_yaml import Tree
from kerhrm_paper.config.views import Cell

#: keys of a run's configuration that say where it ran, not what
ELSEWHERE = ("preset", "results", "raw_dir")
#: keys of a table on which no number depends
TEXTS = ("title", "about")
#: keys whose value is the name of another data set, or of another learner
REFERENCES = {"data": "select_on", "learners": "tuned_as"}
Named = tuple[str, str]  #: ``data`` or ``learners``, and the name of one of these


class TableChanges:
    """Values of a run's configuration that the checkout's files do not have.

    Parameters
    ----------
    config : Config
        The run's, resolved.
    in_run, in_files : dict
        All that the run's configuration says, and all that the checkout's files say.
    table : str
        Name of the table.
    """

    def __init__(
        self, config: Config, in_run: Tree, in_files: Tree, table: str
    ) -> None:
        self.whole = config.resolved.whole
        self.schemas = config.resolved.resolver.schemas
        self.in_run = in_run
        self.in_files = in_files
        self.table = table

    def of_everything(self) -> Tree:
        """All of them, also those on which the table does not depend."""
        return self._at((name,) for name in self.in_run if name not in ELSEWHERE)

    def of_cell(self, data: str, learner: str) -> Tree:
        """Those on which a cell depends.

        Those of all cells, where the checkout has no such table, or another one.
        """
        cells = [(data, learner)]
        if self._is_other_table():
            cells += self._cells()
        needed = self._needed(cells)
        changes = self._at(self._keys(cells, needed))
        is_known = self._is_in_files("tables", self.table)
        texts = TEXTS if is_known else ("about",)  # a new table needs its title
        _forget(changes, ("tables", self.table), texts)
        learners = {base_of(name) for _, name in cells}
        self._forget_others(changes, needed, learners)
        return changes

    def _at(self, keys: Iterable[Key]) -> Tree:
        """Values of the run's at some keys, as far as the files do not have them."""
        changes: Tree = {}
        for key in keys:
            in_run = get(self.in_run, key)
            in_files = get(self.in_files, key)
            change = _beyond(in_run, in_files, key)
            if change is not ABSENT:
                _put(changes, key, change)
        return changes

    def _is_other_table(self) -> bool:
        """Whether the table shows something else by the checkout's files."""
        key = ("tables", self.table)
        changes = self._at([key])
        _forget(changes, key, TEXTS)
        return bool(changes)

    def _is_in_files(self, kind: str, name: str) -> bool:
        """Whether the checkout's files declare a table, data set or learner."""
        return get(self.in_files, (kind, name)) not in (ABSENT, None)

    def _cells(self) -> Iterator[Cell]:
        """Data and learners that the table names."""
        table = self.whole.tables[self.table]
        for data, of_data in table.data.items():
            for learner in of_data.learners or table.learners:
                yield data, learner
            for learner in table.choices:
                yield data, learner

    # --- what cells depend on --------------------------------------------------------

    def _needed(self, cells: Iterable[Cell]) -> list[Named]:
        """Data sets and learners of cells, and those that these refer to and that the
        checkout does not have."""
        waiting: list[Named] = []
        for data, learner in cells:
            waiting.append(("data", base_of(data)))
            if learner:
                waiting.append(("learners", base_of(learner)))
                waiting.append(("learners", self._tuned(learner)))
                source = ("data", self._source(data, learner))
                if not self._is_in_files(*source):
                    waiting.append(source)
        needed: dict[Named, None] = {}
        while waiting:
            kind, name = waiting.pop(0)
            if (kind, name) in needed:
                continue
            needed[kind, name] = None
            other = get(self.in_run, (kind, name, REFERENCES[kind]))
            if isinstance(other, str) and not self._is_in_files(kind, other):
                waiting.append((kind, other))
        return list(needed)

    def _tuned(self, learner: str) -> str:
        """The learner whose selected options a learner takes."""
        base = base_of(learner)
        return self.whole.learners[base].tuned_as or base

    def _source(self, data: str, learner: str) -> str:
        """The data set that options of a learner on data were selected on."""
        base = base_of(data)
        named = self.schemas.parse_learner(learner).options
        source = named.get("select_on") or self.whole.data[base].select_on
        return str(source or base)

    def _keys(self, cells: Iterable[Cell], needed: Iterable[Named]) -> Iterator[Key]:
        """Keys of the configuration on which cells of the table depend."""
        for name, value in self.in_run.items():
            if name not in ELSEWHERE and not isinstance(value, dict):
                yield (name,)
        yield ("tables", self.table)
        yield ("published", self.table)
        yield from needed
        symbols: set[str] = set()
        for data, learner in cells:
            symbols.add(base_of(data))
            symbols.update(self.schemas.parse_data(data).options)
            if learner:
                symbols.update(self.schemas.parse_learner(learner).options)
                source = self._source(data, learner)
                yield ("selected", source, self._tuned(learner))
        if self._is_other_table():  # rows may differ in these words alone
            for text in self.whole.labels:
                labelled, _, _ = text.partition("=")
                if labelled in symbols:
                    yield ("labels", text)

    def _forget_others(
        self, changes: Tree, needed: Iterable[Named], learners: Collection[str]
    ) -> None:
        """Take seeds of other learners out, and conditions on data that are gone.

        The checkout may not have their names.
        """
        for kind, name in needed:
            names = {"data": "seeds", "learners": "at"}
            key = (kind, name, names[kind])
            entry = get(changes, key)
            if not isinstance(entry, dict):
                continue
            others = []
            for text in entry:
                base, slash, learner = text.partition("/")
                data = ("data", base_of(base))
                is_gone = data not in needed and not self._is_in_files(*data)
                is_of_other = bool(slash) and base_of(learner) not in learners
                if is_gone or is_of_other:
                    others.append(text)
            _forget(changes, key, others)


# --- trees ---------------------------------------------------------------------------


def get(tree: Any, key: Iterable[Any]) -> Any:
    """The value at a key of a tree; ABSENT: there is none."""
    for part in key:
        is_there = isinstance(tree, dict) and part in tree
        if not is_there:
            return ABSENT
        tree = tree[part]
    return tree


def _put(tree: Tree, key: Key, value: Any) -> None:
    for part in key[:-1]:
        tree = tree.setdefault(part, {})
    tree[key[-1]] = value


def _forget(tree: Tree, above: Key, names: Collection[str]) -> None:
    """Take names out of an entry, and the entry if nothing is left."""
    entry = get(tree, above)
    if not isinstance(entry, dict):
        return
    for name in names:
        entry.pop(name, None)
    if not entry and above:
        *higher, last = above
        _forget(tree, tuple(higher), [last])


def _beyond(value: Any, base: Any, key: Key) -> Any:
    """What a value says that another one does not; ABSENT: nothing.

    Null for a name leaves it out, and is refused where there is none.
    """
    if base is ABSENT and value is None and _is_name(key):
        return ABSENT
    if not isinstance(value, dict):
        return ABSENT if value == base else value
    is_changed = not isinstance(base, dict)
    changes = {}
    for name, inner in value.items():
        base_inner = get(base, [name])
        change = _beyond(inner, base_inner, (*key, name))
        if change is not ABSENT:
            changes[name] = change
    return changes if changes or is_changed else ABSENT


def _is_name(key: Key) -> bool:
    """Whether the last part of a key is a name, which null leaves out."""
    *above, _ = key
    for pattern in NAMED:
        pairs = list(zip(pattern, above, strict=False))
        is_long = len(pattern) == len(above)
        if is_long and all(part in ("*", here) for part, here in pairs):
            return True
    return False
