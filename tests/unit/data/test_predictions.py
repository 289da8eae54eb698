"""Predictions of many candidates: one a seed can be taken; and what was inferred beside them."""

import torch

from kerhrm.data.predictions import Predictions, Trial

SIZES = {"train": 30, "validation": 8, "test": 9}


def test_predictions_are_taken_per_seed() -> None:
    outputs = Predictions(*(torch.randn(2, 3, n) for n in SIZES.values()))
    chosen = outputs.take([0, 1], [2, 1])
    for name in SIZES:
        got, source = getattr(chosen, name), getattr(outputs, name)
        assert torch.equal(got, torch.stack([source[0, 2], source[1, 1]]))


def test_a_trial_has_its_environments_or_none() -> None:
    outputs = Predictions(*(torch.randn(2, n, dtype=torch.float64) for n in SIZES.values()))
    both = SIZES["train"] + SIZES["validation"]
    soft = torch.rand(2, 3, both, dtype=torch.float64)
    for given, expected in ((soft, soft.float()), (None, torch.empty(2, 0, both))):
        trial = Trial.of(outputs, given)
        assert torch.equal(trial.environments, expected)
        assert trial.environments.dtype == torch.float32
        for name in SIZES:
            assert getattr(trial, name) is getattr(outputs, name)
