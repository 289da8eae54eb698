"""The most likely split of a table's rows: a mixture of regressions on its columns.

    p(y | x) = sum_j q_j N(y | a_j + b_j^T x, sigma_j^2)

by EM (:mod:`kerhrm.algorithm.mixture`), with K = 1, ..., 4 components and noise that is
alike in all of them or not.  Of p parameters and n rows

    BIC = -2 log L + p log n,    ICL = BIC - 2 sum_ij r_ij log r_ij,

so that ICL asks for components that are told apart (Biernacki, Celeux and Govaert, IEEE
Transactions on Pattern Analysis and Machine Intelligence 22, 2000).  Both are lower for
the better one.

Such a split always exists.  Noise of two kinds, skewed noise and a curve that no
straight line follows have one, too.  It shows what to look at, and tests nothing.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.description.rows import DescribedRows
from kerhrm.heterogeneity.test import leading
from kerhrm.progress import progress
from kerhrm.randomness import stream

MOST = 4  #: components that are tried
MAX_ROWS = 3000  #: that EM is fitted to; others get their memberships by it
ROWS_PER_COEFFICIENT = 20  #: of more columns the leading principal components
RANDOM_STARTS = 5
DIRECTED = 12  #: columns that starts are made of
#: least share of a component, and least ratio of two components' noise: below, EM finds
#: a handful of rows that lie on one line
MIN_SHARE, MIN_RATIO = 0.05, 0.1
RIDGE = 1e-3


@dataclass(frozen=True)
class Split:
    """The most likely split of rows.

    Attributes
    ----------
    memberships : ndarray, (n, K)
        Of the rows, the largest component first.
    candidates : DataFrame
        A row for each K, with the better noise: ``BIC``, ``ICL``, and ``noise``,
        "alike" or "its own".
    own_noise : bool
        Whether components have noise of their own.
    """

    memberships: np.ndarray
    candidates: pd.DataFrame
    own_noise: bool

    @property
    def number(self) -> int:
        """K."""
        return self.memberships.shape[1]

    @property
    def by_bic(self) -> int:
        """K of the lowest BIC."""
        return int(self.candidates["BIC"].idxmin())

    @property
    def by_icl(self) -> int:
        """K of the lowest ICL."""
        return int(self.candidates["ICL"].idxmin())


@dataclass(frozen=True)
class _Candidate:
    """One mixture, and what it is judged by."""

    mixture: Mixture
    own_noise: bool
    bic: float
    icl: float


def likely_split(rows: DescribedRows, seed: int = 0) -> Split | None:
    """Split rows in two to four, by ICL; None if they are too few for two regressions.

    The constant of each component is free, so that a shift of the level is a split.
    """
    psi, y, weights = _standardised(rows)
    if len(y) < 4 * psi.shape[1]:
        return None
    drawn = _drawn(len(y), seed)
    of_fit = psi[drawn], y[drawn], weights[drawn]
    best: dict[int, _Candidate] = {}
    for number in progress(range(1, MOST + 1), "numbers of components"):
        for own_noise in (False, True)[: 1 if number == 1 else 2]:
            candidate = _fit(*of_fit, number, own_noise=own_noise, seed=seed)
            known = best.get(number)
            if candidate and (known is None or candidate.icl < known.icl):
                best[number] = candidate
    several = [number for number in best if number > 1]
    if not several:
        return None
    chosen = best[min(several, key=lambda number: best[number].icl)]
    candidates = pd.DataFrame(
        {
            "BIC": [candidate.bic for candidate in best.values()],
            "ICL": [candidate.icl for candidate in best.values()],
            "noise": [
                "its own" if candidate.own_noise else "alike"
                for candidate in best.values()
            ],
        },
        pd.Index(best, name="K"),
    )
    return Split(
        memberships=_memberships(chosen.mixture, psi, y),
        candidates=candidates,
        own_noise=chosen.own_noise,
    )


def split_again(
    rows: DescribedRows, half: np.ndarray, split: Split, seed: int
) -> np.ndarray:
    """Likeliest components (n,) of all rows, by a mixture of the same kind that is
    fitted to some of them, with starts of another seed."""
    psi, y, weights = _standardised(rows)
    some = half[_drawn(len(half), seed)]
    fitted = _fit(
        psi[some],
        y[some],
        weights[some],
        split.number,
        own_noise=split.own_noise,
        seed=seed,
    )
    if fitted is None:
        return np.zeros(len(y), dtype=np.int64)
    return _memberships(fitted.mixture, psi, y).argmax(1)


def _standardised(rows: DescribedRows) -> tuple[Tensor, Tensor, Tensor]:
    """Columns and a constant (n, p), targets (n,) and weights (n,), in units of their
    standard deviations."""
    scale = rows.x.std(0)
    varies = scale > 1e-12 * np.maximum(np.abs(rows.x).max(0), 1e-300)
    x = (rows.x - rows.x.mean(0))[:, varies] / scale[varies]
    most = max(1, len(x) // ROWS_PER_COEFFICIENT - 1)
    psi = leading(x, most)
    size = np.sqrt((psi**2).mean(0))
    y = (rows.y - rows.y.mean()) / rows.y.std()
    arrays = psi / np.where(size > 0, size, 1.0), y, rows.weights
    psi_of_rows, targets, weights = (torch.from_numpy(array) for array in arrays)
    return psi_of_rows, targets, weights


def _drawn(n: int, seed: int) -> np.ndarray:
    """Rows that EM is fitted to."""
    if n <= MAX_ROWS:
        return np.arange(n)
    random = stream(seed, "description", "rows")
    return np.sort(random.choice(n, MAX_ROWS, replace=False))


def _fit(
    psi: Tensor, y: Tensor, weights: Tensor, number: int, *, own_noise: bool, seed: int
) -> _Candidate | None:
    """The likeliest mixture of so many regressions; None if all starts end in a few
    rows on a line."""
    n, p = psi.shape
    weights = weights / weights.mean()
    starts = _starts(psi, y, number, seed)
    mixtures = fit_mixture(
        psi,
        y,
        starts,
        ridge=RIDGE,
        point_weights=weights,
        em=EM(per_cluster=own_noise, max_iter=100),
    )
    noise_ratio = mixtures.sigma.amin(-1) / mixtures.sigma.amax(-1)
    usable = (mixtures.weights >= MIN_SHARE).all(-1) & (noise_ratio > MIN_RATIO)
    if not bool(usable.any()):
        return None
    likelihood = mixtures.log_likelihood(psi, y, point_weights=weights)
    best = int(likelihood.masked_fill(~usable, -torch.inf).argmax())
    r = mixtures.responsibilities(psi, y)[best]
    entropy = -float(weights @ torch.special.xlogy(r, r).sum(-1))
    n_parameters = number * p + number - 1 + (number if own_noise else 1)
    bic = -2 * n * float(likelihood[best]) + n_parameters * np.log(n)
    return _Candidate(
        mixture=mixtures.take(best),
        own_noise=own_noise,
        bic=float(bic),
        icl=float(bic + 2 * entropy),
    )


def _starts(psi: Tensor, y: Tensor, number: int, seed: int) -> Tensor:
    """Responsibilities (R, n, K) at the start of EM.

    Parts of equal size by the residuals e of one regression, by their size, and by
    products e psi_j, in which environments with other slopes are apart; and at random.
    """
    n, p = psi.shape
    if number == 1:
        return torch.ones(1, n, 1).to(psi)
    coefficients = torch.linalg.lstsq(psi, y[:, None]).solution[:, 0]
    e = y - psi @ coefficients
    scores = [e, e.abs(), *(e * psi[:, j] for j in range(min(p - 1, DIRECTED)))]
    parts = []
    for score in scores:
        ranks = score.argsort(stable=True).argsort()
        parts.append(one_hot(ranks * number // n, number).to(psi))
    random = random_starts(seed, RANDOM_STARTS, n, number, "description")
    return torch.cat([torch.stack(parts), random.to(psi)])


def _memberships(mixture: Mixture, psi: Tensor, y: Tensor) -> np.ndarray:
    """Memberships (n, K), the largest component first."""
    largest_first = mixture.weights.argsort(descending=True, stable=True)
    squares = (y[:, None] - psi @ mixture.theta.mT) ** 2
    joint = (
        mixture.weights.log() - mixture.sigma.log() - squares / (2 * mixture.sigma**2)
    )
    return torch.softmax(joint, -1)[:, largest_first].numpy()
