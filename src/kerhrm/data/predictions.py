"""What every method hands over to scoring."""

from dataclasses import dataclass

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
