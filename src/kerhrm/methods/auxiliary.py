"""KerHRM with an auxiliary variable.

It tests the variable, infers environments from its cells, and learns an invariant
direction over them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.auxiliary import (
    cell_directions,
    cell_environments,
)
from kerhrm.algorithm.cells import Cells
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.loop import Fit
from kerhrm.algorithm.options import AuxiliaryOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Direction
from kerhrm.errors import KerhrmError
from kerhrm.heterogeneity.auxiliary import covariance_measure
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.networks.base import Network


@dataclass(frozen=True)
class AuxiliaryFit:
    """Result of learning with an auxiliary variable.

    Where nothing is detected it is ERM's.

    Attributes
    ----------
    cells : Cells
        Of the auxiliary variable.
    result : HeterogeneityResult, or None
        Of the test, where there is one.
    memberships : Tensor, (C, K)
        Environments of every cell by the chosen k; one in ERM.
    iteration : Fit, or None
        The only one, as of Algorithm 1; None in ERM.
    direction : Direction
        The chosen one; ERM's has iteration 0.
    """

    cells: Cells
    result: HeterogeneityResult | None
    memberships: Tensor
    iteration: Fit | None
    direction: Direction

    def environments_of(self, z: np.ndarray) -> Tensor:
        """Environments (m, K) of points by their auxiliary variable (m, c) alone."""
        cells = self.cells.locate(z)
        return self.memberships[cells]


@torch.no_grad()
def fit_auxiliary(
    problem: Problem,
    x: Tensor,
    z: np.ndarray,
    z_validation: np.ndarray,
    options: AuxiliaryOptions,
    *,
    categories: Sequence[bool] = (),
    anyway: bool = False,
) -> AuxiliaryFit:
    """Test an auxiliary variable, and learn over the environments that are functions of
    it.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    x : Tensor, (n, d)
        Training points.
    z : ndarray, (n, c)
        Their auxiliary variable: numbers, dates as numbers, and categories as
        indicators or numbers.
    z_validation : ndarray, (m, c)
        That of the validation points.
    options : AuxiliaryOptions
        Of all steps.
    categories : sequence of bool
        Whether each column holds categories as numbers; by default none does.
    anyway : bool
        Learn over environments also where the test detects nothing.

    Returns
    -------
    AuxiliaryFit
        ERM's where the test detects nothing, unless ``anyway``.

    Raises
    ------
    KerhrmError
        If the auxiliary variable is constant, not finite or not a row for each point,
        or k exceeds the reduced features.
    SingularError
        If the system of a direction is singular.
    """
    _check_rows(z, problem.y, "points")
    _check_rows(z_validation, problem.y_validation, "validation points")
    k_max = len(problem.s)
    largest_k = max(options.k)
    if largest_k > k_max:
        text = f"k={largest_k} exceeds the {k_max} reduced features"
        raise KerhrmError(text, "lower k")
    cells = Cells.fit(z, options.n_cells, problem.seed, categories)
    device = problem.u.device
    of_train = cells.locate(z).to(device)
    of_validation = cells.locate(z_validation).to(device)
    result = None
    if options.n_permutations is not None:
        result = covariance_measure(x, problem.y, of_train, options, problem.weights)
    if result is not None and not result.detected and not anyway:
        in_one = problem.target.new_ones(len(cells), 1)
        return AuxiliaryFit(
            cells=cells,
            result=result,
            memberships=in_one,
            iteration=None,
            direction=_pooled_direction(problem, options),
        )
    environments, memberships = cell_environments(
        problem, of_train, of_validation, options
    )
    directions = cell_directions(
        problem, environments.train, environments.validation, options
    )
    direction = directions.winner(1)
    candidate = options.k.index(direction.k)
    return AuxiliaryFit(
        cells=cells,
        result=result,
        memberships=memberships[candidate],
        iteration=Fit(
            environments=(environments,),
            directions=(directions,),
            final=direction,
            scores=directions.score[[directions.chosen]],
        ),
        direction=direction,
    )


def _check_rows(z: np.ndarray, y: Tensor, points: str) -> None:
    """Refuse an auxiliary variable without a row for each point."""
    n_rows = len(z)
    n_points = len(y)
    if n_rows != n_points:
        problem = f"the auxiliary variable has {n_rows} rows for {n_points} {points}"
        raise KerhrmError(problem, "give one row for each point")


def _pooled_direction(problem: Problem, options: AuxiliaryOptions) -> Direction:
    """Direction of ERM: one environment with all points, and no penalty."""
    counts, counts_validation = problem.counts
    n_candidates = len(options.k)
    train = counts.expand(n_candidates, -1)
    validation = counts_validation.expand(n_candidates, -1)
    without_penalty = options.model_copy(update={"alpha": [0.0]})
    directions = cell_directions(
        problem,
        train=train[..., None],
        validation=validation[..., None],
        options=without_penalty,
    )
    return directions.winner(0)


def train_auxiliary(inputs: Inputs, options: AuxiliaryOptions) -> Fitted:
    """Outputs ``linear``, in the features, and with ``options.training`` a trained
    ``network``."""
    problem = inputs.require_problem()
    auxiliary, auxiliary_validation = inputs.require_auxiliary()
    z = auxiliary.double().cpu().numpy()
    z_validation = auxiliary_validation.double().cpu().numpy()
    fit = fit_auxiliary(problem, inputs.x, z, z_validation, options)
    direction = fit.direction
    chosen = {
        "k": direction.k,
        "alpha": direction.alpha,
        "iteration": direction.iteration,
    }
    if fit.result is not None:
        chosen["p_value"] = fit.result.p_value
    networks: dict[str, Network] = {}
    iteration = fit.iteration
    if options.training is not None:
        environments = () if iteration is None else iteration.environments
        trained = train_network(
            inputs.network,
            inputs.x,
            inputs.x_validation,
            problem,
            direction,
            environments,
            options.training,
        )
        networks["network"] = trained.network
        chosen["cosine_weight"] = trained.cosine_weight
    train = fit.environments_of(z)
    validation = fit.environments_of(z_validation)
    both = torch.cat([train, validation])
    return Fitted(
        networks=networks,
        directions={"linear": direction.theta},
        environments=both.float(),
        chosen=chosen,
    )
