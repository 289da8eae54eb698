"""KerHRM: Algorithm 1 on the reduced features, then a network along its direction."""

from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.algorithm import loop
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import all_memberships, erm_direction
from kerhrm.algorithm.needs import require_network
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Directions, Memberships
from kerhrm.heterogeneity.test import test_problem
from kerhrm.methods.inputs import Fitted, Inputs


def train_kerhrm(inputs: Inputs, options: KerHRMOptions) -> Fitted:
    """Run Algorithm 1 and train a network along its direction.

    Where the pretest of a regression detects no environments, this is ERM.

    Returns
    -------
    Fitted
        Outputs ``network`` (trained along the direction), ``linear`` (in the reduced
        features) and ``first`` (the same after one iteration).  The environments are
        those of all iterations and candidate dimensions; all points are in all of them
        where none are detected.
    """
    problem = inputs.require_problem()
    points = inputs.x, inputs.x_validation
    with torch.no_grad():
        fit = loop.fit(problem, options, points)
    return finish(inputs, options, fit.environments, fit.directions)


def finish(
    inputs: Inputs,
    options: KerHRMOptions,
    environments: Sequence[Memberships],
    directions: Sequence[Directions],
) -> Fitted:
    """The final direction, the network and what is reported, from the iterations of
    Algorithm 1."""
    problem = inputs.require_problem()
    require_network(inputs.network, inputs.x, inputs.x_validation, problem)
    result = inputs.heterogeneity
    untested = result is None and inputs.task == "regression"
    if untested and options.pretest is not None:
        result = test_problem(problem, inputs.x, options.pretest)
    with torch.no_grad():
        final = loop.select_iteration(problem, environments, directions, options)
        winners = []
        for t, of_iteration in enumerate(directions, start=1):
            winners.append(of_iteration.winner(t))
        pooled = erm_direction(problem, options.k)
        first = winners[0]
        train = all_memberships(environments, "train")
        validation = all_memberships(environments, "validation")
        both = torch.cat([train, validation], dim=-1)
        memberships = both.mT.float()
        homogeneous = result is not None and result.homogeneous
        if homogeneous and options.pretest is not None:
            final = pooled
            first = pooled
            memberships = torch.ones_like(memberships)
    trained = train_network(
        inputs.network,
        inputs.x,
        inputs.x_validation,
        problem,
        final,
        environments,
        options,
    )
    chosen = {
        "k": final.k,
        "alpha": final.alpha,
        "iteration": final.iteration,
        "cosine_weight": trained.cosine_weight,
    }
    if result is not None:
        chosen["p_value"] = result.p_value
    iterations: dict[int, tuple[Tensor, Tensor | None]] = {0: (pooled.theta, None)}
    for winner, learned in zip(winners, environments, strict=True):
        of_winner = learned.candidate(winner.k)
        iterations[winner.iteration] = winner.theta, of_winner.train
    return Fitted(
        networks={"network": trained.network},
        directions={"linear": final.theta, "first": first.theta},
        environments=memberships,
        chosen=chosen,
        iterations=iterations,
    )
