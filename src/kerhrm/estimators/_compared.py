"""Points on which KerHRM is compared with simpler models, and these models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from kerhrm.description.rows import HARDLY_ANY
from kerhrm.estimators._guard import ALL
from kerhrm.features.ridge import Columns, RidgeModel
from kerhrm.features.ridge_path import RidgePath
from kerhrm.methods.inputs import Inputs
from kerhrm.options import Task


@dataclass(frozen=True)
class ComparedPoints:
    """Outputs of several models at n points, and what their errors are means over.

    Attributes
    ----------
    outputs : mapping of str to ndarray, (n,)
        By model.
    y : ndarray, (n,)
        Numbers, or labels -1 and +1.
    groups : mapping of str to ndarray, (n,)
        Memberships in groups, from 0 to 1.
    task : {"classification", "regression"}
        What the target is.
    weights : ndarray, (n,), or None
        Of the points.  None: all alike.
    """

    outputs: Mapping[str, np.ndarray]
    y: np.ndarray
    groups: Mapping[str, np.ndarray]
    task: Task
    weights: np.ndarray | None = None

    @classmethod
    def of_validation(
        cls, inputs: Inputs, outputs: dict[str, np.ndarray], memberships: np.ndarray
    ) -> Self:
        """Validation points with the models' outputs (m,) at them.

        Memberships (n + m, K) in the environments are those of training points, then of
        validation points.
        """
        of_points = memberships[len(inputs.y) :]
        return cls._of_environments(
            outputs,
            inputs.y_validation,
            of_points,
            inputs.task,
            inputs.weights_validation,
        )

    @classmethod
    def of_all(
        cls,
        inputs: Inputs,
        of_train: Mapping[str, np.ndarray],
        of_validation: Mapping[str, np.ndarray],
        memberships: np.ndarray,
    ) -> Self:
        """Training and validation points with the models' outputs (n,) and (m,) at
        them, and memberships (n + m, K) in the environments.

        Validation rows alone are few where an environment is small.  Outputs of
        training points are by models that have not seen them.
        """
        both = {
            name: np.concatenate([train, of_validation[name]])
            for name, train in of_train.items()
        }
        weights = torch.cat(
            [
                torch.ones_like(part).double() if weight is None else weight
                for part, weight in (
                    (inputs.y, inputs.weights),
                    (inputs.y_validation, inputs.weights_validation),
                )
            ]
        )
        targets = torch.cat([inputs.y, inputs.y_validation])
        return cls._of_environments(both, targets, memberships, inputs.task, weights)

    @classmethod
    def _of_environments(
        cls,
        outputs: dict[str, np.ndarray],
        y: Tensor,
        memberships: np.ndarray,
        task: Task,
        weights: Tensor | None,
    ) -> Self:
        groups = {f"environment {j}": part for j, part in enumerate(memberships.T)}
        counts = None
        if weights is not None:
            counts = weights.cpu().numpy()
        target = y.double().cpu().numpy()
        return cls(outputs, target, groups, task, counts)

    def errors(self) -> pd.DataFrame:
        """Mean error of every model, on all rows and in every group that has any row.

        An error is the share of wrong labels, or the mean squared error; the column
        ``rows`` is the sum of memberships, times the points' weights.
        """
        members = self._members()
        weights = members.sum(1)
        losses = [self._losses_of(name) for name in self.outputs]
        sums = members @ np.stack(losses, axis=1)
        positive_weights = np.maximum(weights, HARDLY_ANY)
        means = sums / positive_weights[:, None]
        table = pd.DataFrame(means, [ALL, *self.groups], [*self.outputs])
        table.insert(0, "rows", weights)
        return table[weights > HARDLY_ANY]

    def doubts(self) -> pd.Series:
        """Standard error of the difference of KerHRM's and the constant's error, on all
        rows and in every group."""
        members = self._members()
        ours = self._losses_of("KerHRM")
        constant = self._losses_of("constant")
        difference = ours.astype(float) - constant
        sums = members.sum(1)
        weights = np.maximum(sums, 1e-300)
        means = members @ difference / weights
        centred = difference - means[:, None]
        squares = (members**2 * centred**2).sum(1)
        errors = np.sqrt(squares) / weights
        return pd.Series(errors, [ALL, *self.groups])

    def losses(self) -> dict[str, np.ndarray]:
        """Losses of KerHRM and ERM at the points, with memberships and weights, as
        :class:`kerhrm.description.break_even.Losses` has them."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        return {
            "kerhrm": self._losses_of("KerHRM").astype(float),
            "erm": self._losses_of("ERM").astype(float),
            "memberships": np.stack([*self.groups.values()], axis=1),
            "weights": weights,
        }

    def _members(self) -> np.ndarray:
        """Weights (p, n) of the points in all rows, and in every group."""
        everyone = np.ones(len(self.y))
        members = np.stack([everyone, *self.groups.values()])
        if self.weights is None:
            return members
        return members * self.weights

    def _losses_of(self, name: str) -> np.ndarray:
        """Whether a model's labels (n,) are wrong, or its squared errors (n,).

        An output that is not finite is no label, and wrong.
        """
        outputs = self.outputs[name]
        if self.task == "classification":
            wrong = (outputs > 0) != (self.y > 0)
            return np.asarray(wrong | ~np.isfinite(outputs))
        squares = (outputs - self.y) ** 2
        return np.asarray(squares)


def simple_models(inputs: Inputs) -> tuple[dict[str, RidgeModel], Columns]:
    """ERM in closed form, least squares on the inputs, and a constant, of the training
    rows; and the columns of ERM's regression."""
    x = inputs.x.double().cpu().numpy()
    y = inputs.y.double().cpu().numpy()
    weights = None
    if inputs.weights is not None:
        weights = inputs.weights.double().cpu().numpy()
    units = None
    if inputs.units is not None:
        units = inputs.units.double().cpu().numpy()
    columns = Columns.extract(
        inputs.network, inputs.x, seed=inputs.seed, weights=weights, units=units
    )
    models = {"ERM": columns.fit(y)}
    path = RidgePath.decompose(x, weights)
    ridges = {"least squares": 0.0, "constant": np.inf}
    for name, ridge in ridges.items():
        beta, intercept = path.solve(y, ridge)
        slopes = torch.from_numpy(beta)
        model = RidgeModel(slopes, intercept, None, ridge, float("nan"))
        models[name] = model.to(inputs.x.device)
    return models, columns
