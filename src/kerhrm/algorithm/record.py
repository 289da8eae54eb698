"""Base of plain records: tensors, arrays, numbers and strings, and their files."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self, get_args

import numpy as np
import torch
from torch import Tensor


class Record:
    """Base of frozen dataclasses of tensors, arrays, numbers and strings."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all fields as arrays, for a file."""
        arrays = {}
        for field in fields(self):  # type: ignore[arg-type]
            content = getattr(self, field.name)
            if content is None:
                continue
            if isinstance(content, Tensor):
                content = content.detach().cpu().numpy()
            arrays[field.name] = np.asarray(content)
        return arrays

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], device: torch.device | str | None = None
    ) -> Self:
        """Rebuild the record that :meth:`arrays` came from, with its tensors on a
        device."""
        contents: dict[str, Any] = {}
        for field in fields(cls):  # type: ignore[arg-type]
            if field.name not in arrays and field.default is None:
                continue
            array = np.asarray(arrays[field.name])
            kinds = get_args(field.type) or (field.type,)
            if Tensor in kinds:
                contents[field.name] = torch.from_numpy(array).to(device)
            elif np.ndarray in kinds:
                contents[field.name] = array
            else:
                contents[field.name] = array.item()
        return cls(**contents)
