"""Which of a run's three layers gives a value: its files, the preset or the user?

They stay apart, as other places come between them: ``config/README.md`` has the order
(Precedence).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from kerhrm_paper.config.files import Sources
from kerhrm_paper.config.invalid import NO_MAPPING, refused
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.strict_yaml import Tree, merge

#: types of pydantic's errors about a value that is no mapping, or no list
SHAPES = (*NO_MAPPING, "list_type")


@dataclass(frozen=True)
class Layers:
    """What the layers of a run say; later ones win.

    Attributes
    ----------
    files : dict
        The files of ``config/`` but for the preset, merged.
    preset : dict
        The preset.
    user : dict
        Further files and the command line, merged.
    """

    files: Tree
    preset: Tree
    user: Tree

    def entries(self, kind: str, name: str) -> Iterator[Tree]:
        """What each layer says of a data set, a learner or a table."""
        yield _entry(self.files, kind, name)
        yield _entry(self.preset, kind, name)
        yield _entry(self.user, kind, name)

    def changes(self, kind: str, name: str) -> Tree:
        """What the preset and the user change of a data set, a learner or a table."""
        of_preset = _entry(self.preset, kind, name)
        of_user = _entry(self.user, kind, name)
        return merge(of_preset, of_user)


def read_layers(sources: Sources) -> Layers:
    """The layers of a run's files.

    A grid of the user's with one value of an option has chosen this value, and is like
    an option of the same file, and so is the only candidate.  A grid of the preset's is
    the size of a search.
    """
    preset_at = sources.preset_at
    if preset_at is None:
        tree = sources.tree()
        return Layers(
            files=tree,
            preset={},
            user=tree,
        )
    user = sources.tree(preset_at + 1)
    learners = user.get("learners")
    if isinstance(learners, Mapping):
        user["learners"] = _each_with_chosen(learners)
    return Layers(
        files=sources.tree(0, preset_at),
        preset=sources.tree(preset_at, preset_at + 1),
        user=user,
    )


def check_layers(sources: Sources) -> None:
    """Refuse what is no mapping, or no list, also where a later layer replaces it.

    All layers together are valid, but options are read from each.
    """
    start = sources.preset_at or 0
    layers = sources.layers
    for part in (layers[:start], layers[start : start + 1], layers[start + 1 :]):
        layer = Sources(part)
        try:
            Whole.model_validate(layer.tree())
        except ValidationError as error:
            for detail in error.errors():  # most are of keys that other layers give
                if detail["type"] in SHAPES and detail["input"] is not None:
                    raise refused(layer, (), detail) from error


def changes_at(
    entry: Tree, conditions: Mapping[str, Any]
) -> Iterator[tuple[str, Tree]]:
    """What ``at`` of an entry changes, by condition.

    ``conditions`` are those of all layers together: a later one may remove some.
    """
    changes = entry.get("at") or {}
    for condition, change in changes.items():
        if change and condition in conditions:
            yield condition, change


def _entry(layer: Tree, kind: str, name: str) -> Tree:
    """What a layer says of one name; nothing, if it leaves the name out."""
    entries = layer.get(kind) or {}
    return entries.get(name) or {}


def _with_chosen(learner: Any) -> Any:
    """A learner with options of which its grids have one value, or its only
    candidate, also in ``at``."""
    if not isinstance(learner, Mapping):
        return learner
    changed = dict(learner)
    options: Tree = {}
    candidates = learner.get("candidates") or []
    if len(candidates) == 1:
        options |= candidates[0]
    grid = learner.get("grid") or {}
    for option, tried in grid.items():
        is_list = isinstance(tried, list)
        if is_list and len(tried) == 1:
            options[option] = tried[0]
    if options:
        options |= learner.get("options") or {}
        changed["options"] = options
    if learner.get("at"):
        changed["at"] = _each_with_chosen(learner["at"])
    return changed


def _each_with_chosen(learners: Mapping[str, Any]) -> Tree:
    changed = {}
    for name, learner in learners.items():
        changed[name] = _with_chosen(learner)
    return changed
