"""What every method hands over to scoring."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from kerhrm.storage.records import Record


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


@dataclass(frozen=True)
class Trial(Predictions):
    """Outputs of one option set (B, m), or of C of them (B, C, m), and what they inferred.

    Attributes
    ----------
    environments : Tensor, (B, E, n + m), or (B, C, E, n + m), float32
        Memberships, soft or 0 and 1, of the n training points and then the m validation points in
        the environments that the method inferred by itself.  E is 0 for methods that infer none,
        and the same for all option sets of a method; an environment may have no points.
    """

    environments: Tensor

    @classmethod
    def of(cls, outputs: Predictions, environments: Tensor | None = None) -> Self:
        """Outputs (B, m), with memberships (B, E, n + m), or with those of no environment."""
        f = outputs.train
        if environments is None:
            environments = f.new_empty(len(f), 0, f.shape[-1] + outputs.validation.shape[-1])
        return cls(outputs.train, outputs.validation, outputs.test, environments.to(torch.float32))

    def split(self, parts: int) -> list[Self]:
        """Of C B replicates those of each of C option sets."""
        chunks = (getattr(self, name).chunk(parts) for name in self.names())
        return [type(self)(*fields) for fields in zip(*chunks, strict=True)]
