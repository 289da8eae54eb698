"""What does the rest of the reproduction ask of the configuration?

The workflow, the evaluation and the reports ask :class:`Config`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.cells import DataCell, LearnerCell
from kerhrm_paper.config.choices import contrasts
from kerhrm_paper.config.layout import CHECKOUT as CHECKOUT
from kerhrm_paper.config.names import Spelled, check_case
from kerhrm_paper.config.resolve import Resolved, resolve
from kerhrm_paper.config.run_folder import check_run_folder, folder_of_preset
from kerhrm_paper.config.strict_yaml import OWN_KEYS, Tree
from kerhrm_paper.config.views import Cell
from kerhrm_paper.config.written import written


class Config:
    """Resolved configuration.

    Parameters
    ----------
    resolved : Resolved
        Files, validated.
    own_table : mapping, optional
        Keys of the target of that name.

    Attributes
    ----------
    preset, device, threads, raw_dir, on_missing
        As in :class:`kerhrm_paper.config.schema.Whole`.
    run : Path
        Its folder.
    mark : str
        How it differs from the published options; empty if it does not.
    tables : mapping of str to TableView
        None in a search.
    searches : mapping of str to Search
        By data set, in a search.
    groups : list of Group
        Cells that one job trains together.
    choices : list of Contrast
        Alternatives whose effects are measured.
    published : mapping of str to str
        Files of scores that complete tables, by table.
    data_sets, learners : list of str
        Names without options.
    changes : mapping
        What the user's files and keys of the command line say.
    """

    def __init__(self, resolved: Resolved, own_table: Tree | None = None) -> None:
        whole = resolved.whole
        self.resolved = resolved
        self.own_table = dict(resolved.sources.own_table)
        self.own_table |= own_table or {}
        self.preset = whole.preset
        self.device = whole.device
        self.threads = whole.threads
        self.raw_dir = whole.raw_dir
        self.on_missing = whole.on_missing
        self.mark = resolved.mark
        self.run = folder_of_preset(whole.results, whole.preset)
        self.tables = resolved.tables
        self.searches = resolved.searches
        self.groups = resolved.groups
        self.choices = contrasts(resolved)
        self.published = whole.published
        self.data_sets = [*whole.data]
        self.learners = [*whole.learners]
        self.changes = resolved.sources.changes
        # names of the run by their lower case: others may not differ in case alone
        self._data: Spelled = {}
        self._learners: Spelled = {}
        for table in self.tables.values():
            self._add_names(table.cells)
        for search in self.searches.values():
            self._add_names(search.cells)

    def _add_names(self, cells: Iterable[Cell]) -> None:
        for data, learner in cells:
            self._data[data.casefold()] = data
            self._learners[learner.casefold()] = learner

    @property
    def choice_tables(self) -> list[str]:
        """Tables that measure alternatives."""
        tables = self.resolved.whole.tables
        measuring = []
        for name in self.tables:
            if tables[name].choices:
                measuring.append(name)
        return measuring

    @property
    def table_names(self) -> list[str]:
        """Tables of all files, also those that the user leaves out."""
        return self.resolved.sources.names("tables")

    @property
    def checkpointed(self) -> list[str]:
        """Learners of which each iteration is a job; none in a search."""
        whole = self.resolved.whole
        if whole.search:
            return []
        checkpointed = []
        for name, learner in whole.learners.items():
            if learner.checkpoint_iterations:
                checkpointed.append(name)
        return checkpointed

    @property
    def written(self) -> Tree:
        """What a run notes of its configuration, without the choices' words."""
        sources = self.resolved.sources
        return written(sources, self.preset, self.mark)

    def data(self, name: str) -> DataCell:
        """Data of a name; KerhrmError if it is none."""
        cell = self.resolved.resolver.data(name)
        check_case(name, self._data)
        return cell

    def learner(self, data: str, name: str) -> LearnerCell:
        """A learner of a name, on data of a name.

        Raises KerhrmError if it is none, or its options are not selected yet.
        """
        resolver = self.resolved.resolver
        cell = resolver.learner(data, name)
        check_case(data, self._data)
        check_case(name, self._learners)
        if cell.missing is not None:
            problem = f"{data}/{name}: {cell.missing.problem}"
            raise KerhrmError(problem, cell.missing.hint)
        return cell

    def search_params(self, data: str) -> dict[str, dict[str, Any]]:
        """What selecting has to know of each candidate of a data set's search.

        By DATA/LEARNER; KerhrmError as :meth:`learner`.
        """
        schemas = self.resolved.resolver.schemas
        params = {}
        for candidate_data, name in self.searches[data].cells:
            cell = self.learner(candidate_data, name)
            parsed = schemas.parse_learner(name)
            params[f"{candidate_data}/{name}"] = {
                "outputs": list(cell.titles),
                "criteria": schemas.honest_criteria(cell.base),
                "options": parsed.options,
            }
        return params

    def selected(self, *tables: str) -> list[list[Any]]:
        """What criteria have selected for the learners of some tables.

        Rows of the data set that they were selected on, the title of the learner's
        first output, the criterion, and the options.
        """
        selected: list[list[Any]] = []
        listed = set()
        for table in tables:
            rows = self.tables[table].rows
            for row in rows:
                cell = self.learner(row.data, row.learner)
                first_title, *_ = cell.titles.values()
                key = (cell.selected_on, first_title, cell.selection)
                if cell.selected and key not in listed:
                    listed.add(key)
                    options = dict(cell.selected)
                    selected.append([*key, options])
        return selected


def load_config(
    overrides: Mapping[str, Any] | None = None,
    files: Sequence[str | Path] = (),
    root: str | Path = CHECKOUT,
) -> Config:
    """Resolve the configuration.

    ``overrides``, keys of the command line, go before ``files``, and these before the
    files of ``config/`` in ``root``.

    An error says in one line the file, the key and its value, the problem, and a hint.
    """
    changes: Tree = {}
    own_table: Tree = {}
    given = overrides or {}
    for key, value in given.items():
        target = own_table if key in OWN_KEYS else changes
        target[key] = value
    root = Path(root)
    paths = [Path(file) for file in files]
    resolved = resolve(changes, paths, root / "config")
    config = Config(resolved, own_table)
    check_run_folder(config.run, root)
    return config


def page_name(csv: str) -> str:
    """Name of the page of a table of your own, without its ending."""
    stem = Path(csv).stem
    name = re.sub(r"[^\w.-]", "_", stem)
    # file systems take 255 bytes, endings included
    shortened = name.encode()[:200]
    return shortened.decode(errors="ignore")
