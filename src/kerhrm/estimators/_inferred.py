"""Environments that a fit has inferred, and those of new rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from kerhrm.algorithm.records import Environments, of_occupied
from kerhrm.features.linearised import Linearisation
from kerhrm.methods.auxiliary import AuxiliaryFit
from kerhrm.tables.data import Units


@dataclass(frozen=True)
class InferredEnvironments:
    """Environments of the chosen iteration and dimension.

    Attributes
    ----------
    mixture : Environments
        One candidate.
    units : Units
        Of the rows that it was fitted to.
    linearisation : Linearisation
        Along theta and then along the environments' slopes, if ``of_features``.
    of_features, of_residuals : bool
        Whether environments are regressions on the features, else on the inputs; of
        residuals y - f_0, else of the target.
    auxiliary : AuxiliaryFit, or None
        Of auxiliary columns, if environments are functions of them.
    """

    mixture: Environments
    units: Units
    linearisation: Linearisation
    of_features: bool
    of_residuals: bool
    auxiliary: AuxiliaryFit | None

    @classmethod
    def keep(
        cls,
        candidate: Environments,
        units: Units,
        linearisation: Linearisation,
        auxiliary: AuxiliaryFit | None,
        *,
        of_features: bool,
        of_residuals: bool,
    ) -> Self:
        """Keep a candidate without its leading dimension, on the CPU."""
        arrays = Environments.stack([candidate]).arrays()
        return cls(
            Environments.from_arrays(arrays, "cpu"),
            units,
            linearisation.to("cpu"),
            of_features,
            of_residuals,
            auxiliary,
        )

    def of_fit(self) -> np.ndarray:
        """Memberships (n + m, K) of the training and validation points."""
        chosen = self._chosen
        points = torch.cat([chosen.train, chosen.validation])
        return of_occupied(points, chosen.occupied)

    @torch.no_grad()
    def of_targets(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Memberships (m, K) of rows x (m, d) by their targets y (m,)."""
        points, target = self.units.inputs(x), self.units.target(y).double()
        f0, along = self.linearisation(points)
        means = along[:, 1:]
        if not self.of_features:
            means = points.double() @ self._chosen.slopes.mT
        if self.of_residuals:
            target = target - f0
        k = int(self.mixture.k[0])
        probabilities = self.mixture.probabilities(k, means, target)
        return of_occupied(probabilities, self._chosen.occupied)

    @property
    def _chosen(self) -> Environments:
        return self.mixture.candidate(int(self.mixture.k[0]))
