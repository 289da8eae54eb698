"""Which settings share work: what is equal is computed once, in the folder of the first."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kerhrm.config.schema import Experiment, Options
from kerhrm.methods.registry import METHODS

Place = tuple[str, str]  #: experiment and setting


def share(setups: Mapping[str, Experiment]) -> "Sharing":
    """Find who shares with whom among experiments, the first of which make what is shared."""
    return Sharing(setups)


class Sharing:
    """Who makes the files of every stage of every setting: the first one, in the given order.

    Stages: ``data``; ``features`` of all its points; ``iterations`` of Algorithm 1;
    ``direction``, the last iteration's and its predictions; ``network``, step 3; and
    ``method:NAME`` of every other method.
    """

    def __init__(self, setups: Mapping[str, Experiment]):
        self._setups = setups
        self._owners: dict[tuple[str, str, str], Place] = {}
        self._k: dict[Place, int] = {}
        first: dict[str, Place] = {}
        for experiment, one in setups.items():
            for setting in one.settings:
                at = experiment, setting
                for stage, content in _stages(one, setting):
                    text = json.dumps([stage, content], sort_keys=True)
                    owner = self._owners[*at, stage] = first.setdefault(text, at)
                    if stage == "features":
                        k = max(map(max, one.settings[setting].dimensions.values()))
                        self._k[owner] = max(k, self._k.get(owner, 0))

    def owner(self, experiment: str, setting: str, stage: str) -> Place:
        """Experiment and setting in whose folder a stage's files lie."""
        return self._owners[experiment, setting, stage]

    def used_by(self, experiment: str) -> list[Place]:
        """Settings whose files an experiment uses, its own first."""
        own = [(experiment, setting) for setting in self._setups[experiment].settings]
        owners = [place for (name, *_), place in self._owners.items() if name == experiment]
        return list(dict.fromkeys([*own, *owners]))

    def k_max(self, experiment: str, setting: str) -> int:
        """Largest dimension that any method takes of these features."""
        return self._k[self.owner(experiment, setting, "features")]

    def option_sets(self, experiment: str, setting: str, method: str) -> list[Options]:
        """Option sets to train with, see :meth:`kerhrm.config.schema.Experiment.options`."""
        return self._setups[experiment].options(setting, method)


def _stages(experiment: Experiment, name: str) -> Iterator[tuple[str, list[Any]]]:
    """Stages that a setting needs, and all that the result of each depends on."""
    setting, seeds = experiment.settings[name], experiment.seeds.model_dump()
    data = setting.data.model_dump(mode="json")
    samples = [data, seeds, experiment.network.model_dump(mode="json")]
    yield "data", [data, seeds["data"]]
    if setting.dimensions:
        yield "features", samples
    if "kerhrm" in setting.run:
        kerhrm = setting.methods.kerhrm.model_dump(mode="json")
        steps, network = kerhrm.pop("iterations"), kerhrm.pop("network")
        yield "iterations", [samples, kerhrm]
        yield "direction", [samples, kerhrm, steps]
        if "igd" in setting.run:
            yield "network", [samples, kerhrm, steps, network]
    for method in setting.run:
        if METHODS[method].reads != "kerhrm":
            yield f"method:{method}", [samples, experiment.choices(name, method)]
