"""Which environment a point (x, y) belongs to, by the mixture of the chosen iteration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from kerhrm.algorithm.mixture import Mixture, fit_mixture, orthogonal_update
from kerhrm.algorithm.options import Clustering
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.estimators.tangents import Tangents


@dataclass(frozen=True)
class Centres:
    """The environments' regressions, as functions of reduced features psi (k,) or inputs x (d,).

    Attributes
    ----------
    slopes : Tensor, (k, K) or (d, K), float64
    level : Tensor, (K,)
        Intercepts.
    weights, sigma : Tensor, (K,), and () or (K,)
        Of the mixture.
    of_label : bool
        Whether they regress y, and not y - f_0.
    of_inputs : bool
        Whether slopes are those of x.
    converged : bool
        Whether EM had converged.
    """

    slopes: Tensor
    level: Tensor
    weights: Tensor
    sigma: Tensor
    of_label: bool
    of_inputs: bool
    converged: bool

    @classmethod
    def of(
        cls,
        problem: Problem,
        learned: Sequence[Environments],
        history: Sequence[Directions],
        iteration: int,
        k: int,
        options: Clustering,
        x: Tensor,
    ) -> Self:
        """Of iteration 1, 2, ... and dimension k, from what it leaves of a single data set.

        Responsibilities are what an iteration keeps; an M step gives the centres back.  EM goes on
        from there, and ends at once where it had converged.  Environments that were dropped are
        gone.  ``x`` (n, d) are the training points.
        """
        environments = learned[iteration - 1]
        found = environments.take(0, int((environments.k[0] == k).int().argmax()))
        kept = found.train.sum(0) > 0
        start = found.train[:, kept]
        total = start.sum(-1, keepdim=True)
        start = torch.where(total > 0, start / total, 1 / start.shape[-1])
        of_inputs = options.kernel == "inputs" and iteration == 1
        psi = x.double() if of_inputs else problem.reduced(0, k)[0]
        width = psi.shape[-1]
        variant = torch.eye(width, dtype=psi.dtype, device=psi.device)
        if iteration > 1:
            before = [d.winner.theta[0, :k] for d in history[: iteration - 1]]
            for theta in before if options.projection == "all" else before[-1:]:
                variant = orthogonal_update(variant, theta)
        points = psi @ variant
        if options.intercept:
            points = torch.cat([points, torch.ones_like(points[:, :1])], 1)
            points[:, -1] *= (points[:, :-1] ** 2).mean().sqrt()
        y = problem.y[0] if options.target == "label" else problem.target[0]
        mixture = fit_mixture(
            points[None],
            y.double()[None],
            start[None, None],
            ridge=float(found.ridge),
            sigma=options.sigma,
            each=options.spread == "each",
            max_iterations=options.max_iterations,
            tolerance=options.tolerance,
        ).take(0, 0)
        level = torch.zeros_like(mixture.weights)
        if options.intercept:
            level = points[0, -1] * mixture.theta[:, -1]
        return cls(
            variant @ mixture.theta[:, :width].mT,
            level,
            mixture.weights,
            mixture.sigma,
            options.target == "label",
            of_inputs,
            bool(mixture.converged),
        )


@dataclass(frozen=True)
class Memberships:
    """Responsibilities of new points (x, y), in the units of the fit.

    Attributes
    ----------
    tangents : Tangents
        Along the centres' slopes, unless these are of the inputs; f_0, too.
    centres : Centres
    """

    tangents: Tangents
    centres: Centres

    @torch.no_grad()
    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        """P(environment | x, y) of points (m, d), (m,): (m, K), float64."""
        centres = self.centres
        f0, along = self.tangents(x)
        means = centres.level + (x.double() @ centres.slopes if centres.of_inputs else along)
        target = y.double() if centres.of_label else y.double() - f0
        none = torch.zeros_like(centres.weights[:1])
        same = torch.eye(len(centres.weights), dtype=means.dtype, device=means.device)
        mixture = Mixture(same, centres.weights, centres.sigma, none, none, none)
        return mixture.responsibilities(means, target)

    def to(self, device: torch.device) -> "Memberships":
        """On another device."""
        tensors = {n: t for n, t in vars(self.centres).items() if isinstance(t, Tensor)}
        moved: dict[str, Any] = {name: tensor.to(device) for name, tensor in tensors.items()}
        return Memberships(self.tangents.to(device), replace(self.centres, **moved))
