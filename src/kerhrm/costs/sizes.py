"""How much work a job is, up to a factor that is its rule's own: what its loops multiply to."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kerhrm.config.names import setting_in
from kerhrm.config.schema import Experiment, Setting
from kerhrm.costs.benchmarks import Key
from kerhrm.methods.registry import METHODS

#: rules whose jobs take a time that data of any size leaves as it is
LIGHT = frozenset(
    ("write_configuration", "fetch_raw", "collect_scores", "summarise", "render_notebook",
     "render_figure", "render_variants", "check_failures", "verify",
     "select_hyperparameters", "describe_dataset", "write_page", "write_report", "check_claims")
)  # fmt: skip

#: rules whose jobs have a method's name at the end
OF_METHODS = frozenset(("train_method", "train_on_features", "train_whole"))
#: multiplications that take as long as what else a hidden unit does for a point
UNIT = 150


def kind(key: Key) -> Key:
    """Jobs of one kind do the same to data of any size: a rule's, or a method's."""
    return (key[0], key[-1]) if key[0] in OF_METHODS else key[:1]


def size_of(key: Key, experiments: Mapping[str, Experiment]) -> float | None:
    """Multiplications of a job, up to a factor; None of an unknown job."""
    rule, place = key[0], key[1:]
    if rule in LIGHT or rule.startswith("publish_"):
        return 1.0
    if len(place) < 2 or place[0] not in experiments:
        return None
    experiment, name = experiments[place[0]], setting_in(place[1])
    if name not in experiment.settings:
        return None
    setting = experiment.settings[name]
    points = len(experiment.seeds.data) * setting.data.n_points
    if rule == "reduce_ntf":
        return float(points * setting.data.n_points)
    if rule == "reduce_by_landmarks" and experiment.features:
        return float(points * experiment.features.landmarks)
    if rule in ("learn_environments", "learn_direction"):
        return float(points * _of_iteration(rule, setting, int(place[2])))
    if rule in ("train_network", "train_method", "train_whole"):
        inputs = getattr(setting.data, "n_inputs", 1)  # data sets of other packages may lack it
        layers = pairwise([inputs, *experiment.network.widths])
        weights = sum((fed + UNIT) * width for fed, width in layers)
        steps = _of_networks([setting.methods.kerhrm.model_dump()])
        if rule != "train_network":
            steps = _steps(experiment, name, place[-1])
        return float(points * weights * steps)
    return float(points)


def _of_iteration(rule: str, setting: Setting, t: int) -> int:
    """Of one point: normal equations of every k that is on trial."""
    options = setting.methods.kerhrm
    squares = [k * k for k in options.k]
    tried = sum(squares) if t == 1 else max(squares)  # later iterations keep one k
    if rule == "learn_direction":
        return tried * len(options.invariance.alpha)
    clustering = options.clustering
    starts = tried * clustering.restarts
    if clustering.starts == "nested":  # one start, but for the first k
        starts = tried + (squares[0] * (clustering.restarts - 1) if t == 1 else 0)
    return starts * clustering.clusters * len(clustering.ridge)


def _of_networks(options: Sequence[Mapping[str, Any]]) -> int:
    """Steps of step 3, with every lambda."""
    return sum(one["network"]["steps"] * len(one["network"]["penalty"]) for one in options)


def _steps(experiment: Experiment, setting: str, method: str) -> int:
    """Steps of all option sets that are trained, where they are counted."""
    if method not in METHODS:
        return 1
    options = experiment.choices(setting, method)
    if METHODS[method].reads == "whole":
        return _of_networks(options)
    path = METHODS[method].path
    if path != "steps":  # EIIL's: what is met on the way of one reference serves all sets
        reference = max(one[path] for one in options) if path else 0
        return sum(one.get("steps", 1) for one in options) + int(reference)
    longest: dict[str, int] = {}  # of those that differ in nothing else
    for one in options:
        group = json.dumps(one | {"steps": 0}, sort_keys=True)
        longest[group] = max(longest.get(group, 0), one["steps"])
    return sum(longest.values())
