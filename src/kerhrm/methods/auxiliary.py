"""KerHRM with an auxiliary variable.

a test, environments by its cells, an invariant direction.
"""

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
from kerhrm.algorithm.records import Direction, Problem
from kerhrm.errors import KerhrmError
from kerhrm.heterogeneity.auxiliary import covariance_measure
from kerhrm.heterogeneity.test import HeterogeneityResult
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.networks.base import Network


@dataclass(frozen=True)
class AuxiliaryFit:
    """Result of learning with an auxiliary variable.

    Where nothing is detected it is ERM's.
    """

    cells: Cells
    result: HeterogeneityResult | None  #: of the test, where there is one
    memberships: (
        Tensor  #: (C, K), environments of every cell by the chosen k; one in ERM
    )
    iteration: Fit | None  #: the only one, as of Algorithm 1; None in ERM
    direction: Direction  #: the chosen one; ERM's has iteration 0

    def environments_of(self, z: np.ndarray) -> Tensor:
        """Environments (m, K) of points by their auxiliary variable (m, c) alone."""
        return self.memberships[self.cells.locate(z)]


@torch.no_grad()
def fit_auxiliary(
    problem: Problem,
    x: Tensor,
    z: np.ndarray,
    z_validation: np.ndarray,
    options: AuxiliaryOptions,
) -> AuxiliaryFit:
    """Test an auxiliary variable, and learn over the environments that are functions of
    it.

    The auxiliary variable of the training points x (n, d), (n, c), and of the
    validation points, (m, c), holds numbers, dates as numbers, and categories as
    indicators or numbers.
    Raises KerhrmError if it is constant, not finite or not a row for each point, or k
    exceeds the reduced features.
    """
    for name, rows, y in (
        ("", z, problem.y),
        ("validation ", z_validation, problem.y_validation),
    ):
        if len(rows) != len(y):
            text = (
                f"the auxiliary variable has {len(rows)} rows for {len(y)} {name}points"
            )
            raise KerhrmError(text, "give one row for each point")
    if max(options.k) > len(problem.s):
        text = f"k={max(options.k)} exceeds the {len(problem.s)} reduced features"
        raise KerhrmError(text, "lower k")
    cells = Cells.fit(z, options.n_cells, problem.seed)
    numbers, held_out = (
        cells.locate(part).to(problem.u.device) for part in (z, z_validation)
    )
    result = None
    if options.n_permutations is not None:
        result = covariance_measure(x, problem.y, numbers, options, problem.weights)
        if not result.detected:
            train, validation = (
                w.expand(len(options.k), -1)[..., None] for w in problem.counts
            )
            pooled = options.model_copy(update={"alpha": [0.0]})
            direction = cell_directions(problem, train, validation, pooled).winner(0)
            one = problem.target.new_ones(len(cells), 1)
            return AuxiliaryFit(cells, result, one, None, direction)
    environments, memberships = cell_environments(problem, numbers, held_out, options)
    parts = environments.train, environments.validation
    directions = cell_directions(problem, *parts, options)
    direction = directions.winner(1)
    chosen = memberships[options.k.index(direction.k)]
    iteration = Fit((environments,), (directions,), direction)
    return AuxiliaryFit(cells, result, chosen, iteration, direction)


def train_auxiliary(inputs: Inputs, options: AuxiliaryOptions) -> Fitted:
    """Outputs ``linear``, in the features, and with ``options.training`` a trained
    ``network``."""
    problem = inputs.require_problem()
    z, z_validation = (
        part.double().cpu().numpy() for part in inputs.require_auxiliary()
    )
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
    if options.training is not None:
        points = inputs.x, inputs.x_validation
        known = () if fit.iteration is None else fit.iteration.environments
        trained = train_network(
            inputs.network, *points, problem, direction, known, options.training
        )
        networks["network"], chosen["cosine_weight"] = (
            trained.network,
            trained.cosine_weight,
        )
    memberships = torch.cat(
        [fit.environments_of(part) for part in (z, z_validation)]
    ).float()
    return Fitted(networks, {"linear": direction.theta}, memberships, chosen)
