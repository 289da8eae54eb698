"""Ridge regressions of mixtures by conjugate gradients.

The M step solves, for each of J weightings r_j of the points,

    (Psi^T R_j Psi + penalty_j I) Theta_j = Psi^T R_j y,   R_j = diag(r_j).

Each of these matrices costs n k^2 multiplications, and a step of conjugate gradients
2 n k.  Few steps are enough: with q_j the mean of r_j, q_j Psi^T Psi + penalty_j I is
close to the matrix, and is the preconditioner (Golub and Van Loan, Matrix
Computations, 2013, section 11.5); and each M step begins where the last one ended.
"""

from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

from kerhrm.algorithm.problem import weighted_moments

#: points at once: their features are in the cache for both products
BLOCK = 512


@dataclass(frozen=True)
class _Systems:
    """J systems on the way to their solutions.

    Attributes
    ----------
    r : Tensor, (J, n)
        Weights of the points.
    penalty, limit : Tensor, (J,)
        Of the coefficients; and how small the error is to be.
    eigenvalues : Tensor, (J, k)
        Of the preconditioners.
    theta, gradient, direction : Tensor, (J, k)
        Coefficients so far, what is left of the right-hand sides, and the next
        direction.
    error : Tensor, (J,)
        Square of the gradient in the metric of the preconditioner: about the error of
        theta in that of the matrix.
    """

    r: Tensor
    penalty: Tensor
    limit: Tensor
    eigenvalues: Tensor
    theta: Tensor
    gradient: Tensor
    direction: Tensor
    error: Tensor

    def take(self, some: Tensor) -> Self:
        """Some of the systems, by a mask (J,)."""
        return type(self)(**{f.name: getattr(self, f.name)[some] for f in fields(self)})


class ConjugateGradients:
    """Ridge regressions on points psi (n, k) and y (n,).

    Parameters
    ----------
    psi : Tensor, (n, k)
        Variant features.
    y : Tensor, (n,)
        What the regressions explain.
    counts : Tensor, (n,)
        Weights of the points, of mean 1, which responsibilities divide among clusters.
    tolerance : float
        A system is solved when a step would no longer change the mean log-likelihood
        of the points by this, in nats.
    """

    def __init__(
        self, psi: Tensor, y: Tensor, counts: Tensor, tolerance: float
    ) -> None:
        self.psi = psi
        self.y = y
        self.tolerance = tolerance
        second, _ = weighted_moments(psi, y, counts[None])
        eigenvalues, self.axes = torch.linalg.eigh(second[0])
        self.eigenvalues = eigenvalues.clamp_min(0)

    def solve(self, r: Tensor, ridge: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
        """As :class:`~kerhrm.algorithm.regressions.Regressions`; no system is
        singular."""
        n_clusters = r.shape[1]
        penalty = ridge.repeat_interleave(n_clusters)
        flat = self._search(r.flatten(0, 1), penalty, near.flatten(0, 1))
        singular = torch.zeros((), dtype=torch.bool, device=r.device)
        return flat.reshape(near.shape), singular

    def _search(self, r: Tensor, penalty: Tensor, near: Tensor) -> Tensor:
        """Coefficients (J, k) by r (J, n) and penalties (J,), from ``near`` (J, k)."""
        systems = self._begin(r, penalty, near)
        left = torch.arange(len(r), device=r.device)
        theta = near.clone()
        _, k = self.psi.shape
        for _ in range(k):
            going = systems.error > systems.limit
            if not bool(going.all()):
                done = ~going
                theta[left[done]] = systems.theta[done]
                systems = systems.take(going)
                left = left[going]
                if len(left) == 0:
                    break
            systems = self._step(systems)
        theta[left] = systems.theta
        return theta

    def _begin(self, r: Tensor, penalty: Tensor, theta: Tensor) -> _Systems:
        n, _ = self.psi.shape
        shares = r.mean(-1)
        eigenvalues = shares[:, None] * self.eigenvalues + penalty[:, None]
        residuals = self.y - theta @ self.psi.mT
        gradient = (r * residuals) @ self.psi - penalty[:, None] * theta
        direction = self._precondition(gradient, eigenvalues)
        squares = torch.linalg.vecdot(r, residuals.square_())
        # an empty cluster has no gradient, and is solved
        smallest = torch.finfo(r.dtype).tiny
        variance = squares / (n * shares).clamp_min(smallest)
        return _Systems(
            r=r,
            penalty=penalty,
            limit=2 * n * self.tolerance * variance,
            eigenvalues=eigenvalues,
            theta=theta,
            gradient=gradient,
            direction=direction,
            error=torch.linalg.vecdot(gradient, direction),
        )

    def _step(self, systems: _Systems) -> _Systems:
        along = systems.direction
        image = systems.penalty[:, None] * along
        blocks = zip(self.psi.split(BLOCK), systems.r.split(BLOCK, dim=1), strict=True)
        for psi, r in blocks:
            image += (r * (along @ psi.mT)) @ psi
        length = systems.error / torch.linalg.vecdot(along, image)
        gradient = systems.gradient - length[:, None] * image
        downhill = self._precondition(gradient, systems.eigenvalues)
        error = torch.linalg.vecdot(gradient, downhill)
        kept = error / systems.error
        return replace(
            systems,
            theta=systems.theta + length[:, None] * along,
            gradient=gradient,
            direction=downhill + kept[:, None] * along,
            error=error,
        )

    def _precondition(self, gradient: Tensor, eigenvalues: Tensor) -> Tensor:
        return ((gradient @ self.axes) / eigenvalues) @ self.axes.mT
