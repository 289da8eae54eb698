"""Is a name of the configuration one of anything else?

No two data sets, learners, tables or cells may share a folder, a file or a rule.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm.files import visible_files
from kerhrm_paper.config.files import Key, Sources
from kerhrm_paper.config.layout import reserved, tracked
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.views import TableView

Spelled = dict[str, str]  #: names by what they are without case
Siblings = tuple[Key, Iterable[str]]  #: names below one key


def check_names(sources: Sources, whole: Whole, root: Path) -> None:
    """Refuse names that would share a folder, a file or a rule.

    With each other, on a system that ignores case, too, or with the workflow's own.
    """
    of_folders = reserved(root)
    of_tables = reserved(root, stems=True)
    for key, names in _siblings(whole):
        taken = of_tables if key == ("tables",) else of_folders
        spelled: Spelled = {}
        for name in names:
            at = (*key, name)
            if taken.fullmatch(name):
                problem = f"the name '{name}' is reserved for the workflow's own files"
                raise sources.error(at, problem, "choose another one")
            with sources.placing(at):
                _add(name, spelled)
    _check_preset(sources, whole.preset, root, of_folders)


def check_cells(sources: Sources, tables: Mapping[str, TableView]) -> None:
    """Refuse data or learners of tables that differ in case alone.

    Their folders would be one on a system that ignores case.
    """
    data: Spelled = {}
    learners: Spelled = {}
    for table, view in tables.items():
        for row in view.rows:
            key = ("tables", table, "data", row.data)
            with sources.placing(key):
                _add(row.data, data)
                _add(row.learner, learners)
                _add(row.trained, learners)


def _add(name: str, spelled: Spelled) -> None:
    """Add a name to others, from which it may not differ in case alone."""
    check_case(name, spelled)
    spelled[name.casefold()] = name


def check_case(name: str, spelled: Spelled) -> None:
    """Refuse a name that differs in case alone from another one.

    ``spelled`` are the others by what they are without case.
    """
    alike = name.casefold()
    other = spelled.get(alike, name)
    if other != name:
        problem = f"'{other}' and '{name}' differ in case alone"
        raise KerhrmError(problem, "rename one of them")


def _check_preset(
    sources: Sources, preset: str, root: Path, taken: re.Pattern[str]
) -> None:
    """Refuse a preset whose runs would lie in another one's, or a published, folder."""
    key = ("preset",)
    folder = root / "config" / "presets"
    presets = {path.stem for path in visible_files(folder, "*.yaml")}
    lower_case = preset.casefold()
    for other in presets - {preset}:
        if other.casefold() == lower_case:
            problem = f"the preset '{other}' differs in case alone"
            raise sources.error(key, problem, "rename one of them")
    if taken.fullmatch(preset):
        problem = "the name is reserved for the workflow's own files"
        raise sources.error(key, problem, "rename the preset's file")
    published = tracked(root)
    file = Path("config", "presets", f"{preset}.yaml")
    if file in published:
        return  # its runs may be published, too
    run = f"results/{preset}"
    run = run.casefold()
    for folder in published:
        if str(folder).casefold() == run:
            problem = f"{folder} has files of the checkout, which runs would overwrite"
            raise sources.error(key, problem, "rename the preset's file")


def _siblings(whole: Whole) -> Iterator[Siblings]:
    """Names that are folders or files beside each other, with the key above them."""
    yield ("data",), whole.data
    yield ("learners",), whole.learners
    yield ("tables",), whole.tables
