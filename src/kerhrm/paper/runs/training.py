"""What the jobs that train read for each seed, and what they write."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.records import Problem, predict_linear
from kerhrm.heterogeneity.test import HeterogeneityResult
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.networks.build import NetworkOptions, build
from kerhrm.paper.runs.arrays import load_arrays, load_records, save_arrays
from kerhrm.paper.runs.checkpoints import Result


class Replicates:
    """The seeds of a job, whose input ``files`` and ``params`` are Snakemake's."""

    def __init__(self, files: Any, params: Any, device: torch.device) -> None:
        self.files, self.params, self.device = files, params, device

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
        """An array of one seed; None where the file does not have it."""
        array = self._arrays.get(file, {}).get(name)
        return (
            None if array is None else torch.from_numpy(array[s]).to(self.device, dtype)
        )

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
            problem=self.problems[s],
            heterogeneity=heterogeneity,
            auxiliary=self.read("train", s, "auxiliary"),
            auxiliary_validation=self.read("validation", s, "auxiliary"),
        )

    def predictions(self, s: int, fitted: Fitted) -> Result:
        """Outputs of a trained method at all points of one seed, and what it has
        inferred."""
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
            f"chosen/{name}": np.asarray(value) for name, value in fitted.chosen.items()
        }
        if fitted.environments is not None:
            found["environments"] = fitted.environments.cpu().numpy().astype(np.float32)
        for part, file in (
            ("train",) * 2,
            ("validation",) * 2,
            ("test", "test_inputs"),
        ):
            outputs = fitted.predict(
                self.read(file, s), *features.get(part, (None, None))
            )
            for name in self.params.outputs:
                found[f"{name}/{part}"] = outputs[name].cpu().numpy()
        if self.params.get("iterations"):
            found |= _iterations(fitted, features)
        return found


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
