"""Ridge regressions of mixtures by conjugate gradients.

The M step solves, for each of J weightings r_j of the points,

    (Psi^T R_j Psi + penalty_j I) Theta_j = Psi^T R_j y,   R_j = diag(r_j).

Each of these matrices costs n k^2 multiplications, and a step of conjugate gradients
2 n k.  Few steps are enough: with q_j the mean of r_j, q_j Psi^T Psi + penalty_j I is
close to the matrix, and is the preconditioner (Golub and Van Loan, Matrix
Computations, 2013, section 11.5); and each M step begins where the last one ended.

A step lowers the risk by half of step length times |gradient|^2 in the metric of the
preconditioner.  What two steps in a row gain tells how far the end is (Strakos and
Tichy, Electronic Transactions on Numerical Analysis 13, 2002), also where the
preconditioner is poor, as of heavy tails.
"""

from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

from kerhrm.algorithm.problem import weighted_moments
from kerhrm.algorithm.regressions import solutions

#: points at once: their features are in the cache for both products
BLOCK = 512
#: steps before a system is solved directly, if half of k are fewer
LEAST_STEPS = 20
#: standard deviation of the noise, in units of that of y, below which it does not count
SMALLEST_NOISE = 1e-6


@dataclass(frozen=True)
class _Systems:
    """J systems on the way to their solutions.

    Attributes
    ----------
    r : Tensor, (J, n)
        Weights of the points.
    penalty, limit : Tensor, (J,)
        Of the coefficients; and what a step has to gain.
    eigenvalues : Tensor, (J, k)
        Of the preconditioners.
    theta, gradient, direction : Tensor, (J, k)
        Coefficients so far, what is left of the right-hand sides, and the next
        direction.
    square : Tensor, (J,)
        Of the gradient, in the metric of the preconditioner.
    gain, gain_before : Tensor, (J,)
        Twice by what the last step and the one before it have lowered the risk.
    """

    r: Tensor
    penalty: Tensor
    limit: Tensor
    eigenvalues: Tensor
    theta: Tensor
    gradient: Tensor
    direction: Tensor
    square: Tensor
    gain: Tensor
    gain_before: Tensor

    @property
    def solved(self) -> Tensor:
        """Whether each system is: (J,), bool."""
        gained = torch.maximum(self.gain, self.gain_before)
        return (gained <= self.limit) | (self.square == 0)

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
        A system is solved when a step no longer raises the mean log-likelihood of the
        points by this, in nats.
    noise_sd : float, optional
        Of that likelihood; by default that of the residuals of each system.
    """

    def __init__(
        self,
        psi: Tensor,
        y: Tensor,
        counts: Tensor,
        *,
        tolerance: float,
        noise_sd: float | None = None,
    ) -> None:
        self.psi = psi
        self.y = y
        self.tolerance = tolerance
        self.noise_sd = noise_sd
        second, _ = weighted_moments(psi, y, counts[None])
        eigenvalues, self.axes = torch.linalg.eigh(second[0])
        self.eigenvalues = eigenvalues.clamp_min(0)
        deviation = SMALLEST_NOISE * y.std(correction=0)
        self.least_variance = deviation**2

    def solve(self, r: Tensor, ridge: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
        """As :class:`~kerhrm.algorithm.regressions.Regressions`."""
        n_clusters = r.shape[1]
        penalty = ridge.repeat_interleave(n_clusters)
        flat, singular = self._search(r.flatten(0, 1), penalty, near.flatten(0, 1))
        return flat.reshape(near.shape), singular

    def _search(
        self, r: Tensor, penalty: Tensor, near: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Coefficients (J, k) by r (J, n) and penalties (J,), from ``near`` (J, k).

        A system that needs many steps is solved directly, which costs no more than
        they did; so is one whose preconditioner is singular to rounding.
        """
        _, k = self.psi.shape
        theta = near.clone()
        systems = self._begin(r, penalty, near)
        smallest = systems.eigenvalues.amin(1)
        largest = systems.eigenvalues.amax(1)
        regular = smallest > k * torch.finfo(r.dtype).eps * largest
        open_systems = regular.nonzero().squeeze(1)
        systems = systems.take(regular)
        for _ in range(max(LEAST_STEPS, k // 2)):
            solved = systems.solved
            if bool(solved.any()):
                theta[open_systems[solved]] = systems.theta[solved]
                systems = systems.take(~solved)
                open_systems = open_systems[~solved]
            if len(open_systems) == 0:
                break
            systems = self._step(systems)
        irregular = (~regular).nonzero().squeeze(1)
        left = torch.cat([irregular, open_systems])
        if len(left) == 0:
            return theta, torch.zeros((), dtype=torch.bool, device=r.device)
        second, cross = weighted_moments(self.psi, self.y, r[left])
        theta[left], singular = solutions(second, cross, penalty[left])
        return theta, singular

    def _begin(self, r: Tensor, penalty: Tensor, theta: Tensor) -> _Systems:
        n, _ = self.psi.shape
        shares = r.mean(-1)
        is_empty = shares == 0
        theta = theta.masked_fill(is_empty[:, None], 0.0)
        eigenvalues = shares[:, None] * self.eigenvalues + penalty[:, None]
        residuals = self.y - theta @ self.psi.mT
        gradient = (r * residuals) @ self.psi - penalty[:, None] * theta
        direction = self._precondition(gradient, eigenvalues)
        if self.noise_sd is None:
            squares = torch.linalg.vecdot(r, residuals.square_())
            counts = (n * shares).masked_fill(is_empty, 1.0)
            variance = (squares / counts).clamp_min(self.least_variance)
        else:
            variance = torch.full_like(shares, self.noise_sd**2)
        unknown = torch.full_like(shares, torch.inf)
        return _Systems(
            r=r,
            penalty=penalty,
            limit=2 * n * self.tolerance * variance,
            eigenvalues=eigenvalues,
            theta=theta,
            gradient=gradient,
            direction=direction,
            square=torch.linalg.vecdot(gradient, direction),
            gain=unknown,
            gain_before=unknown,
        )

    def _step(self, systems: _Systems) -> _Systems:
        along = systems.direction
        image = systems.penalty[:, None] * along
        blocks = zip(self.psi.split(BLOCK), systems.r.split(BLOCK, dim=1), strict=True)
        for psi, r in blocks:
            image += (r * (along @ psi.mT)) @ psi
        length = systems.square / torch.linalg.vecdot(along, image)
        gradient = systems.gradient - length[:, None] * image
        downhill = self._precondition(gradient, systems.eigenvalues)
        square = torch.linalg.vecdot(gradient, downhill)
        kept = square / systems.square
        return replace(
            systems,
            theta=systems.theta + length[:, None] * along,
            gradient=gradient,
            direction=downhill + kept[:, None] * along,
            square=square,
            gain=length * systems.square,
            gain_before=systems.gain,
        )

    def _precondition(self, gradient: Tensor, eigenvalues: Tensor) -> Tensor:
        return ((gradient @ self.axes) / eigenvalues) @ self.axes.mT
