"""Two things of the configuration are never one, and a name always means something."""

import fnmatch
from collections.abc import Iterable, Iterator
from pathlib import Path

from kerhrm.methods.registry import METHODS
from kerhrm.paper.config.fields import nearest
from kerhrm.paper.config.files import Key, Sources
from kerhrm.paper.config.layout import reserved, tracked
from kerhrm.paper.config.models import Whole

DEFAULTS = "library defaults"  #: in the place of a criterion: nothing was selected
ORACLE = "oracle"  #: the criterion that sees test points


def context(sources: Sources, whole: Whole) -> dict[str, list[str]]:
    """Names that the files may refer to, by kind.

    Entries that a file leaves out by null are among them: what another file says of
    these is no error.
    """
    data = sources.names("data")
    titles = (title for one in whole.learners.values() for title in one.titles.values())
    criteria = (name for method in METHODS.values() for name in method.criteria)
    return {
        "learners": sources.names("learners"),
        "data": data,
        "settings": [
            f"{name}/{setting}"
            for name in data
            for setting in sources.names("data", name, "settings")
        ],
        "titles": list(dict.fromkeys(titles)),
        "criteria": list(dict.fromkeys([*criteria, ORACLE, DEFAULTS])),
    }


def check_names(sources: Sources, whole: Whole, root: Path) -> None:
    """Refuse names that would share a folder, a file or a rule.

    With each other, on a system that ignores case, too, or with the workflow's own.
    """
    taken, taken_by_tables = reserved(root), reserved(root, stems=True)
    for key, names in _siblings(whole):
        own = taken_by_tables if key == ("tables",) else taken
        spelled: dict[str, str] = {}
        for name in names:
            if own.fullmatch(name):
                problem = f"the name '{name}' is reserved for the workflow's own files"
                raise sources.error((*key, name), problem, "choose another one")
            other = spelled.setdefault(name.casefold(), name)
            if other != name:
                problem = f"'{other}' and '{name}' differ in case alone"
                raise sources.error((*key, name), problem, "rename one of them")
    _check_preset(sources, whole.preset, root)


def _check_preset(sources: Sources, preset: str, root: Path) -> None:
    """Refuse a preset whose runs would lie in another one's, or a published, folder."""
    for path in (root / "config" / "presets").glob("*.yaml"):
        if path.stem != preset and path.stem.casefold() == preset.casefold():
            problem = f"the preset '{path.stem}' differs in case alone"
            raise sources.error(("preset",), problem, "rename one of them")
    if reserved(root).fullmatch(preset):
        problem = "the name is reserved for the workflow's own files"
        raise sources.error(("preset",), problem, "rename the preset's file")
    history = tracked(root)
    if Path("config", "presets", f"{preset}.yaml") in history:
        return  # its runs may be published, too
    for folder in history:
        if str(folder).casefold() == f"results/{preset}".casefold():
            problem = f"{folder} has files of the checkout, which runs would overwrite"
            raise sources.error(("preset",), problem, "rename the preset's file")


def _siblings(whole: Whole) -> Iterator[tuple[Key, Iterable[str]]]:
    """Names that are folders or files beside each other, with the key above them."""
    yield ("data",), whole.data
    yield ("learners",), whole.learners
    yield ("tables",), whole.tables
    for name, data in whole.data.items():
        yield ("data", name, "settings"), data.settings


def check_used(sources: Sources, whole: Whole) -> None:
    """Refuse a new setting in no table that may be another one in another spelling."""
    shown = {place for table in whole.tables.values() for place in table.settings}
    for name, data in sources.changes.get("data", {}).items():
        tuning = whole.data[name].tuning if name in whole.data else None
        for setting in (data or {}).get("settings") or ():
            files = list(sources.given(("data", name, "settings", setting)))
            used = f"{name}/{setting}" in shown or len(files) > 1
            if used or (tuning and setting in tuning.settings):
                continue
            key = ("data", name, "settings", setting)
            if hint := sources.alike(key):
                raise sources.error(key, "no table has this setting", hint)


def check_shown(sources: Sources, whole: Whole) -> None:
    """Refuse outputs and marks of a table for learners that no file gives it."""
    for name, table in whole.tables.items():
        at = ("tables", name)
        learners = {*sources.names(*at, "learners"), *table.choices}
        for place in sources.names(*at, "settings"):
            learners.update(sources.names(*at, "settings", place, "learners"))
        for key, patterns in (("outputs", table.outputs), ("marks", table.marks)):
            for pattern in patterns:
                if not fnmatch.filter(learners, pattern):
                    problem = f"'{pattern}' is not a learner of the table"
                    hint = nearest(pattern, sorted(learners))
                    raise sources.error((*at, key, pattern), problem, hint)
