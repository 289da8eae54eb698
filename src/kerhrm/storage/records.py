"""Records of tensors that go to disk and come back as they were."""

import os
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.storage.arrays import load_arrays, save_arrays


def load_tensors(
    path: str | os.PathLike[str], device: torch.device | str
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read arrays as tensors, and facts; as :func:`kerhrm.storage.arrays.load_arrays`."""
    arrays, facts = load_arrays(path)
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}, facts


class Record:
    """Base of frozen dataclasses: fields that are tensors, with the same leading axes, and facts.

    Facts are the fields of any other type; what JSON can hold goes to the disk, too.
    """

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The tensors as arrays, for the disk."""
        return {name: getattr(self, name).detach().cpu().numpy() for name in self.names()}

    @classmethod
    def names(cls) -> list[str]:
        """Names of the tensors."""
        return [f.name for f in fields(cls) if f.type is Tensor]  # type: ignore[arg-type]

    @classmethod
    def facts(cls) -> list[str]:
        """Names of the fields that are no tensors."""
        return [f.name for f in fields(cls) if f.type is not Tensor]  # type: ignore[arg-type]

    @classmethod
    def stack(cls, records: Iterable[Self]) -> Self:
        """Many records as one, along a new first axis; facts are the first one's."""
        records = list(records)
        stacked = {n: torch.stack([getattr(r, n) for r in records]) for n in cls.names()}
        return replace(records[0], **stacked)  # type: ignore[type-var]

    def take(self, *index: Any) -> Self:
        """The same index taken from every tensor; facts stay."""
        taken = {name: getattr(self, name)[index] for name in self.names()}
        return replace(self, **taken)  # type: ignore[type-var]

    def save(self, path: str | os.PathLike[str], **meta: Any) -> None:
        """Write it to one file, with further facts ``meta`` about it."""
        save_arrays(path, self.to_arrays(), {n: getattr(self, n) for n in self.facts()} | meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: torch.device | str = "cpu") -> Self:
        """Read what :meth:`save` wrote; KerhrmError if the file holds no such record."""
        tensors, meta = load_tensors(path, device)
        content = tensors | meta
        if missing := sorted({*cls.names(), *cls.facts()} - {*content}):
            problem = f"{path} has no {', '.join(missing)}"
            raise KerhrmError(problem, "it comes from other code: delete it")
        return cls(**{name: content[name] for name in (*cls.names(), *cls.facts())})

    @classmethod
    def load_all(
        cls, paths: Iterable[str | os.PathLike[str]], device: torch.device | str = "cpu"
    ) -> list[Self]:
        """Records of many files, for example of all iterations."""
        return [cls.load(path, device) for path in paths]
