"""Replicates of data: their seeds, and what a job that trains on them needs to know."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

from kerhrm.features.options import FeatureOptions
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Task


@dataclass(frozen=True)
class Seeds:
    """Seeds of S replicates, by what is drawn from them.

    Attributes
    ----------
    data, network, clustering : tuple of int
        Of the data, of the initial weights w_0, and of all random initialisations.
    """

    data: tuple[int, ...]
    network: tuple[int, ...]
    clustering: tuple[int, ...]

    @classmethod
    def alike(cls, number: int, first: int) -> Self:
        """``first``, ``first + 1``, ..., the same in every stream."""
        seeds = tuple(range(first, first + number))
        return cls(seeds, seeds, seeds)

    @classmethod
    def crossed(cls, number: int, first: int) -> Self:
        """Every combination of so many seeds of each stream."""
        seeds = range(first, first + number)
        combinations = [*product(seeds, repeat=3)]
        data, network, clustering = zip(*combinations, strict=True)
        return cls(data, network, clustering)

    def __len__(self) -> int:
        return len(self.data)

    @property
    def names(self) -> list[int] | list[str]:
        """Names of the replicates: the seeds, if they are the same in every stream."""
        if self.data == self.network == self.clustering:
            return [*self.data]
        names = []
        for data, network, clustering in zip(
            self.data, self.network, self.clustering, strict=True
        ):
            names.append(f"data={data},network={network},clustering={clustering}")
        return names


@dataclass(frozen=True)
class Replication:
    """What a job that trains needs to know of its data.

    Attributes
    ----------
    name : str
        Of the data.
    task : "classification" or "regression"
        What is learned.
    network : NetworkOptions
        f_w.
    features : FeatureOptions
        How many are kept, and how they are found.
    seeds : Seeds
        Of all replicates.
    """

    name: str
    task: Task
    network: NetworkOptions
    features: FeatureOptions
    seeds: Seeds

    def params(self) -> dict[str, Any]:
        """All of it as plain values, for a job."""
        return {
            "name": self.name,
            "task": self.task,
            "network": self.network.model_dump(mode="json"),
            "features": self.features.model_dump(mode="json"),
            "seeds": {
                "data": [*self.seeds.data],
                "network": [*self.seeds.network],
                "clustering": [*self.seeds.clustering],
            },
        }

    @classmethod
    def load(cls, params: Mapping[str, Any]) -> Self:
        """The record of :meth:`params`."""
        seeds = params["seeds"]
        return cls(
            name=params["name"],
            task=params["task"],
            network=NetworkOptions(**params["network"]),
            features=FeatureOptions(**params["features"]),
            seeds=Seeds(
                data=tuple(seeds["data"]),
                network=tuple(seeds["network"]),
                clustering=tuple(seeds["clustering"]),
            ),
        )
