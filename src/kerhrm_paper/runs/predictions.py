"""What a trained learner predicts, as it goes to disk and as scoring reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.records import Record, predict_linear
from kerhrm.errors import KerhrmError
from kerhrm.methods.inputs import Fitted
from kerhrm_paper.runs.fitted_check import as_number, check_fitted, check_output
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
        number = self.outputs.tolist().index(name)
        of_part = getattr(self, part)
        return np.asarray(of_part[number])


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
        n_train = len(replicates.read("train", s, "y"))
        n_validation = len(replicates.read("validation", s, "y"))
        problem = replicates.problems[s]
        check_fitted(fitted, learner, problem, n_train + n_validation)
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
            arrays.append(check_output(by_name[name], name, len(x)))
        outputs[part] = np.stack(arrays)
    choices = [float(as_number(value)) for value in fitted.chosen.values()]
    memberships = None
    if fitted.environments is not None:
        memberships = fitted.environments.cpu().numpy()
        memberships = memberships.astype(np.float32)
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
    every_theta, every_memberships = zip(*fitted.iterations.values(), strict=True)
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


def aligned(units: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    """Arrays of replicates that stack.

    Those that infer fewer environments get empty ones; what one has not chosen is NaN.
    """
    names: dict[str, None] = {}
    most = 0  # environments of one replicate
    for unit in units:
        names |= dict.fromkeys(unit["chosen"].tolist())
        if "memberships" in unit:
            most = max(most, unit["memberships"].shape[-1])
    stackable = []
    for unit in units:
        arrays = dict(unit)
        chosen = unit["chosen"].tolist()
        values = unit["choices"].tolist()
        choices = dict(zip(chosen, values, strict=True))
        aligned_choices = [choices.get(name, np.nan) for name in names]
        arrays["chosen"] = np.array([*names], dtype=str)
        arrays["choices"] = np.array(aligned_choices)
        if "memberships" in unit:
            n_empty = most - unit["memberships"].shape[-1]
            padding = [(0, 0), (0, n_empty)]
            arrays["memberships"] = np.pad(unit["memberships"], padding)
        stackable.append(arrays)
    return stackable


def stack(replicates: Sequence[Predictions], name: str) -> np.ndarray:
    """A field of all replicates, (S, ...)."""
    fields = [getattr(prediction, name) for prediction in replicates]
    return np.stack(fields)
