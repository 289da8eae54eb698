"""Methods that read the points themselves: ``entry(samples, network, options)``.

They see training and validation points, and environment labels where they are given them.  What
they return predicts points (B, m, d), and is shown the test points.  ``network`` is w_0.

A method that passes through fewer steps on its way to many has a *path*, the option that counts
them: ``entry(samples, network, options, stops)``, where ``stops`` ascend to what ``options`` have,
returns a predictor for each, the same to the last bit as if it had been trained for those alone.

What its options name as ``per_network`` an entry point takes as a Tensor (B,), too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from kerhrm.data.predictions import Predictions, Trial
from kerhrm.data.samples import Files, Inferred, load_points, load_samples
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.rows import copies, together


def prepare(
    entry: Callable[..., Any],
    files: Files,
    seeds: Mapping[str, Sequence[int]],
    network: Mapping[str, Any],
    device: torch.device,
    *,
    path: str,
) -> Callable[[Sequence[Sequence[Any]]], list[list[list[Trial]]]]:
    """Read the points and draw w_0: a function of groups of option sets that gives trials.

    It returns, group by group, the outputs (B, m) of each option set, as the method's only row.  C
    groups are one batch of C B networks; they differ in options ``per_network`` alone.

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
    path : str
        The method's; a group differs in nothing else, and ascends.
    """
    samples, points = load_samples(files, device, seeds["clustering"]), load_points(files, device)
    w0 = build(NetworkOptions(**network), seeds["network"], samples.x.shape[-1]).to(device)

    def train(lot: Sequence[Sequence[Any]]) -> list[list[list[Trial]]]:
        times = len(lot)
        told = together([group[-1] for group in lot], w0.n_networks)
        given = samples.copies(times), w0.copies(times), told
        stops = [getattr(options, path) for options in lot[0]] if path else []
        predictors = entry(*given, stops) if path else [entry(*given)]
        parts: list[list[list[Trial]]] = [[] for _ in lot]
        for predictor in predictors:
            outputs = Predictions(*(predictor(copies(x, times)).detach() for x in points))
            inferred = predictor.memberships if isinstance(predictor, Inferred) else None
            for part, trial in zip(parts, Trial.of(outputs, inferred).split(times), strict=True):
                part.append([trial])
        return parts

    return train
