"""What does a run note of its configuration, and how is the note read again?

``config.yaml`` of a run has all files merged, and then the layers that win over
selected options, each for itself: ``preset_changes`` and ``changes``, the user's.
"""

from collections.abc import Mapping
from typing import Any

from kerhrm_paper.config.files import Layer, Sources
from kerhrm_paper.config.layers import read_layers
from kerhrm_paper.config.strict_yaml import Tree

LAYERED = ("data", "learners")  #: kinds whose options are given by layers


def written(sources: Sources, preset: str, mark: str) -> Tree:
    """What a run notes of its configuration, without the choices' words."""
    layers = read_layers(sources)
    merged = sources.tree()
    merged.pop("choices", None)
    return {
        "preset": preset,
        "mark": mark,
        **merged,
        "preset_changes": _layered(layers.preset),
        "changes": _layered(layers.user),
    }


def _layered(layer: Tree) -> Tree:
    """What a layer says of data and learners."""
    content = {}
    for kind in LAYERED:
        if kind in layer:
            content[kind] = layer[kind]
    return content


def sources_of_run(file: str, noted: Mapping[str, Any]) -> Sources:
    """The note of a run, as the files that it was made of."""
    merged = dict(noted)
    merged.pop("mark", None)
    user = merged.pop("changes", {})
    preset = merged.pop("preset_changes", None)
    if preset is None:
        # Runs of earlier versions note the changes of both together, and a grid of
        # theirs with one value may be the preset's, which chooses nothing.
        preset, user = user, {}
    layers: list[Layer] = []
    for content in (merged, preset, user):
        layers.append((file, (), content))
    return Sources(layers, preset_at=1)
