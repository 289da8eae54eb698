"""What that is tried of a learner does a later file replace?

A grid and candidates are two ways to give it, of which the later one counts.  What a
later file gives on all data also replaces candidates of an earlier one on some.
"""

from collections.abc import Mapping
from typing import Any

from kerhrm_paper.config.strict_yaml import Tree


def gives(entry: Any, key: str) -> bool:
    """Whether an entry has values of a ``grid``, or ``candidates``."""
    tried = _mapping(entry).get(key)
    if isinstance(tried, Mapping):
        return any(values is not None for values in tried.values())
    return bool(tried)


def without_replaced(earlier: Tree, later: Tree) -> Tree:
    """Earlier files without what a later one replaces of that which is tried."""
    learners = dict(_mapping(earlier.get("learners")))
    if not learners:
        return earlier
    changes = _mapping(later.get("learners"))
    for name, change in changes.items():
        if isinstance(learners.get(name), Mapping):
            learners[name] = _without(learners[name], change)
    return {**earlier, "learners": learners}


def _without(learner: Tree, later: Any) -> Tree:
    """A learner without what a later file replaces, also in its ``at``."""
    kept = _one_way(learner, later)
    at = dict(_mapping(learner.get("at")))
    if not at:
        return kept
    changes = _mapping(_mapping(later).get("at"))
    for condition, change in at.items():
        if not isinstance(change, Mapping):
            continue
        change = _one_way(change, later)
        if gives(later, "candidates"):
            change.pop("candidates", None)
        at[condition] = _one_way(change, changes.get(condition))
    return {**kept, "at": at}


def _one_way(entry: Mapping[str, Any], later: Any) -> Tree:
    """An entry without its grid where a later one gives candidates, or the other way
    round."""
    kept = dict(entry)
    if gives(later, "candidates"):
        kept.pop("grid", None)
    if gives(later, "grid"):
        kept.pop("candidates", None)
    return kept


def _mapping(value: Any) -> Mapping[str, Any]:
    """A mapping; an empty one in the place of anything else."""
    return value if isinstance(value, Mapping) else {}
