"""Starts of EM, and the mixtures of all starts and ridges of one clustering."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.randomness import some_of, stream

#: points above which EM is fitted to some of them first
MANY = 100_000
AT_FIRST = 30_000  #: number of these
FIRST_FIT_TOLERANCE = 1e-3  #: of EM on these, in units of ``em_tol``


@dataclass(frozen=True)
class Points:
    """What EM is fitted to.

    Attributes
    ----------
    psi : Tensor, (n, k)
        Variant features.
    y : Tensor, (n,)
        What the regressions explain.
    weights : Tensor, (n,), or None
        Of mean 1; None: all alike.
    """

    psi: Tensor
    y: Tensor
    weights: Tensor | None

    def some(self, numbers: Tensor) -> "Points":
        """Some of the points, by their numbers (m,)."""
        weights = self.weights
        if weights is not None:
            of_some = weights[numbers]
            weights = of_some / of_some.mean()
        return Points(self.psi[numbers], self.y[numbers], weights)

    def fit(self, starts: Tensor, ridges: Tensor, settings: EM) -> Mixture:
        """Mixtures of starts (R, n, K) with ridges (R,)."""
        return fit_mixture(
            self.psi,
            self.y,
            starts,
            ridge=ridges,
            point_weights=self.weights,
            em=settings,
        )


def fit_starts(
    points: Points,
    options: KerHRMOptions,
    settings: EM,
    *,
    first: Tensor | None,
    seed: int,
    name: Sequence[str],
) -> tuple[Mixture, Tensor]:
    """Fit a mixture from every start with every ridge.

    The regressions of a random start differ by chance, and the less the more points
    there are: of 400 000 labels all five starts ended where they began, with both
    regressions alike, for the first step gained less than ``em_tol``; of 10 000 to
    100 000 one or two of five.  So of more than :data:`MANY` points :data:`AT_FIRST`
    are fitted first, by a thousandth of the tolerance, and their mixtures are the
    starts of all.

    Parameters
    ----------
    points : Points
        All n of them.
    options : KerHRMOptions
        Ridges, number of starts, K.
    settings : EM
        How EM is run.
    first : Tensor, (n, K), or None
        The only start: responsibilities of dropped environments are 0; None: starts
        are random.
    seed : int
        Of the random starts.
    name : sequence of str
        They are from the stream ``clustering``, ``name``.

    Returns
    -------
    Mixture
        R = ridges times starts mixtures.
    Tensor, (R,)
        Their ridges.
    """
    distinct_ridges = points.psi.new_tensor(options.clustering_ridge)
    n_ridges = len(distinct_ridges)
    n = len(points.y)
    if first is not None:
        drawn = _normalised(first)[None]
    else:
        n_at_first = n if n <= MANY else AT_FIRST
        drawn = random_starts(
            seed, options.n_init, n_at_first, options.n_environments, *name
        )
    starts = drawn.to(points.psi).repeat(n_ridges, 1, 1)
    ridges = distinct_ridges.repeat_interleave(len(drawn))
    _, n_of_starts, _ = starts.shape
    if n_of_starts < n:
        random = stream(seed, "clustering", *name, "first")
        numbers = some_of(random, n, n_of_starts)
        some = torch.from_numpy(numbers).to(points.psi.device)
        finer = replace(settings, tol=FIRST_FIT_TOLERANCE * settings.tol)
        of_some = points.some(some).fit(starts, ridges, finer)
        starts = of_some.responsibilities(points.psi, points.y)
    return points.fit(starts, ridges, settings), ridges


def random_starts(
    seed: int, n_init: int, n: int, n_clusters: int, *name: str
) -> Tensor:
    """Random hard assignments (R, n, K), float64, from the stream ``clustering``,
    ``name``."""
    random = stream(seed, "clustering", *name)
    return drawn_starts(random, n_init, n, n_clusters)


def drawn_starts(
    random: np.random.Generator, n_init: int, n: int, n_clusters: int
) -> Tensor:
    """Hard assignments (R, n, K), float64, drawn in the order of the starts."""
    size = (n_init, n)
    clusters = random.integers(n_clusters, size=size)
    drawn = torch.from_numpy(clusters)
    memberships = one_hot(drawn, n_clusters)
    return memberships.double()


def _normalised(responsibilities: Tensor) -> Tensor:
    """Responsibilities (n, K) that add up to one again, without dropped
    environments."""
    total = responsibilities.sum(-1, keepdim=True)
    n_clusters = responsibilities.shape[-1]
    share = 1 / n_clusters
    equal = torch.full_like(responsibilities, share)
    return torch.where(total > 0, responsibilities / total, equal)
