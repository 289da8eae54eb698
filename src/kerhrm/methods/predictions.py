"""What every method hands over to scoring."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

import torch
from torch import Tensor

from kerhrm.arrays import load_arrays
from kerhrm.records import Record


@dataclass(frozen=True)
class Predictions(Record):
    """Outputs f(x) of one predictor (B, m), or of C candidates (B, C, m).

    Attributes
    ----------
    train, validation, test : Tensor
    """

    train: Tensor
    validation: Tensor
    test: Tensor


def load_points(
    files: Mapping[str, str | PathLike[str]], device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """x of the training, validation and test points, each (B, m, d), float32."""
    x = [load_arrays(files[name])[0]["x"] for name in ("train", "validation", "test_inputs")]
    train, validation, test = (torch.from_numpy(part).to(device) for part in x)
    return train, validation, test
