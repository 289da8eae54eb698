"""Which settings share work: what is equal is computed once, in the folder of the first."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kerhrm.config.schema import Experiment
from kerhrm.methods.registry import METHODS

Place = tuple[str, str]  #: experiment and setting


class Sharing:
    """Who makes the files of every stage of every setting: the first one, in the given order.

    What `all` makes goes before the studies, so that its files lie where they would without them.

    Stages: ``data``; ``features`` of all its points; ``iterations`` of Algorithm 1;
    ``heterogeneity``, the test for environments; ``direction``, the last iteration's and its
    predictions; ``network``, step 3; and ``method:NAME`` of every other method.
    """

    def __init__(self, setups: Mapping[str, Experiment]):
        self._owners: dict[Place, dict[str, Place]] = {}
        self._k: dict[Place, int] = {}
        first: dict[str, Place] = {}
        for name, one in sorted(setups.items(), key=lambda item: not item[1].in_all):
            for setting in one.settings:
                at, stages = (name, setting), _stages(one, setting)
                owners = {s: first.setdefault(json.dumps([s, told]), at) for s, told in stages}
                self._owners[at] = owners
                if owner := owners.get("features"):
                    k = max(map(max, one.settings[setting].dimensions.values()))
                    self._k[owner] = max(k, self._k.get(owner, 0))

    def owner(self, experiment: str, setting: str, stage: str) -> Place:
        """Experiment and setting in whose folder a stage's files lie."""
        return self._owners[experiment, setting][stage]

    def used_by(self, experiment: str) -> list[Place]:
        """Settings whose files an experiment uses, its own first."""
        own = [at for at in self._owners if at[0] == experiment]
        owners = [owner for at in own for owner in self._owners[at].values()]
        return list(dict.fromkeys(own + owners))

    def k_max(self, experiment: str, setting: str) -> int:
        """Largest dimension that any method takes of these features."""
        return self._k[self.owner(experiment, setting, "features")]


def _stages(experiment: Experiment, name: str) -> Iterator[tuple[str, list[Any]]]:
    """Stages that a setting needs, and all that the result of each depends on."""
    setting, seeds = experiment.settings[name], experiment.seeds.model_dump()
    data = setting.data.model_dump(mode="json")
    samples = [data, seeds, experiment.network.model_dump(mode="json")]
    reduced = [samples, experiment.features and experiment.features.model_dump(mode="json")]
    yield "data", [data, seeds["data"]]
    kerhrm = setting.methods.kerhrm.model_dump(mode="json")
    network, guard = kerhrm.pop("network"), kerhrm.pop("guard")
    if setting.dimensions:
        yield "features", reduced
        yield "heterogeneity", [reduced, guard]
    if "kerhrm" in setting.run:
        end = [kerhrm.pop("iterations"), kerhrm.pop("end"), guard]
        yield "iterations", [reduced, kerhrm]
        yield "direction", [reduced, kerhrm, end]
        if "igd" in setting.run:
            yield "network", [reduced, kerhrm, end, network]
    for method in setting.run:
        if (reads := METHODS[method].reads) != "kerhrm":
            given = samples if reads == "points" else reduced
            tested = guard if reads == "whole" else None  # by the test of KerHRM's steps
            yield f"method:{method}", [given, tested, experiment.choices(name, method)]
