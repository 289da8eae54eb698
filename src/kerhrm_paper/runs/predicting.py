"""Outputs of a trained learner at all points of a replicate."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.records import predict_linear
from kerhrm.errors import KerhrmError
from kerhrm.memory import keeping
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm_paper.runs.fitted_check import as_number, check_fitted, check_output
from kerhrm_paper.runs.inputs import inputs_of
from kerhrm_paper.runs.predictions import FILES, Predictions
from kerhrm_paper.runs.replicates import Replicates


def trained(
    replicates: Replicates,
    s: int,
    train: Callable[[Inputs, Any], Any],
    options: Any,
    learner: Mapping[str, Any],
) -> Predictions:
    """Train a method on one replicate, and predict.

    The generators that Python, NumPy and PyTorch share begin at the replicate's seed,
    so that a method that draws from them repeats, whatever ran before it.

    Parameters
    ----------
    replicates : Replicates
        Points and features.
    s : int
        Number of the replicate.
    train : callable
        The method's.
    options : Options
        The method's.
    learner : mapping
        As for :func:`predict`.

    Returns
    -------
    Predictions
        Outputs, choices and memberships.
    """
    inputs = inputs_of(replicates, s)
    random.seed(inputs.seed)
    np.random.seed(inputs.seed % 2**32)
    torch.manual_seed(inputs.seed)
    with keeping(replicates.size):
        fitted = train(inputs, options)
    return predict(replicates, s, fitted, learner)


def predict(
    replicates: Replicates, s: int, fitted: Fitted, learner: Mapping[str, Any]
) -> Predictions:
    """Outputs of a trained method on one replicate.

    Parameters
    ----------
    replicates : Replicates
        Points and features.
    s : int
        Number of the replicate.
    fitted : Fitted
        What the method returned.
    learner : mapping
        Its ``name``, its ``outputs``, and whether it ``infers`` and ``iterates``.

    Returns
    -------
    Predictions
        Outputs, choices and memberships.

    Raises
    ------
    KerhrmError
        Naming the learner, if the method returned something else.
    """
    try:
        y_train = replicates.read("train", s, "y")
        y_validation = replicates.read("validation", s, "y")
        sizes = len(y_train), len(y_validation)
        problem = replicates.problems[s]
        check_fitted(fitted, learner, problem, sizes)
        return _predictions(replicates, s, fitted, learner)
    except KerhrmError as error:
        text = f"learner {learner['name']}: {error.problem}"
        raise KerhrmError(text, error.hint) from error


def _predictions(
    replicates: Replicates, s: int, fitted: Fitted, learner: Mapping[str, Any]
) -> Predictions:
    """The record of what is checked already."""
    names = learner["outputs"]
    features = replicates.features(s)
    outputs = {}
    for part, file in FILES.items():
        x = replicates.read(file, s)
        psi, f0 = features.get(part, (None, None))
        by_name = fitted.predict(x, psi, f0)
        arrays = []
        for name in names:
            checked = check_output(by_name[name], name, len(x))
            arrays.append(checked)
        outputs[part] = np.stack(arrays)
    values = fitted.chosen.values()
    choices = [float(as_number(value)) for value in values]
    memberships = None
    if fitted.environments is not None:
        environments = fitted.environments.detach().cpu()
        memberships = environments.to(torch.float32).numpy()
    iterations = {}
    if learner["iterates"]:
        iterations = _iterations(fitted, features)
    return Predictions(
        outputs=np.array(names),
        train=outputs["train"],
        validation=outputs["validation"],
        test=outputs["test"],
        chosen=np.array([*fitted.chosen], dtype=str),
        choices=np.array(choices),
        memberships=memberships,
        **iterations,
    )


def _iterations(
    fitted: Fitted, features: Mapping[str, tuple[Tensor, Tensor]]
) -> dict[str, np.ndarray]:
    """Outputs (T, points) of all iterations, and training points' memberships (T, n,
    K)."""
    pairs = fitted.iterations.values()
    every_theta, every_memberships = zip(*pairs, strict=True)
    inferred = next(known for known in every_memberships if known is not None)
    memberships = [
        torch.zeros_like(inferred) if known is None else known
        for known in every_memberships
    ]
    thetas = torch.stack(every_theta)
    train = predict_linear(thetas, *features["train"])
    test = predict_linear(thetas, *features["test"])
    return {
        "iterations": np.array([*fitted.iterations]),
        "iteration_train": train.cpu().numpy(),
        "iteration_test": test.cpu().numpy(),
        "iteration_memberships": torch.stack(memberships).cpu().numpy(),
    }
