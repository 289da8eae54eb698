"""The most likely split of a table's rows: a mixture of regressions on its columns.

    p(y | x) = sum_j q_j N(y | a_j + b_j^T x, sigma_j^2)

by EM (:mod:`kerhrm.algorithm.mixture`), with K = 1, ..., 4 components and noise that is
alike in all of them or not.  Of p parameters and n rows, of weighted ones their
effective number,

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
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.starts import random_starts
from kerhrm.description.regressions import independent_columns
from kerhrm.description.rows import DescribedRows, effective_number
from kerhrm.heterogeneity.test import leading
from kerhrm.progress import progress
from kerhrm.randomness import some_of, stream

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

    def line(self) -> dict[str, float | str]:
        """Its line of :attr:`Split.candidates`."""
        noise = "its own" if self.own_noise else "alike"
        return {"BIC": self.bic, "ICL": self.icl, "noise": noise}


def likely_split(rows: DescribedRows, seed: int = 0) -> Split | None:
    """Split rows in two to four, by ICL; None if they are too few for two regressions.

    The constant of each component is free, so that a shift of the level is a split.
    """
    psi, y, weights = _standardised(rows)
    n, p = psi.shape
    if n < 4 * p:
        return None
    drawn = _drawn(n, seed)
    of_fit = (psi[drawn], y[drawn], weights[drawn])
    best: dict[int, _Candidate] = {}
    numbers = range(1, MOST + 1)
    for number in progress(numbers, "numbers of components"):
        kinds_of_noise = (False,) if number == 1 else (False, True)
        for own_noise in kinds_of_noise:
            candidate = _fit(*of_fit, number, own_noise=own_noise, seed=seed)
            if candidate is None:
                continue
            known = best.get(number)
            if known is None or candidate.icl < known.icl:
                best[number] = candidate
    several = [candidate for number, candidate in best.items() if number > 1]
    if not several:
        return None
    chosen = min(several, key=lambda candidate: candidate.icl)
    lines = [candidate.line() for candidate in best.values()]
    memberships = _memberships(chosen.mixture, psi, y)
    index = pd.Index(best, name="K")
    candidates = pd.DataFrame(lines, index)
    return Split(
        memberships=memberships,
        candidates=candidates,
        own_noise=chosen.own_noise,
    )


def split_again(
    rows: DescribedRows, half: np.ndarray, split: Split, seed: int
) -> np.ndarray:
    """Likeliest components (n,) of all rows, by a mixture of the same kind that is
    fitted to some of them, with starts of another seed."""
    psi, y, weights = _standardised(rows)
    drawn = _drawn(len(half), seed)
    some = half[drawn]
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
    memberships = _memberships(fitted.mixture, psi, y)
    return memberships.argmax(1)


def _standardised(rows: DescribedRows) -> tuple[Tensor, Tensor, Tensor]:
    """Columns and a constant (n, p), targets (n,) and weights (n,), in units of their
    standard deviations.

    Sums of other columns are left out, as both columns of a yes and a no: with them
    rounding, which is no run's like the next one's, would choose among equal fits.
    """
    independent = independent_columns(rows.x)
    chosen = rows.x[:, independent]
    means = chosen.mean(0)
    centred = chosen - means
    x = centred / chosen.std(0)
    n_coefficients = len(x) // ROWS_PER_COEFFICIENT
    most = max(1, n_coefficients - 1)
    components = leading(x, most)
    squares = components**2
    mean_square = squares.mean(0)
    size = np.sqrt(mean_square)
    unit = np.where(size > 0, size, 1.0)
    scaled = components / unit
    psi = torch.from_numpy(scaled)
    mean_y = rows.y.mean()
    centred_y = rows.y - mean_y
    scaled_y = centred_y / rows.y.std()
    y = torch.from_numpy(scaled_y)
    weights = torch.from_numpy(rows.weights)
    return psi, y, weights


def _drawn(n: int, seed: int) -> np.ndarray:
    """Rows that EM is fitted to."""
    random = stream(seed, "description", "rows")
    return some_of(random, n, MAX_ROWS)


def _fit(
    psi: Tensor, y: Tensor, weights: Tensor, number: int, *, own_noise: bool, seed: int
) -> _Candidate | None:
    """The likeliest mixture of so many regressions; None if all starts end in a few
    rows on a line, or the targets are all the same."""
    n, p = psi.shape
    differs = y != y[0]
    if not bool(differs.any()):
        return None
    weights = weights / weights.mean()
    starts = _starts(psi, y, number, seed)
    em = EM(per_cluster=own_noise, max_iter=100)
    mixtures = fit_mixture(psi, y, starts, ridge=RIDGE, point_weights=weights, em=em)
    large = mixtures.weights >= MIN_SHARE
    large_enough = large.all(-1)
    least_noise = mixtures.sigma.amin(-1)
    largest_noise = mixtures.sigma.amax(-1)
    noise_ratio = least_noise / largest_noise
    both_noisy = noise_ratio > MIN_RATIO
    usable = large_enough & both_noisy
    if not bool(usable.any()):
        return None
    likelihood = mixtures.log_likelihood(psi, y, point_weights=weights)
    likelihood_of_usable = likelihood.masked_fill(~usable, -torch.inf)
    best = int(likelihood_of_usable.argmax())
    responsibilities = mixtures.responsibilities(psi, y)
    r = responsibilities[best]
    terms = torch.special.xlogy(r, r)
    entropies = terms.sum(-1)
    n_effective = effective_number(weights.numpy())
    mean_entropy = (weights @ entropies) / n
    entropy = -n_effective * float(mean_entropy)
    n_noises = number if own_noise else 1
    n_parameters = number * p + number - 1 + n_noises
    best_likelihood = float(likelihood[best])
    cost = n_parameters * np.log(n_effective)
    bic = -2 * n_effective * best_likelihood + cost
    icl = bic + 2 * entropy
    mixture = mixtures.take(best)
    return _Candidate(
        mixture=mixture,
        own_noise=own_noise,
        bic=float(bic),
        icl=float(icl),
    )


def _starts(psi: Tensor, y: Tensor, number: int, seed: int) -> Tensor:
    """Responsibilities (R, n, K) at the start of EM.

    Parts of equal size by the residuals e of one regression, by their size, and by
    products e psi_j, in which environments with other slopes are apart; and at random.
    """
    n, p = psi.shape
    if number == 1:
        everyone = torch.ones(1, n, 1)
        return everyone.to(psi)
    column = y[:, None]
    fitted = torch.linalg.lstsq(psi, column)
    solution = fitted.solution
    coefficients = solution[:, 0]
    predictions = psi @ coefficients
    e = y - predictions
    scores = [e, e.abs()]
    n_directed = min(p - 1, DIRECTED)
    for j in range(n_directed):
        product = e * psi[:, j]
        scores.append(product)
    directed = []
    for score in scores:
        order = score.argsort(stable=True)
        ranks = order.argsort()
        parts = ranks * number // n
        indicators = one_hot(parts, number)
        directed.append(indicators.to(psi))
    random = random_starts(seed, RANDOM_STARTS, n, number, "description")
    directed_starts = torch.stack(directed)
    return torch.cat([directed_starts, random.to(psi)])


def _memberships(mixture: Mixture, psi: Tensor, y: Tensor) -> np.ndarray:
    """Memberships (n, K), the largest component first."""
    largest_first = mixture.weights.argsort(descending=True, stable=True)
    means = psi @ mixture.theta.mT
    residuals = y[:, None] - means
    squares = residuals**2
    doubled_variance = 2 * mixture.sigma**2
    distances = squares / doubled_variance
    level = mixture.weights.log() - mixture.sigma.log()
    joint = level - distances
    memberships = torch.softmax(joint, -1)
    in_order = memberships[:, largest_first]
    return in_order.numpy()
