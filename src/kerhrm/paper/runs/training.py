"""What the jobs that train read for each seed, and what they write."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.records import Problem, predict_linear
from kerhrm.errors import KerhrmError, shown
from kerhrm.heterogeneity.test import HeterogeneityResult
from kerhrm.methods.base import WORST_INFERRED
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.paper.runs.arrays import load_arrays, load_records, save_arrays
from kerhrm.paper.runs.checkpoints import Result


class Replicates:
    """The seeds of a job, whose input ``files`` and ``params`` are Snakemake's.

    Errors name the ``learner`` that the job trains.
    """

    def __init__(
        self, files: Any, params: Any, device: torch.device, learner: str
    ) -> None:
        self.files, self.params, self.device = files, params, device
        self.learner = learner

    def __len__(self) -> int:
        return len(self.params.seeds["network"])

    @cached_property
    def _arrays(self) -> dict[str, dict[str, np.ndarray]]:
        names = ("train", "validation", "test_inputs", "true_environments")
        return {
            name: load_arrays(self.files[name])[0]
            for name in names
            if self.files.get(name)
        }

    @cached_property
    def problems(self) -> list[Problem | None]:
        """Reduced features and labels of each seed."""
        if not self.files.get("features"):
            return [None] * len(self)
        return [*load_records(Problem, self.files["features"], self.device)]

    def read(
        self, file: str, s: int, name: str = "x", dtype: Any = torch.float32
    ) -> Any:
        """An array of one seed; None where the file does not have it.

        It is a copy: what a method writes into it no other candidate sees.
        """
        array = self._arrays.get(file, {}).get(name)
        if array is None:
            return None
        return torch.from_numpy(array[s]).to(self.device, dtype, copy=True)

    def inputs(
        self, s: int, heterogeneity: HeterogeneityResult | None = None
    ) -> Inputs:
        """All that a method is given for one seed, and the result of a test that has
        run."""
        x, options = self.read("train", s), NetworkOptions(**self.params.network)
        return Inputs(
            x=x,
            y=self.read("train", s, "y"),
            x_validation=self.read("validation", s),
            y_validation=self.read("validation", s, "y"),
            task=self.params.task,
            seed=self.params.seeds["clustering"][s],
            network=build(options, self.params.seeds["network"][s], x.shape[-1]).to(
                self.device
            ),
            environments=self.read("true_environments", s, "train", torch.long),
            environments_validation=self.read(
                "true_environments", s, "validation", torch.long
            ),
            problem=_copied(self.problems[s]),
            heterogeneity=heterogeneity,
            auxiliary=self.read("train", s, "auxiliary"),
            auxiliary_validation=self.read("validation", s, "auxiliary"),
        )

    def predictions(self, s: int, fitted: Fitted) -> Result:
        """Outputs of a trained method at all points of one seed, and what it has
        inferred.

        Raises KerhrmError naming the learner if the method returns something else.
        """
        sizes = [len(self._arrays[part]["y"][s]) for part in ("train", "validation")]
        try:
            _check(fitted, self.params, self.problems[s], sum(sizes))
            return self._predictions(s, fitted)
        except KerhrmError as error:
            problem = f"learner {self.learner}: {error.problem}"
            raise KerhrmError(problem, error.hint) from error

    def _predictions(self, s: int, fitted: Fitted) -> Result:
        """The arrays of :meth:`predictions`, of which the method's are checked."""
        features: dict[str, tuple[Tensor, Tensor]] = {}
        problem = self.problems[s]
        if problem is not None:
            features["train"] = problem.psi_train, problem.f0_train
            features["validation"] = problem.psi_validation, problem.f0_validation
            test = load_arrays(self.files["test_features"])[0]
            psi, f0 = (
                torch.from_numpy(test[name][s]).to(self.device)
                for name in ("psi", "f0")
            )
            features["test"] = psi, f0
        found = {
            f"chosen/{name}": _number(value) for name, value in fitted.chosen.items()
        }
        if fitted.environments is not None:
            found["environments"] = fitted.environments.cpu().numpy().astype(np.float32)
        for part, file in (
            ("train",) * 2,
            ("validation",) * 2,
            ("test", "test_inputs"),
        ):
            x = self.read(file, s)
            outputs = fitted.predict(x, *features.get(part, (None, None)))
            for name in self.params.outputs:
                output = outputs[name]
                if not isinstance(output, Tensor) or output.shape != (len(x),):
                    text = f"output {name} must be a tensor of shape ({len(x)},)"
                    text += f" for {len(x)} points; got {_shape(output)}"
                    hint = "let the function return one number for each point"
                    raise KerhrmError(text, hint)
                found[f"{name}/{part}"] = output.cpu().numpy()
        if self.params.get("iterations"):
            found |= _iterations(fitted, features)
        return found


def _copied(problem: Problem | None) -> Problem | None:
    """The record with tensors of its own."""
    if problem is None:
        return None
    values: dict[str, Any] = {f.name: getattr(problem, f.name) for f in fields(problem)}
    tensors = {n: v.clone() for n, v in values.items() if isinstance(v, Tensor)}
    return replace(problem, **tensors)  # type: ignore[arg-type]


def _number(value: Any) -> np.ndarray:
    """A choice as an array."""
    return np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)


def _shape(value: object) -> str:
    """Type or shape of what a method returned."""
    if isinstance(value, Tensor):
        return f"shape {tuple(value.shape)}"
    return type(value).__name__


def _check(fitted: Any, params: Any, problem: Problem | None, n_points: int) -> None:
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
    for name in params.outputs:
        if name not in fitted.networks and name not in fitted.directions:
            text = f"its Fitted lacks the output {name}"
            hint = f"add networks={{'{name}': ...}}, or leave it out of outputs"
            raise KerhrmError(text, hint)
    if fitted.environments is None and WORST_INFERRED in params.get("criteria", ()):
        text = "its Fitted has no environments, but its Method declares infers=True"
        raise KerhrmError(text, "add environments=..., or declare infers=False")
    _check_inferred(fitted, n_points)
    if params.get("iterations") and not any(
        known is not None for _, known in fitted.iterations.values()
    ):
        text = "its Fitted has no iterations, which a table of this kind shows"
        raise KerhrmError(text, "leave the learner out of tables of kind iterations")


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
    for name, value in fitted.chosen.items():
        number = _number(value)
        if number.shape != () or number.dtype.kind not in "biuf":
            text = f"chosen['{name}'] must be a number; got {shown(value)}"
            raise KerhrmError(text, "give one number for each name")


def _iterations(
    fitted: Fitted, features: Mapping[str, tuple[Tensor, Tensor]]
) -> Result:
    """Outputs (T, points) of all iterations, and training points' memberships (T, n,
    K)."""
    thetas, memberships = zip(*fitted.iterations.values(), strict=True)
    known = next(m for m in memberships if m is not None)
    every = [torch.zeros_like(known) if m is None else m for m in memberships]
    outputs = {
        f"iterations/{part}": predict_linear(torch.stack(thetas), *features[part])
        for part in ("train", "test")
    }
    arrays = outputs | {"iterations/memberships": torch.stack(every)}
    numbers = {"iterations/number": np.array([*fitted.iterations])}
    return numbers | {name: tensor.cpu().numpy() for name, tensor in arrays.items()}


def save_predictions(path: str, units: Sequence[Sequence[Result]], **meta: Any) -> None:
    """Write the results of all seeds and candidates, stacked along two new first axes.

    Candidates that infer fewer environments have empty ones; what a candidate has not
    chosen is NaN.
    """
    flat = [unit for candidates in units for unit in candidates]
    names = dict.fromkeys(name for unit in flat for name in unit)
    most = max(
        [unit["environments"].shape[-1] for unit in flat if "environments" in unit]
        or [0]
    )

    def of(unit: Mapping[str, np.ndarray], name: str) -> np.ndarray:
        if name == "environments":
            return np.pad(unit[name], [(0, 0), (0, most - unit[name].shape[-1])])
        return unit[name] if name in unit else np.asarray(np.nan)

    arrays = {
        name: np.stack([[of(u, name) for u in row] for row in units]) for name in names
    }
    save_arrays(path, arrays, **meta)
