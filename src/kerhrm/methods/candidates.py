"""One method, trained with every option set on trial."""

import logging
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TypeVar

from torch import Tensor

from kerhrm.config.sections import Section
from kerhrm.devices import resolve_device
from kerhrm.features.mlp import MLP, init_mlp
from kerhrm.methods.predictions import Predictions, load_points
from kerhrm.methods.samples import Predictor, Samples, load_samples

log = logging.getLogger(__name__)

Options = TypeVar("Options", bound=Section)


def train_candidates(
    method: Callable[[Samples, MLP, Options], Predictor],
    options: Sequence[Options],
    files: Mapping[str, str | PathLike[str]],
    hidden: Sequence[int],
    device: str,
) -> Predictions:
    """Train a method once per option set, always from the same w_0, and predict all points.

    Parameters
    ----------
    method : callable
        ``train_<name>`` of one of the methods' modules.
    options : sequence, length C
    files : mapping
        Paths of ``train``, ``validation``, ``test_inputs`` and, for methods that are given
        them, ``environments``.
    hidden : sequence of int
        Widths of the hidden layers.
    device : str
        As in the configuration.

    Returns
    -------
    Predictions
        Fields (B, C, m).
    """
    where = resolve_device(device)
    samples = load_samples(files, where)
    points = load_points(files, where)
    mlp = init_mlp(samples.seeds, (samples.x.shape[-1], *hidden, 1)).to(where)
    outputs = []
    for candidate in options:
        log.info("training with %s", candidate)
        predictor = method(samples, mlp, candidate)
        outputs.append(Predictions(*(_outputs(predictor, x) for x in points)))
    stacked = Predictions.stack(outputs)
    return Predictions(*(getattr(stacked, name).transpose(0, 1) for name in stacked.names()))


def _outputs(predictor: Predictor, x: Tensor) -> Tensor:
    return predictor(x).detach()
