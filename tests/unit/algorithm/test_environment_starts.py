"""Where the fits of M_c start: at random, or at the environments of the dimension
before."""

from dataclasses import replace
from typing import Any

import torch
from planted_environments import K_MAX, first, later, planted, with_psi
from torch import Tensor
from torch.testing import assert_close

NESTED: dict[str, Any] = {
    "n_init": 6,
    "init": "nested",
    "em_tol": 1e-9,
}


def n_starts(seen: list[tuple[Tensor, Tensor]]) -> list[int]:
    """Numbers of starts of the fits, in their order."""
    return [len(start) for _, start in seen]


def test_nested_starts_are_the_environments_of_the_dimension_before(
    seen: list[tuple[Tensor, Tensor]],
) -> None:
    data = planted(0, noise=0.5)
    got = first(data, 2, 3, 4, **NESTED)
    assert n_starts(seen) == [12, 2, 2]
    for g in (1, 2):
        _, starts = seen[g]
        environments_before = got.train[g - 1]
        for start in starts:  # every ridge has the same one
            assert_close(start, environments_before)
    assert not got.degenerate.any()

    random_starts = NESTED | {"init": "random"}
    usual = first(data, 2, **random_starts)
    of_two = got.candidate(2)
    expected = usual.train[0]
    assert torch.equal(of_two.train, expected)

    theta = torch.ones(K_MAX).double()
    later(data, theta, **NESTED)
    _, start_of_later = seen[-1]
    environments_before = first(data, 4, **NESTED).train
    expected = environments_before.expand(2, -1, -1)
    assert_close(start_of_later, expected)


def test_nested_starts_are_random_again_after_a_degenerate_split(
    seen: list[tuple[Tensor, Tensor]],
) -> None:
    data = planted(0)
    constant_first = [2, 0, 1, 3]
    psi = data.psi_train[:, constant_first]
    psi_v = data.psi_validation[:, constant_first]
    reordered = with_psi(data, psi, psi_v)
    got = first(reordered, 1, 3, **NESTED, noise_sd=0.5)
    assert got.degenerate.tolist() == [True, False]
    assert n_starts(seen) == [12, 12]


def test_dropped_environments_are_no_part_of_a_start(
    seen: list[tuple[Tensor, Tensor]],
) -> None:
    data = planted(0)
    three = NESTED | {"n_environments": 3}
    got = first(data, 2, 4, **three, min_share=0.3)
    # some points' environment was dropped
    total_shares = got.train[0].sum(-1)
    assert total_shares.min() < 0.9
    _, start = seen[1]
    total_of_start = start.sum(-1)
    assert_close(total_of_start, torch.ones_like(total_of_start))


def test_starts_depend_on_seed_iteration_and_dimension(
    seen: list[tuple[Tensor, Tensor]],
) -> None:
    data = planted(0)
    theta = torch.zeros(K_MAX).double()
    first(data, 2, 4, n_init=3)
    first(data, 2, 4, n_init=3)
    later(data, theta, n_init=3)
    other_seed = replace(data, seed=5)
    first(other_seed, 2, n_init=3)
    starts = [start for _, start in seen]
    two, four, again_2, again_4, _, second, other = starts
    assert torch.equal(two, again_2)
    assert torch.equal(four, again_4)
    first_ridge = two[:3]
    assert torch.equal(first_ridge, two[3:])  # every ridge has the same starts
    assert not torch.equal(two, four)
    assert not torch.equal(two, other)
    assert not torch.equal(four, second)
