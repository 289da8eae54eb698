"""Label information against scikit-learn and against its definition, and the bins of
labels."""

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import entropy
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.algorithm.clustering import assign
from kerhrm.algorithm.labels import label_bins, label_information


def hard(
    environment: np.ndarray | list[int], n_environments: int | None = None
) -> Tensor:
    """Memberships (n, K) of 0 and 1."""
    environment = torch.as_tensor(environment)
    if n_environments is None:
        n_environments = int(environment.max()) + 1
    return one_hot(environment, n_environments).double()


def soft(seed: int, n: int, n_environments: int) -> Tensor:
    """Memberships (n, K) between 0 and 1."""
    rng = np.random.default_rng(seed)
    concentration = np.full(n_environments, 0.3)
    draws = rng.dirichlet(concentration, n)
    return torch.from_numpy(draws)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 12),
    n_environments=st.integers(2, 4),
    n_bins=st.integers(2, 4),
)
def test_soft_environments_by_the_definition(
    seed: int, n: int, n_environments: int, n_bins: int
) -> None:
    r = soft(seed, n, n_environments)
    rng = np.random.default_rng(seed + 1)
    bins = rng.integers(n_bins, size=n)
    joint = np.zeros((n_environments, n_bins))
    for i in range(n):
        for e in range(n_environments):
            share = float(r[i, e])
            joint[e, bins[i]] += share / n
    p = joint.sum(1)
    q = joint.sum(0)
    information = 0.0
    for e in range(n_environments):
        for b in range(n_bins):
            of_both = joint[e, b]
            if of_both > 0:
                if_independent = p[e] * q[b]
                ratio = of_both / if_independent
                information += of_both * math.log(ratio)
    smaller = min(entropy(p), entropy(q))
    expected = information / smaller if smaller > 1e-9 else 0.0
    binned = torch.from_numpy(bins)
    got = label_information(r, binned)
    assert math.isclose(got, expected, rel_tol=1e-7, abs_tol=1e-7)


def test_few_values_are_their_own_bins() -> None:
    signs = torch.tensor([-1.0, 1.0, 1.0])
    bins = label_bins(signs)
    assert bins.tolist() == [0, 1, 1]
    grades = torch.tensor([2.5, -3.0, 10.0, 2.5]).double()
    bins = label_bins(grades)
    assert bins.tolist() == [1, 0, 2, 1]
    counts = torch.tensor([3.0, 0.0, 0.0, 2.0, 0.0, 1.0])
    bins = label_bins(counts, n_bins=4)
    assert bins.tolist() == [3, 0, 0, 2, 0, 1]


@given(seed=st.integers(0, 10**6), n=st.integers(11, 60), n_bins=st.integers(2, 10))
def test_many_values_fall_into_bins_of_equal_size(
    seed: int, n: int, n_bins: int
) -> None:
    rng = np.random.default_rng(seed)
    y = torch.from_numpy(rng.standard_normal(n))
    bins = label_bins(y, n_bins)
    counts = torch.bincount(bins, minlength=n_bins)
    assert len(counts) == n_bins
    assert counts.max() - counts.min() <= 1
    in_order_of_y = bins[y.argsort()]
    assert (in_order_of_y.diff() >= 0).all()
    order = torch.from_numpy(rng.permutation(n))
    permuted = label_bins(y[order], n_bins)
    assert torch.equal(permuted, bins[order])


def shares(seed: int, m: int = 50, n_clusters: int = 3) -> Tensor:
    rng = np.random.default_rng(seed)
    draws = rng.dirichlet([0.7] * n_clusters, m)
    return torch.from_numpy(draws)


def test_draws_have_the_probabilities() -> None:
    p = [0.1, 0.6, 0.3]
    n = 20_000
    rows = torch.tensor([p] * n)
    r = rows.double()
    got = assign(r, "drawn", 3, "t=1", "k=5", "train")
    total = got.sum(1)
    assert (total == 1).all()
    counts = got.sum(0).numpy()
    expected = n * np.array(p)
    test = stats.chisquare(counts, expected)
    assert test.pvalue > 1e-3


def test_draws_belong_to_their_seed_and_name() -> None:
    r = shares(1)
    first = assign(r, "drawn", 3, "t=1", "k=5")
    again = assign(r, "drawn", 3, "t=1", "k=5")
    assert torch.equal(first, again)
    other_seed = assign(r, "drawn", 4, "t=1", "k=5")
    other_iteration = assign(r, "drawn", 3, "t=2", "k=5")
    other_dimension = assign(r, "drawn", 3, "t=1", "k=10")
    assert not torch.equal(first, other_seed)
    assert not torch.equal(first, other_iteration)
    assert not torch.equal(first, other_dimension)


def test_what_belongs_nowhere_stays_there() -> None:
    r = torch.zeros(30, 3).double()
    for how in ("drawn", "hard"):
        assigned = assign(r, how, 0)  # type: ignore[arg-type]
        assert not assigned.any()
    # the share of a dropped environment is nobody's
    r[:, 1] = 0.5
    repeated = r.repeat(200, 1)
    drawn = assign(repeated, "drawn", 0)
    elsewhere = drawn[:, [0, 2]]
    assert elsewhere.sum() == 0
    in_second = drawn[:, 1]
    n_drawn = int(in_second.sum())
    test = stats.binomtest(n_drawn, 6000, 0.5)
    assert test.pvalue > 1e-3
