"""What a trained learner predicts, as it goes to disk and as scoring reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.records import Problem, Record, predict_linear
from kerhrm.errors import KerhrmError, shown
from kerhrm.methods.inputs import Fitted
from kerhrm_paper.runs.replicates import Replicates

#: where the points of each part are
FILES = {"train": "train", "validation": "validation", "test": "test_inputs"}


@dataclass(frozen=True)
class Predictions(Record):
    """Outputs of a learner on one replicate, at all points.

    Attributes
    ----------
    outputs : ndarray, (O,), str
        Names of the outputs.
    train, validation, test : ndarray, (O, n), (O, m), (O, l), float32
        Outputs at the training, validation and test points.
    chosen : ndarray, (C,), str
        What the method's own rule has chosen, by name.
    choices : ndarray, (C,), float64
        And the values.
    memberships : ndarray, (n + m, K), float32, optional
        Of the training and then the validation points, in inferred environments.
    iterations : ndarray, (T,), int64, optional
        Numbers of the iterations, of methods that iterate; 0 is ERM.
    iteration_train, iteration_test : ndarray, (T, n), (T, l), optional
        Outputs after each of them.
    iteration_memberships : ndarray, (T, n, K), optional
        Memberships of the training points; 0 in iteration 0.
    """

    outputs: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    chosen: np.ndarray
    choices: np.ndarray
    memberships: np.ndarray | None = None
    iterations: np.ndarray | None = None
    iteration_train: np.ndarray | None = None
    iteration_test: np.ndarray | None = None
    iteration_memberships: np.ndarray | None = None

    def output(self, name: str, part: str) -> np.ndarray:
        """One output (points,) at the points of a part."""
        return np.asarray(getattr(self, part)[self.outputs.tolist().index(name)])


def predict(
    replicates: Replicates, s: int, fitted: Fitted, learner: Mapping[str, Any]
) -> Predictions:
    """Outputs of a trained method on replicate ``s``.

    ``learner`` has its ``name``, its ``outputs``, and whether it ``infers`` and
    ``iterates``.

    Raises KerhrmError naming the learner if the method returns something else.
    """
    try:
        sizes = [len(replicates.read(p, s, "y")) for p in ("train", "validation")]
        _check(fitted, learner, replicates.problems[s], sum(sizes))
        return _predictions(replicates, s, fitted, learner)
    except KerhrmError as error:
        problem = f"learner {learner['name']}: {error.problem}"
        raise KerhrmError(problem, error.hint) from error


def _predictions(
    replicates: Replicates, s: int, fitted: Fitted, learner: Mapping[str, Any]
) -> Predictions:
    """The record of what is checked already."""
    names, features = learner["outputs"], replicates.features(s)
    parts = {}
    for part, file in FILES.items():
        x = replicates.read(file, s)
        found = fitted.predict(x, *features.get(part, (None, None)))
        parts[part] = np.stack([_output(found[name], name, len(x)) for name in names])
    memberships = None
    if fitted.environments is not None:
        memberships = fitted.environments.cpu().numpy().astype(np.float32)
    iterations = _iterations(fitted, features) if learner["iterates"] else {}
    return Predictions(
        np.array(names),
        **parts,
        chosen=np.array([*fitted.chosen], dtype=str),
        choices=np.array([float(_number(v)) for v in fitted.chosen.values()]),
        memberships=memberships,
        **iterations,
    )


def _output(output: Any, name: str, n_points: int) -> np.ndarray:
    """An output as an array (n,), if it is one."""
    if not isinstance(output, Tensor) or output.shape != (n_points,):
        text = f"output {name} must be a tensor of shape ({n_points},)"
        text += f" for {n_points} points; got {_shape(output)}"
        hint = "let the function return one number for each point"
        raise KerhrmError(text, hint)
    if not output.dtype.is_floating_point:
        text = f"output {name} must hold real numbers; got {output.dtype}"
        raise KerhrmError(text, "return a tensor of floats")
    return np.asarray(output.cpu().numpy())


def _iterations(
    fitted: Fitted, features: Mapping[str, tuple[Tensor, Tensor]]
) -> dict[str, np.ndarray]:
    """Outputs (T, points) of all iterations, and training points' memberships (T, n,
    K)."""
    thetas, memberships = zip(*fitted.iterations.values(), strict=True)
    known = next(m for m in memberships if m is not None)
    every = [torch.zeros_like(known) if m is None else m for m in memberships]
    arrays = {
        f"iteration_{part}": predict_linear(torch.stack(thetas), *features[part])
        for part in ("train", "test")
    }
    arrays["iteration_memberships"] = torch.stack(every)
    numbers = {"iterations": np.array([*fitted.iterations])}
    return numbers | {name: tensor.cpu().numpy() for name, tensor in arrays.items()}


def aligned(units: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    """Arrays of replicates that stack.

    Those that infer fewer environments get empty ones; what one has not chosen is NaN.
    """
    names = list(dict.fromkeys(n for unit in units for n in unit["chosen"].tolist()))
    most = max(
        (u["memberships"].shape[-1] for u in units if "memberships" in u), default=0
    )
    found = []
    for unit in units:
        own = dict(zip(unit["chosen"].tolist(), unit["choices"].tolist(), strict=True))
        arrays = dict(unit)
        arrays["chosen"] = np.array(names, dtype=str)
        arrays["choices"] = np.array([own.get(name, np.nan) for name in names])
        if "memberships" in unit:
            empty = most - unit["memberships"].shape[-1]
            arrays["memberships"] = np.pad(unit["memberships"], [(0, 0), (0, empty)])
        found.append(arrays)
    return found


def stack(replicates: Sequence[Predictions], name: str) -> np.ndarray:
    """A field of all replicates, (S, ...)."""
    return np.stack([getattr(one, name) for one in replicates])


def _number(value: Any) -> np.ndarray:
    """A choice as an array."""
    return np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)


def _shape(value: object) -> str:
    """Type or shape of what a method returned."""
    if isinstance(value, Tensor):
        return f"shape {tuple(value.shape)}"
    return type(value).__name__


def _check(
    fitted: Any, learner: Mapping[str, Any], problem: Problem | None, n_points: int
) -> None:
    """Refuse what is no trained method, or lacks an output.

    ``n_points`` are those of training and of validation.
    """
    if not isinstance(fitted, Fitted):
        text = f"train must return a Fitted; got {_shape(fitted)}"
        raise KerhrmError(text, "return Fitted(networks={'model': network})")
    for key in ("networks", "directions", "chosen", "iterations"):
        if not isinstance(value := getattr(fitted, key), Mapping):
            text = f"{key} of its Fitted must be a dict; got {_shape(value)}"
            raise KerhrmError(text, f"write {key}={{NAME: ...}}")
    for name, network in fitted.networks.items():
        if not callable(network):
            text = f"networks['{name}'] must be a function of points"
            text += f"; got {_shape(network)}"
            raise KerhrmError(text, "give the function, not what it returns")
    for name, theta in fitted.directions.items():
        if problem is None:
            text = f"directions['{name}'] need the reduced features"
            hint = "declare needs_features=True in its Method, or give networks"
            raise KerhrmError(text, hint)
        k = problem.psi_train.shape[1]
        if not isinstance(theta, Tensor) or theta.shape != (k,):
            text = f"directions['{name}'] must be a tensor of shape ({k},)"
            text += f"; got {_shape(theta)}"
            hint = "give one number for each feature, and 0 for those left out"
            raise KerhrmError(text, hint)
    for name in learner["outputs"]:
        if name not in fitted.networks and name not in fitted.directions:
            text = f"its Fitted lacks the output {name}"
            hint = f"add networks={{'{name}': ...}}, or leave it out of outputs"
            raise KerhrmError(text, hint)
    if fitted.environments is None and learner["infers"]:
        text = "its Fitted has no environments, but its Method declares infers=True"
        raise KerhrmError(text, "add environments=..., or declare infers=False")
    _check_inferred(fitted, n_points)
    if learner["iterates"] and not any(
        known is not None for _, known in fitted.iterations.values()
    ):
        text = "its Fitted has no iterations, but its Method declares iterates=True"
        raise KerhrmError(text, "add iterations=..., or declare iterates=False")


def _check_inferred(fitted: Fitted, n_points: int) -> None:
    """Refuse memberships and choices of another type or shape."""
    known: Any = fitted.environments
    if known is not None:
        fits = isinstance(known, Tensor) and known.ndim == 2 and known.shape[1] > 0
        if not fits or len(known) != n_points:
            text = f"environments of its Fitted must be a tensor of shape ({n_points},"
            text += " K), a row for each training and validation point; got"
            raise KerhrmError(
                f"{text} {_shape(known)}",
                "give memberships of both parts, in this order",
            )
        if not bool(torch.isfinite(known).all()):
            text = "environments of its Fitted must be finite; got NaN or infinity"
            raise KerhrmError(text, "give every point memberships from 0 to 1")
    for name, value in fitted.chosen.items():
        number = _number(value)
        if number.shape != () or number.dtype.kind not in "biuf":
            text = f"chosen['{name}'] must be a number; got {shown(value)}"
            raise KerhrmError(text, "give one number for each name")
