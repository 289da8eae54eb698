"""M_c of an iteration, on data whose environments are planted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm import environments as module
from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Directions, Environments, Problem
from kerhrm.errors import KerhrmError

N, M, K_MAX = 300, 150, 4
FLOATS = ("train", "validation", "ridge", "held_out", "objective", "label_information")
COUNTS = ("k", "degenerate", "n_starts", "n_label_split", "n_empty", "n_unconverged")


def planted(seed: int, noise: float = 0.2, intercept: float = 0.3) -> Problem:
    """Columns of Psi: A with noise, noise, a constant, noise; P(A = Y) = 0.8.

    The constant is what a label split needs: every label is then fitted without
    residual.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for n in (N, M):
        y = rng.choice([-1.0, 1.0], n)
        a = np.where(rng.random(n) < 0.8, y, -y)
        columns = [a + noise * rng.standard_normal(n), rng.standard_normal(n)]
        columns += [np.full(n, intercept), 0.5 * rng.standard_normal(n)]
        parts.append([torch.from_numpy(v) for v in (np.stack(columns, axis=1), y)])
    (psi, y), (psi_v, y_v) = parts
    f0, f0_v = torch.full_like(y, 0.05), torch.full_like(y_v, -0.05)
    return Problem(
        psi, psi.new_ones(K_MAX), psi_v, f0, f0_v, y, y_v, "classification", seed
    )


def with_psi(base: Problem, psi: Tensor, psi_v: Tensor) -> Problem:
    return replace(base, u=psi, psi_validation=psi_v)


def first(problem: Problem, *k: int, **options: Any) -> Environments:
    """Environments of the first iteration."""
    return learn_environments(problem, KerHRMOptions(k=list(k), **options), 1, [], [])


def direction(theta: Tensor, k: int) -> Directions:
    one = torch.ones(1).double()
    theta = torch.where(torch.arange(K_MAX) < k, theta, 0.0)
    return Directions(theta[None], torch.tensor([k]), one, one, 0)


def later(
    problem: Problem, *thetas: Tensor, k: int = 4, **options: Any
) -> Environments:
    """Environments of the iteration after those that left such directions."""
    settings = KerHRMOptions(k=[k], **options)
    before = [learn_environments(problem, settings, 1, [], [])] * len(thetas)
    directions = [direction(theta, k) for theta in thetas]
    return learn_environments(problem, settings, len(thetas) + 1, before, directions)


def same(left: Environments, right: Environments, but: tuple[str, ...] = ()) -> None:
    for name in FLOATS:
        if name not in but:
            assert_close(
                getattr(left, name), getattr(right, name), rtol=1e-6, atol=1e-9
            )
    for name in COUNTS:
        assert torch.equal(getattr(left, name), getattr(right, name)), name


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor]]:
    """Features and starts of every fit."""
    calls: list[tuple[Tensor, Tensor]] = []

    def watch(psi: Tensor, y: Tensor, start: Tensor, **options: Any) -> Any:
        calls.append((psi, start))
        return fit_mixture(psi, y, start, **options)

    monkeypatch.setattr(module, "fit_mixture", watch)
    return calls


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_planted_split_is_inferred(seed: int) -> None:
    data = planted(seed)
    got = first(data, 2, 4, em_tol=1e-7)
    assert got.k.tolist() == [2, 4]
    assert got.train.shape == (2, N, 2)
    assert got.validation.shape == (2, M, 2)
    assert not bool(got.degenerate.any())
    assert float(got.label_information.max()) < 0.05
    for psi, y, r in (
        (data.psi_train, data.y, got.train),
        (data.psi_validation, data.y_validation, got.validation),
    ):
        agrees = (psi[:, 0] > 0) == (y > 0)
        share = ((r[..., 0] > 0.5) == agrees).double().mean(-1)
        # either one may come first
        assert float(torch.maximum(share, 1 - share).min()) == 1
        assert_close(r.sum(-1), torch.ones_like(r[..., 0]))


def test_likelier_label_splits_are_set_aside() -> None:
    options = {"n_init": 20, "clustering_ridge": [1e-3]}
    chosen = first(planted(0, noise=0.5), 4, **options)
    assert 0 < int(chosen.n_label_split) < int(chosen.n_starts) == 20
    assert not bool(chosen.degenerate)
    assert float(chosen.label_information) < 0.1
    # by likelihood alone a label split would have won
    likeliest = first(planted(0, noise=0.5), 4, **options, max_label_information=1.0)
    assert float(likeliest.label_information) > 0.9
    assert float(likeliest.held_out) > float(chosen.held_out) + 0.5
    assert int(likeliest.n_label_split) == 0


def test_where_every_start_is_degenerate_the_likeliest_stays() -> None:
    data = planted(1)
    psi, psi_v = data.psi_train.clone(), data.psi_validation.clone()
    psi[:, [0, 1, 3]] = (
        0  # only the constant is left: nothing but the label can be split
    )
    psi_v[:, [0, 1, 3]] = 0
    # the starts lie near a saddle, which an estimated sigma leaves slowly
    options: dict[str, Any] = {
        "n_init": 4,
        "clustering_ridge": [1e-3, 1e-2],
        "noise_sd": 0.5,
    }
    got = first(with_psi(data, psi, psi_v), 4, **options)
    assert got.degenerate.tolist() == [True]
    assert got.n_label_split.item() == got.n_starts.item() == 8
    assert float(got.label_information) > 0.9
    for name in FLOATS:
        assert bool(getattr(got, name).isfinite().all()), name
    likeliest = first(
        with_psi(data, psi, psi_v), 4, **options, max_label_information=1.0
    )
    assert got.held_out.item() == likeliest.held_out.item()


@pytest.mark.parametrize("noise", [0.2, 0.5])
@pytest.mark.parametrize("seed", [0, 2])
def test_every_ridge_is_tried_and_the_best_one_wins(noise: float, seed: int) -> None:
    options = {"n_init": 6, "n_environments": 3, "min_share": 0.35}
    ridges = [1e-3, 1e-1]
    got = first(planted(seed, noise), 3, clustering_ridge=ridges, **options)
    each = [
        first(planted(seed, noise), 3, clustering_ridge=[r], **options) for r in ridges
    ]
    best = max(each, key=lambda one: (not bool(one.degenerate), float(one.held_out)))
    for name in FLOATS:
        assert_close(getattr(got, name), getattr(best, name))
    for name in ("n_starts", "n_label_split", "n_empty", "n_unconverged"):
        assert getattr(got, name) == sum(getattr(one, name) for one in each), name
    assert bool(got.degenerate) == all(bool(one.degenerate) for one in each)


def test_an_emptied_environment_is_dropped_and_the_others_stay() -> None:
    # two environments are planted, a third is too many
    options: dict[str, Any] = {"n_environments": 3, "em_max_iter": 2000, "em_tol": 1e-9}
    got, whole = (
        first(planted(1), 2, **options, min_share=share) for share in (0.1, 0.0)
    )
    assert not bool(got.degenerate)
    assert_close(got.held_out, whole.held_out)
    dropped = whole.train.mean(-2) < 0.1
    assert dropped.sum(-1).tolist() == [1]
    assert torch.equal(got.occupied, ~dropped)
    for part, all_three in (
        (got.train, whole.train),
        (got.validation, whole.validation),
    ):
        assert_close(part, all_three * ~dropped.unsqueeze(-2))


def test_one_environment_alone_is_not_empty() -> None:
    got = first(planted(0), 2, n_environments=1, n_init=2)
    assert (bool(got.degenerate), got.n_empty.item()) == (False, 0)


def test_a_candidate_uses_the_first_columns_alone() -> None:
    data = planted(0)
    psi, psi_v = data.psi_train.clone(), data.psi_validation.clone()
    psi[:, 3:], psi_v[:, 3:] = 100, -100
    got = first(data, 2, 3, n_init=3)
    same(got, first(with_psi(data, psi, psi_v), 2, 3, n_init=3))
    assert not bool(got.slopes[0, :, 2:].any())
    alone = first(data, 3, n_init=3)
    assert torch.equal(alone.train[0], got.candidate(3).train)


@pytest.mark.parametrize("projection", ["newest", "all"])
def test_directions_are_taken_out(
    projection: str, seen: list[tuple[Tensor, Tensor]]
) -> None:
    data = planted(0)
    rng = np.random.default_rng(0)
    thetas = [torch.from_numpy(rng.standard_normal(K_MAX)) for _ in range(3)]
    got = later(data, *thetas, n_init=3, projection=projection)
    projections = [np.eye(4) - np.outer(t, t) / float(t @ t) for t in thetas]
    used = projections if projection == "all" else projections[-1:]
    expected = data.psi_train.numpy()
    for matrix in used:
        expected = expected @ matrix
    np.testing.assert_allclose(seen[-1][0], expected, atol=1e-12)
    if projection == "newest":  # what points have along theta does not matter
        along, along_v = (torch.from_numpy(rng.standard_normal((n, 1))) for n in (N, M))
        moved = with_psi(
            data,
            data.psi_train + along * thetas[2],
            data.psi_validation + along_v * thetas[2],
        )
        same(got, later(moved, *thetas, n_init=3))


def test_what_the_iterations_before_left_is_needed() -> None:
    with pytest.raises(
        KerhrmError, match="iteration 3 needs the environments and directions"
    ):
        learn_environments(planted(0), KerHRMOptions(k=[4]), 3, [], [])
    with pytest.raises(
        KerhrmError, match="k=9 exceeds the 4 reduced features; lower k"
    ):
        first(planted(0), 2, 9)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_unit_of_psi_does_not_matter(intercept: bool) -> None:
    data = planted(0)
    scaled = with_psi(data, 1e3 * data.psi_train, 1e3 * data.psi_validation)
    # one start: two would end at the same optimum, and rounding choose
    options = {
        "n_init": 1,
        "clustering_ridge": [1e-2],
        "clustering_intercept": intercept,
    }
    same(first(data, 2, 4, **options), first(scaled, 2, 4, **options))


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


def test_labels_as_targets_are_residuals_of_an_offset_of_zero() -> None:
    data = planted(3, 0.5)
    zero = {
        "f0_train": torch.zeros(N).double(),
        "f0_validation": torch.zeros(M).double(),
    }
    labels = first(data, 2, 4, clustering_target="label")
    same(labels, first(replace(data, **zero), 2, 4))
    assert not torch.allclose(first(data, 2, 4).held_out, labels.held_out)


def test_an_intercept_makes_a_shift_of_all_labels_harmless() -> None:
    data = planted(0, 0.5, intercept=0.0)
    psi, psi_v = data.psi_train.clone(), data.psi_validation.clone()
    psi[:, 2], psi_v[:, 2] = psi[:, 1] ** 2, psi_v[:, 1] ** 2
    data = with_psi(data, psi, psi_v)
    shifted = replace(
        data, f0_train=data.f0_train - 3, f0_validation=data.f0_validation - 3
    )
    free: dict[str, Any] = {"clustering_ridge": [1e-9], "noise_sd": 0.5, "n_init": 4}
    one, other = (
        first(d, 2, 4, clustering_intercept=True, **free) for d in (data, shifted)
    )
    same(one, other)
    assert_close(other.intercept, one.intercept + 3)
    plain, moved = first(data, 4, **free), first(shifted, 4, **free)
    assert not torch.allclose(plain.held_out, moved.held_out)


def test_the_first_kernel_may_be_that_of_the_inputs() -> None:
    data, other = planted(0), planted(5)
    x = other.psi_train.float(), other.psi_validation.float()
    settings = KerHRMOptions(k=[2, 4], first_kernel="inputs")
    got = learn_environments(data, settings, 1, [], [], inputs=x)
    assert got.k.tolist() == [2, 4]
    expected = first(with_psi(data, x[0].double(), x[1].double()), 4)
    for k in (2, 4):  # one clustering serves every k: that of all 4 inputs
        assert_close(got.candidate(k).train, expected.train[0])
    # the second iteration is about features
    theta = direction(torch.ones(K_MAX).double(), 4)
    again = learn_environments(data, settings, 2, [got], [theta], inputs=x)
    same(again, learn_environments(data, KerHRMOptions(k=[4]), 2, [expected], [theta]))
    with pytest.raises(KerhrmError, match="first_kernel='inputs' needs the points x"):
        learn_environments(data, settings, 1, [], [])


@pytest.mark.parametrize("how", ["drawn", "hard"])
def test_m_p_gets_whole_points_where_they_are_assigned(how: str) -> None:
    data = planted(3, 0.5)
    soft, whole = first(data, 2, 4), first(data, 2, 4, assignment=how)
    for part in ("train", "validation"):
        r, assigned = getattr(soft, part), getattr(whole, part)
        assert set(assigned.unique().tolist()) == {0, 1}
        assert bool((assigned.sum(-1) == 1).all())
        agree = (assigned * r).sum(-1)
        assert float(agree.min() if how == "hard" else agree.mean()) > 0.5
    for name in ("k", "held_out", "objective", "label_information", "degenerate"):
        assert torch.equal(getattr(soft, name), getattr(whole, name))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"e_step": "hard"},
        {
            "noise_variance": "per_cluster",
            "clustering_intercept": True,
            "n_environments": 3,
        },
        {
            "clustering_target": "label",
            "projection": "all",
            "min_share": 0.3,
            "n_environments": 3,
        },
    ],
    ids=["default", "hard steps", "intercepts", "labels"],
)
def test_the_record_gives_new_points_the_memberships_of_the_fit(
    options: dict[str, Any],
) -> None:
    """Of the very mixture that was used, whatever was taken out, added or dropped."""
    data, rng = planted(0, 0.5), np.random.default_rng(2)
    thetas = [torch.from_numpy(rng.standard_normal(K_MAX)) for _ in range(2)]
    for got in (first(data, 2, 4, **options), later(data, *thetas, **options)):
        for g, k in enumerate(got.k.tolist()):
            label = options.get("clustering_target") == "label"
            for psi, target, y, expected in (
                (data.psi_train, data.target, data.y, got.train),
                (
                    data.psi_validation,
                    data.target_validation,
                    data.y_validation,
                    got.validation,
                ),
            ):
                found = got.probabilities(
                    k, psi @ got.slopes[g].mT, y if label else target
                )
                assert_close(found, expected[g], rtol=0, atol=1e-9)


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
