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
    """Train with each of C option sets, equal ones once: fields (B, m) become (B, C, m)."""
    outputs: list[Predictions] = []
    for number, candidate in enumerate(options):
        first = options.index(candidate)
        if first == number:
            log.info("training with %s", candidate)
        outputs.append(train(candidate) if first == number else outputs[first])
    fields = ([getattr(o, name) for o in outputs] for name in Predictions.names())
    return Predictions(*(torch.stack(field, dim=1) for field in fields))
