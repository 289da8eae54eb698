"""Predictions of many candidates: one a seed can be taken."""

import torch

from kerhrm.data.predictions import Predictions

SIZES = {"train": 30, "validation": 8, "test": 9}


def test_predictions_are_taken_per_seed() -> None:
    outputs = Predictions(*(torch.randn(2, 3, n) for n in SIZES.values()))
    chosen = outputs.take([0, 1], [2, 1])
    for name in SIZES:
        got, source = getattr(chosen, name), getattr(outputs, name)
        assert torch.equal(got, torch.stack([source[0, 2], source[1, 1]]))
