"""Where the fits of M_c start: at random, or at the environments of the dimension
before."""

from dataclasses import replace
from typing import Any

import torch
from planted_environments import K_MAX, first, later, planted, with_psi
from torch import Tensor
from torch.testing import assert_close

NESTED: dict[str, Any] = {"n_init": 6, "init": "nested", "em_tol": 1e-9}


def test_nested_starts_are_the_environments_of_the_dimension_before(
    seen: list[tuple[Tensor, Tensor]],
) -> None:
    data = planted(0, noise=0.5)
    got = first(data, 2, 3, 4, **NESTED)
    assert [len(start) for _, start in seen] == [12, 2, 2]
    for g in (1, 2):
        for start in seen[g][1]:  # every ridge has the same one
            assert_close(start, got.train[g - 1])
    assert not bool(got.degenerate.any())
    usual = first(data, 2, **NESTED | {"init": "random"})
    assert torch.equal(got.candidate(2).train, usual.train[0])
    got = later(data, torch.ones(K_MAX).double(), **NESTED)
    assert_close(seen[-1][1], first(data, 4, **NESTED).train.expand(2, -1, -1))


def test_nested_starts_are_random_again_after_a_degenerate_split(
    seen: list[tuple[Tensor, Tensor]],
) -> None:
    data = planted(0)
    psi, psi_v = data.psi_train[:, [2, 0, 1, 3]], data.psi_validation[:, [2, 0, 1, 3]]
    got = first(with_psi(data, psi, psi_v), 1, 3, **NESTED, noise_sd=0.5)
    assert got.degenerate.tolist() == [True, False]
    assert [len(start) for _, start in seen] == [12, 12]


def test_dropped_environments_are_no_part_of_a_start(
    seen: list[tuple[Tensor, Tensor]],
) -> None:
    got = first(planted(0), 2, 4, **NESTED, n_environments=3, min_share=0.3)
    # some points' environment was dropped
    assert float(got.train[0].sum(-1).min()) < 0.9
    assert_close(seen[1][1].sum(-1), torch.ones_like(seen[1][1][..., 0]))


def test_starts_depend_on_seed_iteration_and_dimension(
    seen: list[tuple[Tensor, Tensor]],
) -> None:
    data, theta = planted(0), torch.zeros(K_MAX).double()
    first(data, 2, 4, n_init=3)
    first(data, 2, 4, n_init=3)
    later(data, theta, n_init=3)
    first(replace(data, seed=5), 2, n_init=3)
    two, four, again_2, again_4, _, second, other = (start for _, start in seen)
    assert torch.equal(two, again_2)
    assert torch.equal(four, again_4)
    assert torch.equal(two[:3], two[3:])  # every ridge has the same starts
    for another in (four, other):
        assert not torch.equal(two, another)
    assert not torch.equal(four, second)
