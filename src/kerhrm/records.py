"""Records of tensors that go to disk and come back as they were."""

import os
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Self

import numpy as np
import torch

from kerhrm.arrays import load_arrays, save_arrays
from kerhrm.errors import KerhrmError


class Record:
    """Base of frozen dataclasses whose fields are all tensors with the same leading axes."""

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The fields as arrays, for the disk."""
        return {name: getattr(self, name).detach().cpu().numpy() for name in self.names()}

    @classmethod
    def names(cls) -> list[str]:
        return [f.name for f in fields(cls)]  # type: ignore[arg-type]

    @classmethod
    def stack(cls, records: Iterable[Self]) -> Self:
        """Many records as one, along a new first axis."""
        records = list(records)
        return cls(*(torch.stack([getattr(r, name) for r in records]) for name in cls.names()))

    def take(self, *index: Any) -> Self:
        """The same index taken from every field."""
        return type(self)(*(getattr(self, name)[index] for name in self.names()))

    def save(self, path: str | os.PathLike[str], **meta: Any) -> None:
        save_arrays(path, self.to_arrays(), meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: torch.device | str = "cpu") -> Self:
        arrays, _ = load_arrays(path)
        missing = sorted(set(cls.names()) - set(arrays))
        if missing:
            raise KerhrmError(
                f"{path} has no {', '.join(missing)}", "it comes from other code: delete it"
            )
        return cls(*(torch.from_numpy(arrays[name]).to(device) for name in cls.names()))

    @classmethod
    def load_all(
        cls, paths: Iterable[str | os.PathLike[str]], device: torch.device | str = "cpu"
    ) -> list[Self]:
        """Records of many files, for example of all iterations."""
        return [cls.load(path, device) for path in paths]
