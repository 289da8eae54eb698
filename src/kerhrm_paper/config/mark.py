"""How does a run differ from the published options?"""

from collections.abc import Iterator

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

    Added data, learners and tables do not: their names tell their cells apart.
    """
    for kind, content in changes.items():
        if kind in HARMLESS:
            continue
        if kind in ADDED:
            known = shipped.get(kind) or {}
            content = _known(content or {}, known)
        if content != {}:
            yield from leaves({kind: content})


def _known(entries: Tree, shipped: Tree) -> Tree:
    """Entries whose names are shipped."""
    known = {}
    for name, entry in entries.items():
        if name in shipped:
            known[name] = entry
    return known
