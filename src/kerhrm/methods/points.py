"""Methods that read the points themselves: ``entry(samples, network, options)``.

They see training and validation points, and environment labels where they are given them.  What
they return predicts points (B, m, d), and is shown the test points.  ``network`` is w_0.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch

from kerhrm.data.predictions import Predictions
from kerhrm.data.samples import Files, Predictor, Samples, load_points, load_samples
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network

Options = TypeVar("Options")


def prepare(
    entry: Callable[[Samples, Network, Options], Predictor],
    files: Files,
    seeds: Mapping[str, Sequence[int]],
    network: Mapping[str, Any],
    device: torch.device,
) -> Callable[[Options], Predictions]:
    """Read the points and draw w_0: a function of the options that gives outputs (B, m).

    Parameters
    ----------
    files : mapping
        Paths of ``train``, ``validation``, ``test_inputs``, and ``environments`` or nothing.
    seeds : mapping
        Numbers of the B seeds ``network`` and ``clustering``, the second for all other starts.
    network : mapping
        Fields of :class:`kerhrm.networks.options.NetworkOptions`.
    """
    samples, points = load_samples(files, device, seeds["clustering"]), load_points(files, device)
    w0 = build(NetworkOptions(**network), seeds["network"], samples.x.shape[-1]).to(device)

    def train(options: Options) -> Predictions:
        predictor = entry(samples, w0, options)
        return Predictions(*(predictor(x).detach() for x in points))

    return train
