"""Methods that read the points themselves: ``entry(samples, network, options)``.

They see training and validation points, and environment labels where they are given them.  What
they return predicts points (B, m, d), and is shown the test points.  ``network`` is w_0.

A method that passes through fewer steps on its way to many has a *path*:
``entry(samples, network, options, stops)``, where ``stops`` ascend to ``options.steps``, returns a
predictor for each, the same to the last bit as if it had been trained for those steps alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from kerhrm.data.predictions import Predictions, Trial
from kerhrm.data.samples import Files, Inferred, load_points, load_samples
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions


def prepare(
    entry: Callable[..., Any],
    files: Files,
    seeds: Mapping[str, Sequence[int]],
    network: Mapping[str, Any],
    device: torch.device,
    *,
    path: bool,
) -> Callable[[Sequence[Any]], list[list[Trial]]]:
    """Read the points and draw w_0: a function of a group of option sets that gives trials.

    It returns the outputs (B, m) of each of them, as the method's only row.

    Parameters
    ----------
    entry : callable
        Returns a predictor, or a list of them; an
        :class:`~kerhrm.data.samples.Inferred` one has memberships, too.
    files : mapping
        Paths of ``train``, ``validation``, ``test_inputs``, and ``environments`` or nothing.
    seeds : mapping
        Numbers of the B seeds ``network`` and ``clustering``, the second for all other starts.
    network : mapping
        Fields of :class:`kerhrm.networks.options.NetworkOptions`.
    path : bool
        Whether the method has one: a group then differs in ``steps`` alone, which ascend.
    """
    samples, points = load_samples(files, device, seeds["clustering"]), load_points(files, device)
    w0 = build(NetworkOptions(**network), seeds["network"], samples.x.shape[-1]).to(device)

    def train(group: Sequence[Any]) -> list[list[Trial]]:
        if path:
            predictors = entry(samples, w0, group[-1], [options.steps for options in group])
        else:
            predictors = [entry(samples, w0, options) for options in group]
        trials = []
        for predictor in predictors:
            outputs = Predictions(*(predictor(x).detach() for x in points))
            inferred = predictor.memberships if isinstance(predictor, Inferred) else None
            trials.append([Trial.of(outputs, inferred)])
        return trials

    return train
