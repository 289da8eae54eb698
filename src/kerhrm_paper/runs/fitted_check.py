"""Refuse what a method returned, if it is no trained method or lacks an output.

The text names the field and what it must be, and ``predicting.predict`` puts the
learner's name in front.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.problem import Problem
from kerhrm.errors import KerhrmError, shown
from kerhrm.methods.inputs import Fitted

ROUNDING = 1e-3  #: of memberships
NUMPY_FLOATS = (torch.float16, torch.float32, torch.float64)


def check_fitted(
    fitted: Any,
    learner: Mapping[str, Any],
    problem: Problem | None,
    sizes: tuple[int, int],
) -> None:
    """Refuse what is no trained method, or lacks an output.

    Parameters
    ----------
    fitted : object
        What the method returned.
    learner : mapping
        Its ``outputs``, and whether it ``infers`` and ``iterates``.
    problem : Problem, optional
        The reduced features, where the method has them.
    sizes : two ints
        Numbers of training and of validation points.
    """
    if not isinstance(fitted, Fitted):
        text = f"train must return a Fitted; got {_kind(fitted)}"
        raise KerhrmError(text, "return Fitted(networks={'model': network})")
    for key in ("networks", "directions", "chosen", "iterations"):
        value = getattr(fitted, key)
        if not isinstance(value, Mapping):
            text = f"{key} of its Fitted must be a dict; got {_kind(value)}"
            raise KerhrmError(text, f"write {key}={{NAME: ...}}")
    _check_networks(fitted)
    _check_directions(fitted, problem)
    for name in learner["outputs"]:
        is_given = name in fitted.networks or name in fitted.directions
        if not is_given:
            text = f"its Fitted lacks the output {name}"
            hint = f"add networks={{'{name}': ...}}, or leave it out of outputs"
            raise KerhrmError(text, hint)
    if fitted.environments is None and learner["infers"]:
        text = "its Fitted has no environments, but its Method declares infers=True"
        raise KerhrmError(text, "add environments=..., or declare infers=False")
    _check_environments(fitted.environments, sizes)
    _check_chosen(fitted)
    if learner["iterates"]:
        _check_iterations(fitted)


def _check_networks(fitted: Fitted) -> None:
    for name, network in fitted.networks.items():
        if not callable(network):
            text = f"networks['{name}'] must be a function of points"
            text += f"; got {_kind(network)}"
            raise KerhrmError(text, "give the function, not what it returns")


def _check_directions(fitted: Fitted, problem: Problem | None) -> None:
    for name, theta in fitted.directions.items():
        if problem is None:
            text = f"directions['{name}'] need the reduced features"
            hint = "declare needs_features=True in its Method, or give networks"
            raise KerhrmError(text, hint)
        k = problem.psi_train.shape[1]
        has_shape = isinstance(theta, Tensor) and theta.shape == (k,)
        if not has_shape:
            text = f"directions['{name}'] must be a tensor of shape ({k},)"
            text += f"; got {_kind(theta)}"
            hint = "give one number for each feature, and 0 for those left out"
            raise KerhrmError(text, hint)


def _check_environments(memberships: Any, sizes: tuple[int, int]) -> None:
    """Refuse memberships of another type or shape, or of no point of a part."""
    if memberships is None:
        return
    n_points = sum(sizes)
    is_matrix = isinstance(memberships, Tensor) and memberships.ndim == 2
    has_rows = is_matrix and len(memberships) == n_points
    if not has_rows or memberships.shape[1] == 0:
        text = f"environments of its Fitted must be a tensor of shape ({n_points},"
        text += " K), a row for each training and validation point"
        text += f"; got {_kind(memberships)}"
        raise KerhrmError(text, "give memberships of both parts, in this order")
    hint = "give every point memberships from 0 to 1"
    if memberships.is_complex() or memberships.layout != torch.strided:
        text = "environments of its Fitted must be a dense tensor of real numbers"
        raise KerhrmError(text, hint)
    is_finite = torch.isfinite(memberships)
    if not bool(is_finite.all()):
        text = "environments of its Fitted must be finite; got NaN or infinity"
        raise KerhrmError(text, hint)
    known = memberships.detach()
    lowest, highest = float(known.min()), float(known.max())
    if lowest < -ROUNDING or highest > 1 + ROUNDING:
        text = "environments of its Fitted must be memberships from 0 to 1"
        text += f"; got {lowest:.4g} to {highest:.4g}"
        raise KerhrmError(text, hint)
    parts = zip(("training", "validation"), known.split(sizes), strict=True)
    for part, of_part in parts:
        if len(of_part) and float(of_part.max()) < ROUNDING:
            text = f"environments of its Fitted hold no {part} point"
            raise KerhrmError(text, hint)


def _check_chosen(fitted: Fitted) -> None:
    for name, value in fitted.chosen.items():
        number = as_number(value)
        is_number = number.shape == () and number.dtype.kind in "biuf"
        if not is_number:
            text = f"chosen['{name}'] must be a number; got {shown(value)}"
            raise KerhrmError(text, "give one number for each name")


def _check_iterations(fitted: Fitted) -> None:
    every_memberships = [memberships for _, memberships in fitted.iterations.values()]
    if all(memberships is None for memberships in every_memberships):
        text = "its Fitted has no iterations, but its Method declares iterates=True"
        raise KerhrmError(text, "add iterations=..., or declare iterates=False")


def check_output(output: Any, name: str, n_points: int) -> np.ndarray:
    """An output as an array (n,), if it is one."""
    has_shape = isinstance(output, Tensor) and output.shape == (n_points,)
    if not has_shape:
        text = f"output {name} must be a tensor of shape ({n_points},)"
        text += f" for {n_points} points; got {_kind(output)}"
        hint = "let the function return one number for each point"
        raise KerhrmError(text, hint)
    if not output.dtype.is_floating_point:
        text = f"output {name} must hold real numbers; got {output.dtype}"
        raise KerhrmError(text, "return a tensor of floats")
    if output.layout != torch.strided:
        text = f"output {name} must be a dense tensor; got {output.layout}"
        raise KerhrmError(text, "let the function return output.to_dense()")
    if output.is_meta:
        text = f"output {name} is on the device meta, which holds no numbers"
        raise KerhrmError(text, "let the function return numbers")
    return np.asarray(_known_to_numpy(output).numpy())


def as_number(value: Any) -> np.ndarray:
    """A choice as an array."""
    if isinstance(value, Tensor) and not value.is_meta:
        value = _known_to_numpy(value)
    return np.asarray(value)


def _known_to_numpy(values: Tensor) -> Tensor:
    """Values on the CPU, floats in a type that NumPy has."""
    values = values.detach().cpu()
    if values.is_floating_point() and values.dtype not in NUMPY_FLOATS:
        return values.float()
    return values


def _kind(value: object) -> str:
    """Type or shape of what a method returned."""
    if isinstance(value, Tensor):
        return f"shape {tuple(value.shape)}"
    return type(value).__name__
