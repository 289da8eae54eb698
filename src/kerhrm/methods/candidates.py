"""One method, trained with every option set on trial."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from kerhrm.data.predictions import Predictions
from kerhrm.sections import Section

log = logging.getLogger(__name__)

Options = TypeVar("Options", bound=Section)


def train_candidates(
    options: Sequence[Options], train: Callable[[Options], Predictions]
) -> Predictions:
    """Train with every option set; those that are equal, once.

    Parameters
    ----------
    options : sequence, length C
    train : callable
        Trains with an option set and gives all outputs, fields (B, m).

    Returns
    -------
    Predictions
        Fields (B, C, m).
    """
    outputs: list[Predictions] = []
    for number, candidate in enumerate(options):
        first = options.index(candidate)
        if first == number:
            log.info("training with %s", candidate)
        outputs.append(train(candidate) if first == number else outputs[first])
    return Predictions(
        *(torch.stack([getattr(o, part) for o in outputs], dim=1) for part in Predictions.names())
    )
