"""Replicates of data: their seeds, and what a job that trains on them needs to know."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Self

from kerhrm.features.options import FeatureOptions
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Task

STREAMS = ("data", "network", "clustering")


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
        each = range(first, first + number)
        return cls(*zip(*product(each, repeat=len(STREAMS)), strict=True))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def names(self) -> list[int] | list[str]:
        """Names of the replicates: the seeds, if they are the same in every stream."""
        every = list(zip(self.data, self.network, self.clustering, strict=True))
        if all(len({*seeds}) == 1 for seeds in every):
            return [*self.data]
        return [
            ",".join(f"{s}={n}" for s, n in zip(STREAMS, one, strict=True))
            for one in every
        ]


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
            "seeds": {name: [*of] for name, of in asdict(self.seeds).items()},
        }

    @classmethod
    def load(cls, params: Mapping[str, Any]) -> Self:
        """The record of :meth:`params`."""
        return cls(
            params["name"],
            params["task"],
            NetworkOptions(**params["network"]),
            FeatureOptions(**params["features"]),
            Seeds(*(tuple(params["seeds"][name]) for name in STREAMS)),
        )
