"""Records that have files.

PyTorch is imported for those of tensors alone: reading others takes a second less.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

if TYPE_CHECKING:
    import torch


class Record:
    """Base of frozen dataclasses of tensors, arrays, numbers and strings."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all fields as arrays, for a file."""
        arrays = {}
        for field in fields(self):  # type: ignore[arg-type]
            content = getattr(self, field.name)
            if content is None:
                continue
            if hasattr(content, "detach"):
                content = content.detach().cpu().numpy()
            arrays[field.name] = np.asarray(content)
        return arrays

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, np.ndarray],
        device: "torch.device | str | None" = None,
    ) -> Self:
        """Rebuild the record that :meth:`arrays` came from, with its tensors on a
        device."""
        contents: dict[str, Any] = {}
        for field in fields(cls):  # type: ignore[arg-type]
            if field.name not in arrays and field.default is None:
                continue
            array = np.asarray(arrays[field.name])
            kinds = get_args(field.type) or (field.type,)
            if any(map(_is_tensor, kinds)):
                contents[field.name] = _tensor(array, device)
            elif np.ndarray in kinds:
                contents[field.name] = array
            else:
                contents[field.name] = array.item()
        return cls(**contents)


def _is_tensor(kind: Any) -> bool:
    return getattr(kind, "__module__", "") == "torch"


def _tensor(array: np.ndarray, device: "torch.device | str | None") -> "torch.Tensor":
    import torch

    return torch.from_numpy(array).to(device)
