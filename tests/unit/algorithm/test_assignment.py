"""What M_p gets of the probabilities P_ij."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from kerhrm.algorithm.assignment import assign


def shares(seed: int, m: int = 50, n_clusters: int = 3) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).dirichlet([0.7] * n_clusters, m))


def test_soft_memberships_are_the_responsibilities() -> None:
    r = shares(0)
    assert assign(r, "soft", 0) is r


@given(seed=st.integers(0, 10**6))
def test_hard_memberships_are_the_largest(seed: int) -> None:
    r = shares(seed)
    got = assign(r, "hard", 0).numpy()
    assert got.sum(1).tolist() == [1] * 50
    np.testing.assert_array_equal(got.argmax(1), r.numpy().argmax(1))


def test_draws_have_the_probabilities() -> None:
    p = [0.1, 0.6, 0.3]
    got = assign(torch.tensor([p] * 20_000).double(), "drawn", 3, "t=1", "k=5", "train")
    assert bool((got.sum(1) == 1).all())
    counts = got.sum(0).numpy()
    assert stats.chisquare(counts, 20_000 * np.array(p)).pvalue > 1e-3


def test_draws_belong_to_their_seed_and_name() -> None:
    r = shares(1)
    first, again = (assign(r, "drawn", 3, "t=1", "k=5") for _ in range(2))
    assert torch.equal(first, again)
    for seed, name in ((4, ("t=1", "k=5")), (3, ("t=2", "k=5")), (3, ("t=1", "k=10"))):
        assert not torch.equal(first, assign(r, "drawn", seed, *name))


def test_what_belongs_nowhere_stays_there() -> None:
    r = torch.zeros(30, 3).double()
    for how in ("drawn", "hard"):
        assert not bool(assign(r, how, 0).any())  # type: ignore[arg-type]
    # the share of a dropped environment is nobody's
    r[:, 1] = 0.5
    drawn = assign(r.repeat(200, 1), "drawn", 0)
    assert drawn[:, [0, 2]].sum() == 0
    assert stats.binomtest(int(drawn[:, 1].sum()), 6000, 0.5).pvalue > 1e-3
