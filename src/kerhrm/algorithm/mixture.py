"""Mixture of kernel ridge regressions (M_c), fitted by EM.

Model (paper, section 3.3).  Point i belongs to environment j with probability q_j, and
inside environment j the label is Gaussian around a regression on the variant features:
y_i ~ N(psi_V(x_i)^T Theta_j, sigma^2).  EM minimises the penalised negative
log-likelihood per point

    L_c = -(1/n) sum_i log sum_j q_j N(y_i | psi_i^T Theta_j, sigma^2)
          + (rho / 2 sigma^2) sum_j |Theta_j|^2,

rho = ``ridge`` times the mean eigenvalue of Psi_V^T Psi_V / n (so ``ridge`` has no
unit).  Every step is in closed form: the responsibilities r_ij, computed in log space;
Theta_j = (Psi^T R_j Psi + n rho I)^-1 Psi^T R_j y, which is kernel ridge regression
with kappa_c = Psi_V Psi_V^T in its primal form; q_j = mean_i r_ij; and sigma^2 = (1/n)
sum_ij r_ij (y_i - psi_i^T Theta_j)^2 + rho sum_j |Theta_j|^2, which minimises L_c
jointly with Theta, so that L_c never rises.  The paper leaves sigma open; ``noise_sd``
fixes it.

With a sigma_j for each cluster, rho |Theta_j|^2 is divided by 2 sigma_j^2, and
sigma_j^2 is (1/n) sum_i r_ij (y_i - psi_i^T Theta_j)^2 + rho |Theta_j|^2 over q_j.  If
E steps are hard, r_ij is 1 for the largest q_j N(...) and 0 otherwise, and L_c has
max_j in place of sum_j.

With cells c of an auxiliary variable a whole cell belongs to one cluster, whatever its
labels are:

    L_c = -(1/n) sum_c log mean_j prod_(i in c) N(y_i | psi_i^T Theta_j, sigma_j^2) +
    ...,

r_cj is in proportion to these products, and q_j(c) = r_cj.
"""

from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from kerhrm.algorithm.em import EM, Steps, log_density, squared_residuals
from kerhrm.algorithm.regressions import repeated
from kerhrm.errors import KerhrmError, SingularError


@dataclass(frozen=True)
class Mixture:
    """R fitted mixtures of K regressions.

    Attributes
    ----------
    theta : Tensor, (R, K, k)
        Coefficients of the regressions.
    weights : Tensor, (R, K) or (R, K, C)
        q, shares of the points; where there are cells, of every cell.
    sigma : Tensor, (R, K)
        Standard deviation of the residuals.
    objective : Tensor, (R,)
        L_c at the last step, in nats per point.
    n_iterations : Tensor, (R,), int64
        EM steps.
    converged : Tensor, (R,), bool
        False where ``max_iter`` was reached first.
    """

    theta: Tensor
    weights: Tensor
    sigma: Tensor
    objective: Tensor
    n_iterations: Tensor
    converged: Tensor

    def take(self, index: int | Tensor) -> Self:
        """Return one of the mixtures, without the leading R."""
        taken = {f.name: getattr(self, f.name)[index] for f in fields(self)}
        return type(self)(**taken)

    def responsibilities(self, psi: Tensor, y: Tensor) -> Tensor:
        """P(environment j | psi_i, y_i) of points (n, k), (n,), without cells.

        Shapes (R, n, K).
        """
        log_joint = self._log_joint(psi, y)
        r = torch.softmax(log_joint, dim=-2)
        return r.mT.contiguous()

    def log_likelihood(
        self,
        psi: Tensor,
        y: Tensor,
        cells: Tensor | None = None,
        point_weights: Tensor | float = 1.0,
    ) -> Tensor:
        """Mean log p(y_i | psi_i) of points (n, k), (n,) in cells (n,),
        in nats: (R,)."""
        log_joint = self._log_joint(psi, y, cells)
        of_points = torch.logsumexp(log_joint, dim=-2)
        return (of_points * point_weights).mean(-1)

    def _log_joint(self, psi: Tensor, y: Tensor, cells: Tensor | None = None) -> Tensor:
        squares = squared_residuals(psi, y, self.theta)
        return log_density(squares, self.weights, self.sigma, cells)


def fit_mixture(
    psi: Tensor,
    y: Tensor,
    start: Tensor,
    *,
    ridge: float | Tensor,
    cells: Tensor | None = None,
    point_weights: Tensor | None = None,
    em: EM | None = None,
) -> Mixture:
    """Fit R mixtures of K regressions to one data set by EM, or to several.

    Parameters
    ----------
    psi : Tensor, (n, k) or (S, n, k)
        Variant features Psi_V, float64; or those of S data sets of n points each.
    y : Tensor, (n,) or (S, n)
        What the regressions explain: labels, or labels minus the offset f_0; float64.
    start : Tensor, (R, n, K)
        Responsibilities at the start; of several data sets, R / S of the first, as many
        of the second, and so on.
    ridge : float or Tensor, (R,)
        Positive, in units of the mean eigenvalue of Psi^T Psi / n.
    cells : Tensor, (n,), int64, optional
        0, ..., C - 1: the cell of every point, whose points belong together; of one
        data set.
    point_weights : Tensor, (n,), optional
        Of mean 1: sums over points become weighted sums; of one data set.
    em : EM, optional
        How EM is run.

    Returns
    -------
    Mixture
        One for each start.

    Raises
    ------
    KerhrmError
        If K > n, the ridge is not positive (Psi_V is singular after projection), all
        features or all labels of a data set are zero, or data sets have different
        numbers of starts.
    SingularError
        If rounding makes the equations of a regression singular.

    Examples
    --------
    >>> import torch
    >>> psi = torch.ones(4, 1).double()
    >>> y = torch.tensor([1.0, 1.0, -1.0, -1.0]).double()
    >>> start = torch.tensor([[[0.6, 0.4]] * 2 + [[0.4, 0.6]] * 2]).double()
    >>> fit_mixture(psi, y, start, ridge=1e-6).theta.round().flatten()
    tensor([ 1., -1.], dtype=torch.float64)
    """
    settings = em or EM()
    n_starts, n, n_clusters = start.shape
    _check(psi, y, start)
    ridges = torch.as_tensor(ridge, dtype=psi.dtype, device=psi.device)
    ridges = ridges.expand(n_starts)
    positive = ridges > 0
    if not bool(positive.all()):
        raise KerhrmError(f"ridge must be positive; got {ridge}", "try 0.01")
    several = psi.ndim == 3
    of_each_set = n_starts // len(psi) if several else 1
    *_, k = psi.shape
    squares = (psi**2).sum((-2, -1)).reshape(-1)
    rho = ridges * repeated(squares, n_starts) / (n * k)  # (R,)
    steps = Steps(psi, y, settings, n_clusters, cells, point_weights)
    done = _Done(n_starts, of_each_set, psi.device)
    # (R, K, n): sums over the few clusters are sums of whole rows
    r = start.mT.contiguous()
    theta = psi.new_zeros(n_starts, n_clusters, k)
    previous = psi.new_full((n_starts,), torch.inf)
    for iteration in range(1, settings.max_iter + 1):
        estimates = steps.maximise(r, rho, theta)
        theta = estimates.theta
        weights, r, objective = steps.expect(estimates)
        gain = previous - objective
        converged = gain < settings.tol
        last = iteration == settings.max_iter
        finished = (converged | last) & done.waiting
        # all that the host learns of a step: a GPU is waited for once
        n_finished = int(finished.sum().masked_fill(estimates.singular, -1))
        if n_finished < 0:
            larger = "clustering_ridge" if settings.noise_sd is None else "noise_sd"
            raise SingularError("the clustering's equations", larger)
        if n_finished:
            mixtures = Mixture(
                theta=estimates.theta,
                weights=weights,
                sigma=estimates.sigma,
                objective=objective,
                n_iterations=torch.full_like(done.active, iteration),
                converged=converged,
            )
            done.keep(mixtures, finished, n_finished)
            left, sets_left = done.leave(n_finished)
            if len(left) == 0:
                break
            if several and len(sets_left) < len(psi):
                psi = psi[sets_left]
                y = y[sets_left]
                steps = Steps(psi, y, settings, n_clusters, cells, point_weights)
            r = r[left]
            theta = theta[left]
            objective = objective[left]
            rho = rho[left]
        previous = objective
    return done.mixtures()


def _check(psi: Tensor, y: Tensor, start: Tensor) -> None:
    """Refuse points and starts, as of :func:`fit_mixture`, that determine no fit."""
    some_feature = psi.flatten(-2).any(-1)
    some_label = y.any(-1)
    if not bool((some_feature & some_label).all()):
        hint = "use k > 1 (with k=1 the first iteration leaves nothing), or other data"
        raise KerhrmError("all features or all labels of a data set are zero", hint)
    n_starts, n, n_clusters = start.shape
    if n_clusters > n:
        problem = f"n_environments={n_clusters} exceeds n={n} training points"
        raise KerhrmError(problem, "lower n_environments")
    n_sets = len(psi) if psi.ndim == 3 else 1
    if n_starts % n_sets:
        problem = f"{n_starts} starts of {n_sets} data sets"
        raise KerhrmError(problem, "give as many starts of each")


class _Done:
    """Mixtures that are finished; they leave the batch, whose others go on.

    Those of one of several data sets leave together, as they were when each finished.
    """

    def __init__(self, n_starts: int, of_each_set: int, device: torch.device) -> None:
        self.n_starts = n_starts
        self.of_each_set = of_each_set
        self.active = torch.arange(n_starts, device=device)
        #: whether an active mixture is not finished
        self.waiting = torch.ones(n_starts, dtype=torch.bool, device=device)
        self.fields: dict[str, Tensor] = {}

    def keep(self, mixtures: Mixture, finished: Tensor, n_finished: int) -> None:
        """Keep those of the active mixtures that have just finished (R,)."""
        finished_last = finished.to(torch.uint8).argsort(stable=True)
        gone = finished_last[len(finished) - n_finished :]
        for field in fields(Mixture):
            of_active = getattr(mixtures, field.name)
            if field.name not in self.fields:
                shape = (self.n_starts, *of_active.shape[1:])
                self.fields[field.name] = of_active.new_zeros(shape)
            kept = self.fields[field.name]
            positions = self.active[gone]
            values = of_active[gone]
            kept.index_copy_(0, positions, values)
        self.waiting &= ~finished

    def leave(self, n_finished: int) -> tuple[Tensor, Tensor]:
        """Positions of the mixtures, and of the data sets, that go on."""
        of_sets = self.waiting.unflatten(0, (-1, self.of_each_set))
        goes_on = of_sets.any(1)
        if self.of_each_set == 1:  # what the host knows a GPU is not asked for
            n_left = len(goes_on) - n_finished
        else:
            n_left = int(goes_on.sum())
        going_first = (~goes_on).to(torch.uint8).argsort(stable=True)
        sets_left = going_first[:n_left]
        numbers = torch.arange(len(self.active), device=self.active.device)
        by_set = numbers.unflatten(0, (-1, self.of_each_set))
        left = by_set[sets_left].flatten()
        self.active = self.active[left]
        self.waiting = self.waiting[left]
        return left, sets_left

    def mixtures(self) -> Mixture:
        """All mixtures, in the order of their starts."""
        return Mixture(**self.fields)
