"""M_c of an iteration: which split becomes the environments, on data whose
environments are planted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from planted_environments import FLOATS, K_MAX, M, N, first, later, planted, with_psi
from refusals import refusal
from torch.testing import assert_close

from kerhrm.algorithm import environments
from kerhrm.algorithm.environments import (
    _smallest_within_one_error,
    choose_n_environments,
    learn_environments,
)
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_planted_split_is_inferred(seed: int) -> None:
    data = planted(seed)
    got = first(data, 2, 4, em_tol=1e-7)
    assert got.k.tolist() == [2, 4]
    assert got.train.shape == (2, N, 2)
    assert got.validation.shape == (2, M, 2)
    assert not got.degenerate.any()
    assert got.label_information.max() < 0.05
    for psi, y, r in (
        (data.psi_train, data.y, got.train),
        (data.psi_validation, data.y_validation, got.validation),
    ):
        attribute = psi[:, 0]
        agrees = (attribute > 0) == (y > 0)
        in_first = r[..., 0] > 0.5
        as_split = in_first == agrees
        share = as_split.double().mean(-1)
        # either one may come first
        agreement = torch.maximum(share, 1 - share)
        assert agreement.min() == 1
        total = r.sum(-1)
        assert_close(total, torch.ones_like(total))


def test_likelier_label_splits_are_set_aside() -> None:
    data = planted(0, noise=0.5)
    options = {"n_init": 20, "clustering_ridge": [1e-3]}
    chosen = first(data, 4, **options)
    assert chosen.n_starts == 20
    assert 0 < int(chosen.n_label_split) < 20
    assert not chosen.degenerate
    assert chosen.label_information < 0.1
    # by likelihood alone a label split would have won
    likeliest = first(data, 4, **options, max_label_information=1.0)
    assert likeliest.label_information > 0.9
    assert likeliest.held_out > chosen.held_out + 0.5
    assert likeliest.n_label_split == 0


def test_where_every_start_is_degenerate_the_likeliest_stays() -> None:
    data = planted(1)
    psi = data.psi_train.clone()
    psi_v = data.psi_validation.clone()
    # only the constant is left: nothing but the label can be split
    psi[:, [0, 1, 3]] = 0
    psi_v[:, [0, 1, 3]] = 0
    # the starts lie near a saddle, which an estimated sigma leaves slowly
    options: dict[str, Any] = {
        "n_init": 4,
        "clustering_ridge": [1e-3, 1e-2],
        "noise_sd": 0.5,
    }
    constant_alone = with_psi(data, psi, psi_v)
    got = first(constant_alone, 4, **options)
    assert got.degenerate.tolist() == [True]
    assert got.n_starts.item() == 8
    assert got.n_label_split.item() == 8
    assert got.label_information > 0.9
    for name in FLOATS:
        values = getattr(got, name)
        assert values.isfinite().all(), name
    likeliest = first(constant_alone, 4, **options, max_label_information=1.0)
    held_out = got.held_out.item()
    assert held_out == likeliest.held_out.item()


@pytest.mark.parametrize("noise", [0.2, 0.5])
@pytest.mark.parametrize("seed", [0, 2])
def test_every_ridge_is_tried_and_the_best_one_wins(noise: float, seed: int) -> None:
    options = {
        "n_init": 6,
        "n_environments": 3,
        "min_share": 0.35,
    }
    ridges = [1e-3, 1e-1]
    data = planted(seed, noise)
    got = first(data, 3, clustering_ridge=ridges, **options)
    each = []
    for ridge in ridges:
        alone = first(data, 3, clustering_ridge=[ridge], **options)
        each.append(alone)

    def rank(one: Environments) -> tuple[bool, float]:
        """Splits that are not degenerate come first, then the likeliest."""
        return not one.degenerate, float(one.held_out)

    best = max(each, key=rank)
    for name in FLOATS:
        expected = getattr(best, name)
        assert_close(getattr(got, name), expected)
    for name in ("n_starts", "n_label_split", "n_empty", "n_unconverged"):
        numbers = [getattr(one, name) for one in each]
        total = sum(numbers)
        assert getattr(got, name) == total, name
    all_degenerate = all(one.degenerate for one in each)
    assert bool(got.degenerate) == all_degenerate


def test_an_emptied_environment_is_dropped_and_the_others_stay() -> None:
    # two environments are planted, a third is too many
    options: dict[str, Any] = {
        "n_environments": 3,
        "em_max_iter": 2000,
        "em_tol": 1e-9,
    }
    data = planted(1)
    got = first(data, 2, **options, min_share=0.1)
    whole = first(data, 2, **options, min_share=0.0)
    assert not got.degenerate
    assert_close(got.held_out, whole.held_out)
    dropped = whole.train.mean(-2) < 0.1
    n_dropped = dropped.sum(-1)
    assert n_dropped.tolist() == [1]
    assert torch.equal(got.occupied, ~dropped)
    kept = ~dropped.unsqueeze(-2)
    assert_close(got.train, whole.train * kept)
    assert_close(got.validation, whole.validation * kept)


def test_one_environment_alone_is_not_empty() -> None:
    data = planted(0)
    got = first(data, 2, n_environments=1, n_init=2)
    assert not got.degenerate
    assert got.n_empty.item() == 0


@pytest.mark.parametrize("how", ["drawn", "hard"])
def test_m_p_gets_whole_points_where_they_are_assigned(how: str) -> None:
    data = planted(3, 0.5)
    soft = first(data, 2, 4)
    whole = first(data, 2, 4, assignment=how)
    for part in ("train", "validation"):
        r = getattr(soft, part)
        assigned = getattr(whole, part)
        values = assigned.unique().tolist()
        assert set(values) == {0, 1}
        total = assigned.sum(-1)
        assert (total == 1).all()
        agree = (assigned * r).sum(-1)
        agreement = agree.min() if how == "hard" else agree.mean()
        assert agreement > 0.5
    for name in ("k", "held_out", "objective", "label_information", "degenerate"):
        of_soft = getattr(soft, name)
        of_whole = getattr(whole, name)
        assert torch.equal(of_soft, of_whole)


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
    data = planted(0, 0.5)
    rng = np.random.default_rng(2)
    thetas = []
    for _ in range(2):
        theta = rng.standard_normal(K_MAX)
        thetas.append(torch.from_numpy(theta))
    label = options.get("clustering_target") == "label"
    y = data.y if label else data.target
    y_v = data.y_validation if label else data.target_validation
    of_first = first(data, 2, 4, **options)
    of_later = later(data, *thetas, **options)
    for got in (of_first, of_later):
        for g, k in enumerate(got.k.tolist()):
            slopes = got.slopes[g].mT
            centres = data.psi_train @ slopes
            centres_v = data.psi_validation @ slopes
            train = got.probabilities(k, centres, y)
            validation = got.probabilities(k, centres_v, y_v)
            expected = got.train[g]
            assert_close(train, expected, rtol=0, atol=1e-9)
            expected = got.validation[g]
            assert_close(validation, expected, rtol=0, atol=1e-9)


def turned_in_some(turned: int, seed: int) -> Problem:
    """Training points, and 200 that validate; the first ``turned`` of each have another
    slope."""
    random = np.random.default_rng(seed)
    parts = []
    for n in (300, 200):
        psi = random.standard_normal((n, 3))
        slope = np.where(np.arange(n) < turned, -1.0, 1.0)
        noise = 0.3 * random.standard_normal(n)
        y = slope * psi[:, 0] + psi[:, 1] + noise
        parts.append((torch.from_numpy(psi), torch.from_numpy(y)))
    (psi, y), (psi_validation, y_validation) = parts
    return Problem(
        u=psi,
        s=psi.new_ones(3),
        psi_validation=psi_validation,
        f0_train=torch.zeros_like(y),
        f0_validation=torch.zeros_like(y_validation),
        y=y,
        y_validation=y_validation,
        task="regression",
        seed=seed,
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_points_without_weight_do_not_choose_the_number(seed: int) -> None:
    options = KerHRMOptions(k=[3], n_init=3)
    turned = 80
    whole = turned_in_some(turned, seed)
    assert choose_n_environments(whole, options, 3) == 2
    dropped = replace(
        whole,
        u=whole.u[turned:],
        f0_train=whole.f0_train[turned:],
        y=whole.y[turned:],
        psi_validation=whole.psi_validation[turned:],
        f0_validation=whole.f0_validation[turned:],
        y_validation=whole.y_validation[turned:],
    )
    one_slope = choose_n_environments(dropped, options, 3)
    assert one_slope == 1
    weights = []
    for n in (300, 200):
        counted = torch.arange(n) >= turned
        weights.append(counted.double() * n / (n - turned))
    of_train, of_validation = weights
    weighted = replace(whole, weights=of_train, weights_validation=of_validation)
    assert choose_n_environments(weighted, options, 3) == one_slope


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1, 1, 1, 1, 0], 2),  # falls short by 0.5, of which the error is 0.87
        ([1, 1, 1, 1, 1], 3),  # by 2.2, of which it is 1.83
        ([4, 1, 1, 1, 0], 3),  # by 1.57, of which it is 1.10
    ],
)
def test_the_smallest_number_within_one_standard_error(
    counts: list[int], expected: int
) -> None:
    likelihoods = [[-1.2, -0.8, -1.1, -0.9, 0], [-3, 1, 0, 0, -9], [0, 0, 0, 0, 0]]
    table = torch.tensor(likelihoods, dtype=torch.float64)
    weights = torch.tensor(counts, dtype=torch.float64)
    assert _smallest_within_one_error(table, weights) == expected


def test_one_validation_row_chooses_no_number() -> None:
    """Its standard error is unknown."""
    whole = turned_in_some(80, 0)
    single = replace(
        whole,
        psi_validation=whole.psi_validation[:1],
        f0_validation=whole.f0_validation[:1],
        y_validation=whole.y_validation[:1],
    )
    with refusal("one validation row cannot choose"):
        choose_n_environments(single, KerHRMOptions(k=[3], n_init=1), 3)


def test_weights_count_in_the_standard_error_of_the_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the jackknife: means that leave one point out."""
    random = np.random.default_rng(0)
    one = turned_in_some(80, 0)
    weights = random.uniform(0.1, 3, 200)
    mean_one = torch.from_numpy(weights / weights.mean())
    weighted = replace(one, weights_validation=mean_one)
    options = KerHRMOptions(k=[3], n_init=1)
    chosen = []
    for shift in (0.5, 0.9, 1.1, 1.5):
        differences = random.standard_normal(200)
        mean = np.average(differences, weights=weights)
        left_out = []
        for i in range(200):
            others = np.delete(differences, i)
            of_others = np.delete(weights, i)
            left_out.append(np.average(others, weights=of_others))
        error = np.std(left_out) * np.sqrt(199)
        shortfall = torch.from_numpy(differences - mean + shift * error)
        # two environments are likelier than one by these
        likelihoods = iter([-shortfall, torch.zeros_like(shortfall)])
        monkeypatch.setattr(
            Environments, "log_likelihoods", lambda *_, of=likelihoods: next(of)
        )
        chosen.append(choose_n_environments(weighted, options, 2))
    assert chosen == [1, 1, 2, 2]


def test_weights_count_as_repeated_points_where_labels_are_repeated() -> None:
    data = planted(0)
    positive = data.y > 0
    agrees = (data.u[:, 0] > 0) == positive
    times = 1 + 3 * (agrees & positive).long()
    repeated = replace(
        data,
        u=data.u.repeat_interleave(times, 0),
        f0_train=data.f0_train.repeat_interleave(times, 0),
        y=data.y.repeat_interleave(times, 0),
    )
    weighted = replace(data, weights=times / times.double().mean())
    options: dict[str, Any] = {"n_init": 1, "em_tol": 1e-12, "em_max_iter": 10_000}
    of_rows = first(repeated, 4, **options)
    of_weights = first(weighted, 4, **options)
    expected = of_rows.label_information
    assert expected > 0.01
    assert_close(of_weights.label_information, expected, rtol=1e-4, atol=1e-7)


def test_a_number_is_tried_with_no_more_features_than_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where it is asked for: with at most n / K."""
    whole = turned_in_some(80, 0)
    few = replace(whole, u=whole.u[:8], f0_train=whole.f0_train[:8], y=whole.y[:8])
    tried = []

    def watched(problem: Problem, options: KerHRMOptions, *others: Any) -> Environments:
        tried.append((options.n_environments, options.k))
        return learn_environments(problem, options, *others)

    monkeypatch.setattr(environments, "learn_environments", watched)
    choose_n_environments(few, KerHRMOptions(k=[1, 3], n_init=1), 4)
    assert tried == [(1, [1, 3]), (2, [1, 3]), (3, [1, 2]), (4, [1, 2])]
