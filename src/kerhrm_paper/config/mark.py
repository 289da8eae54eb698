"""How does a run differ from the published options?"""

from collections.abc import Iterator
from typing import Any

from kerhrm_paper.config.causes import leaves
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.strict_yaml import Tree

FULL = ("paper", "fresh")  #: presets of the published sizes and options
SHOWN = 3  #: changed options that a mark names
#: keys that say where and how a run is made, and not what
HARMLESS = (
    "preset",
    "results",
    "raw_dir",
    "on_missing",
    "device",
    "threads",
)
ADDED = ("data", "learners", "tables")  #: kinds of which a user may add more


def mark(preset: str, changes: Tree, shipped: Tree) -> str:
    """What every table, figure and page of a run carries that is not of the published
    options; empty, if it is.

    Parameters
    ----------
    preset : str
    changes : dict
        Content of the command line and of further files.
    shipped : dict
        Content of the files of ``config/``.
    """
    phrases = []
    if preset not in FULL:
        phrases.append(f"{preset} sizes")
    keys = []
    for key in _changed(changes, shipped):
        parts = map(str, key)
        keys.append(".".join(parts))
    if keys:
        named = ", ".join(keys[:SHOWN])
        phrase = f"options differ from the published: {named}"
        if len(keys) > SHOWN:
            phrase += f" and {len(keys) - SHOWN} more"
        phrases.append(phrase)
    return "; ".join(phrases)


def _changed(changes: Tree, shipped: Tree) -> Iterator[Key]:
    """Keys of the values that change what is published.

    Added data, learners and tables do not: their names tell their cells apart.  Neither
    does which learners a table shows, nor what was selected for an added one.
    """
    for kind, content in changes.items():
        if kind in (*HARMLESS, "published"):
            continue
        if kind in ADDED:
            known = shipped.get(kind) or {}
            content = _known(content or {}, known)
        if kind == "tables":
            content = _without_learners(content)
        if kind == "selected":
            learners = shipped.get("learners") or {}
            content = _selected(content or {}, learners)
        if content != {}:
            yield from leaves({kind: content})


def _without_learners(tables: Tree) -> Tree:
    """Changes of tables, but for which there are and which learners they show."""
    changed: Tree = {}
    for name, table in tables.items():
        kept = dict(table or {})
        kept.pop("learners", None)
        data = kept.get("data")
        if isinstance(data, dict) and all(_shows_learners(of) for of in data.values()):
            del kept["data"]
        if kept:
            changed[name] = kept
    return changed


def _shows_learners(of_data: Any) -> bool:
    """Whether a change of a table's data is of their learners alone."""
    if not isinstance(of_data, dict):
        return False
    return of_data.keys() == {"learners"}


def _selected(selected: Tree, learners: Tree) -> Tree:
    """Selected options of the learners that are shipped."""
    kept: Tree = {}
    for data, by_learner in selected.items():
        known = _known(by_learner or {}, learners)
        if known:
            kept[data] = known
    return kept


def _known(entries: Tree, shipped: Tree) -> Tree:
    """Entries whose names are shipped."""
    known = {}
    for name, entry in entries.items():
        if name in shipped:
            known[name] = entry
    return known
