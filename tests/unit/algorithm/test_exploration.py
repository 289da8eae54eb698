"""M_c of an iteration, on data whose environments are planted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.algorithm import exploration
from kerhrm.algorithm.degeneracy import label_bins, label_information
from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.exploration import explore, learn_environments
from kerhrm.algorithm.mixture import fit_mixture, random_starts
from kerhrm.algorithm.options import Clustering, KerHRM
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments

N, M, K_MAX = 300, 150, 4
#: fields that may differ in the last bits, and those that must not
FLOATS = ("train", "validation", "ridge", "held_out", "objective", "label_information")
COUNTS = ("k", "usable", "n_starts", "n_label_split", "n_empty", "n_unconverged")


def planted(seeds: list[int], noise: float = 0.2, intercept: float = 0.3) -> Problem:
    """Columns of Psi: A with noise, noise, a constant, noise; P(A = Y) = 0.8.

    The constant is what a label split needs: every label is then fitted without residual.
    """
    parts: dict[str, list[np.ndarray]] = {"psi": [], "y": [], "psi_v": [], "y_v": []}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for n, suffix in ((N, ""), (M, "_v")):
            y = rng.choice([-1.0, 1.0], n)
            a = np.where(rng.random(n) < 0.8, y, -y)
            columns = [a + noise * rng.standard_normal(n), rng.standard_normal(n)]
            columns += [np.full(n, intercept), 0.5 * rng.standard_normal(n)]
            parts["psi" + suffix].append(np.stack(columns, axis=1))
            parts["y" + suffix].append(y)
    psi, y, psi_v, y_v = (torch.from_numpy(np.stack(p)) for p in parts.values())
    return problem(psi, y, psi_v, y_v)


def problem(psi: Tensor, y: Tensor, psi_v: Tensor, y_v: Tensor) -> Problem:
    """Psi as it stands: u need not be orthonormal for the iterations; f_0 is not zero."""
    f0, f0_v = torch.full_like(y, 0.05), torch.full_like(y_v, -0.05)
    scale = psi.new_ones(len(psi), psi.shape[-1])
    seeds = list(range(len(psi)))
    return Problem(psi, scale, psi_v, f0, f0_v, y, y_v, "classification", seeds)


def with_psi(base: Problem, psi: Tensor, psi_v: Tensor) -> Problem:
    return replace(base, u=psi, psi_validation=psi_v)


def dimensions(*per_seed: list[int]) -> Tensor:
    return torch.tensor(per_seed)


def same(left: Environments, right: Environments) -> None:
    for name in FLOATS:
        torch.testing.assert_close(getattr(left, name), getattr(right, name), rtol=1e-7, atol=1e-9)
    for name in COUNTS:
        assert torch.equal(getattr(left, name), getattr(right, name)), name


def test_the_planted_split_is_found() -> None:
    data = planted([0, 1, 2])
    options = Clustering(restarts=10, tolerance=1e-7)
    found = explore(data, dimensions(*[[2, 4]] * 3), options, iteration=1)
    assert found.k.tolist() == [[2, 4]] * 3
    assert found.train.shape == (3, 2, N, 2)
    assert found.validation.shape == (3, 2, M, 2)
    assert bool(found.usable.all())
    assert float(found.label_information.max()) < 0.05
    for psi, y, r in (
        (data.psi_train, data.y, found.train),
        (data.psi_validation, data.y_validation, found.validation),
    ):
        agrees = (psi[..., 0] > 0) == (y > 0)
        hits = (r[..., 0] > 0.5) == agrees.unsqueeze(1)
        share = hits.double().mean(-1)
        assert float(torch.maximum(share, 1 - share).min()) == 1  # either one may come first
        torch.testing.assert_close(r.sum(-1), torch.ones_like(r[..., 0]))


def test_likelier_label_splits_are_set_aside() -> None:
    data, k = planted([0], noise=0.5), dimensions([4])
    chosen = explore(data, k, Clustering(restarts=20, ridge=[1e-3]), iteration=1)
    assert 0 < int(chosen.n_label_split) < int(chosen.n_starts) == 20
    assert bool(chosen.usable.all())
    assert float(chosen.label_information) < 0.1
    # by likelihood alone a label split would have won
    blind = Clustering(restarts=20, ridge=[1e-3], max_label_information=1.0)
    likeliest = explore(data, k, blind, iteration=1)
    assert float(likeliest.label_information) > 0.9
    assert float(likeliest.held_out) > float(chosen.held_out) + 0.5
    assert int(likeliest.n_label_split) == 0


def test_without_any_usable_start_the_likeliest_stands_in() -> None:
    data = planted([0, 1])
    psi, psi_v = data.psi_train.clone(), data.psi_validation.clone()
    psi[1, :, [0, 1, 3]] = 0  # only the constant is left: nothing but the label can be split
    psi_v[1, :, [0, 1, 3]] = 0
    data, k = with_psi(data, psi, psi_v), dimensions([4], [4])
    # the starts lie near a saddle, which an estimated sigma leaves slowly
    options = Clustering(restarts=4, ridge=[1e-3, 1e-2], sigma=0.5)
    found = explore(data, k, options, iteration=1)
    assert found.usable.tolist() == [[True], [False]]
    assert found.n_label_split[1].item() == found.n_starts[1].item() == 8
    assert float(found.label_information[1]) > 0.9
    for name in FLOATS:
        assert bool(getattr(found, name).isfinite().all()), name
    blind = options.model_copy(update={"max_label_information": 1.0})
    likeliest = explore(data, k, blind, iteration=1)
    assert found.held_out[1].item() == likeliest.held_out[1].item()


@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_every_start_is_fitted_and_the_best_usable_one_wins(noise: float) -> None:
    data = planted([0, 2], noise)
    options = Clustering(restarts=6, ridge=[1e-3, 1e-1], clusters=3, min_share=0.35)
    found = explore(data, dimensions([3], [3]), options, iteration=2)
    bins = label_bins(data.y)
    for b in range(2):
        psi, y = data.psi_train[b : b + 1, :, :3], data.target[b : b + 1]
        psi_v, y_v = data.psi_validation[b, :, :3], data.target_validation[b]
        starts = random_starts([b], 6, N, 3, "t=2", "k=3")
        fits = [
            (ridge, fit_mixture(psi, y, starts[:, i : i + 1], ridge=ridge).take(0, 0))
            for ridge in options.ridge
            for i in range(6)
        ]
        responsibilities = [fit.responsibilities(psi[0], y[0]) for _, fit in fits]
        information = [float(label_information(r, bins[b])) for r in responsibilities]
        split = [value > 0.5 for value in information]
        empty = [int((f.weights >= 0.35).sum()) < 2 for _, f in fits]
        held_out = [float(f.log_likelihood(psi_v, y_v)) for _, f in fits]
        fine = [i for i in range(12) if not (split[i] or empty[i])]
        best = max(fine or range(12), key=lambda i: held_out[i])
        ridge, winner = fits[best]
        row = found.take(b, 0)
        assert int(row.n_label_split) == sum(split)
        assert int(row.n_empty) == sum(empty)
        assert int(row.n_unconverged) == sum(not bool(f.converged) for _, f in fits)
        assert bool(row.usable) == bool(fine)
        assert float(row.ridge) == ridge
        assert float(row.held_out) == pytest.approx(held_out[best], abs=1e-8)
        assert float(row.objective) == pytest.approx(float(winner.objective), abs=1e-8)
        assert float(row.label_information) == pytest.approx(information[best], abs=1e-6)
        kept = (winner.weights >= 0.35).double() if fine else torch.ones(3, dtype=torch.float64)
        torch.testing.assert_close(row.train, kept * responsibilities[best])
        torch.testing.assert_close(row.validation, kept * winner.responsibilities(psi_v, y_v))


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ({"max_label_information": 0.0}, "n_label_split"),
        ({"min_share": 1.0}, "n_empty"),
        ({"max_iterations": 1}, "n_unconverged"),
    ],
)
def test_starts_of_each_kind_are_counted(options: dict[str, Any], counted: str) -> None:
    clustering = Clustering(restarts=3, ridge=[1e-3, 1e-2, 1e-1], **options)
    found = explore(planted([0]), dimensions([2, 4]), clustering, iteration=1)
    assert found.n_starts.tolist() == [[9, 9]]
    for name in ("n_label_split", "n_empty", "n_unconverged"):
        assert getattr(found, name).tolist() == ([[9, 9]] if name == counted else [[0, 0]])
    # a fit that ran out of steps is told, and stays usable
    assert found.usable.tolist() == [[counted == "n_unconverged"] * 2]


def test_an_emptied_environment_is_dropped_and_the_others_stay() -> None:
    # two environments are planted, a third is too many
    data, k = planted([0, 1]), dimensions([2], [2])
    options = Clustering(clusters=3, min_share=0.1, max_iterations=2000, tolerance=1e-9)
    found = explore(data, k, options, iteration=1)
    whole = explore(data, k, options.model_copy(update={"min_share": 0.0}), iteration=1)
    assert bool(found.usable.all())
    torch.testing.assert_close(found.held_out, whole.held_out)
    for got, all_three in ((found.train, whole.train), (found.validation, whole.validation)):
        dropped = whole.train.mean(-2) < 0.1
        assert dropped.sum(-1).tolist() == [[1], [1]]
        kept = ~dropped.unsqueeze(-2)
        torch.testing.assert_close(got, all_three * kept)


def test_one_environment_alone_is_not_empty() -> None:
    found = explore(planted([0]), dimensions([2]), Clustering(clusters=1, restarts=2), iteration=1)
    assert bool(found.usable.all())
    assert found.n_empty.item() == 0


def test_data_sets_do_not_touch_each_other() -> None:
    options = Clustering(restarts=4)
    k = dimensions([2, 4], [2, 4], [2, 4])
    together = explore(planted([5, 6, 7], noise=0.5), k, options, iteration=1)
    # data set 1 in other company, and data set 0 alone
    same(together.take(1), explore(planted([8, 6, 9], 0.5), k, options, iteration=1).take(1))
    same(together.take([0]), explore(planted([5], 0.5), k[:1], options, iteration=1))


def test_a_candidate_uses_the_first_columns_alone() -> None:
    data, options = planted([0, 1]), Clustering(restarts=3)
    found = explore(data, dimensions([2, 3], [2, 3]), options, iteration=1)
    psi, psi_v = data.psi_train.clone(), data.psi_validation.clone()
    psi[..., 3:], psi_v[..., 3:] = 100, -100
    same(found, explore(with_psi(data, psi, psi_v), found.k, options, iteration=1))
    # in whatever order, and every seed has its own candidates
    mixed = explore(data, dimensions([3, 2], [2, 4]), options, iteration=1)
    same(mixed.take(0, [1, 0]), found.take(0))
    same(mixed.take(1, 0), found.take(1, 0))
    assert mixed.k.tolist() == [[3, 2], [2, 4]]


def test_the_last_direction_is_projected_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []

    def watch(psi: Tensor, *args: Any, **options: Any) -> Any:
        seen.append(psi)
        return fit_mixture(psi, *args, **options)

    monkeypatch.setattr(exploration, "fit_mixture", watch)
    data, options = planted([0, 1]), Clustering(restarts=3)
    k = dimensions([3], [4])
    theta = torch.tensor([[0.3, -1.0, 2.0, 0.0], [1.0, 0.5, 0.0, -0.2]], dtype=torch.float64)
    found = explore(data, k, options, iteration=2, thetas=[theta])
    for psi, b, width in zip(seen, (0, 1), (3, 4), strict=True):
        assert psi.shape == (1, N, width)
        assert float((psi[0] @ theta[b, :width]).abs().max()) < 1e-9
    # so what training and validation points have along theta does not matter
    rng = np.random.default_rng(0)
    along, along_v = (torch.from_numpy(rng.standard_normal((2, n, 1))) for n in (N, M))
    shifted = with_psi(
        data,
        data.psi_train + along * theta[:, None],
        data.psi_validation + along_v * theta[:, None],
    )
    same(found, explore(shifted, k, options, iteration=2, thetas=[theta]))
    plain, moved = (explore(p, k, options, iteration=2) for p in (data, shifted))
    assert not torch.allclose(plain.held_out, moved.held_out)


def test_the_unit_of_psi_does_not_matter() -> None:
    data, k, options = planted([0, 1]), dimensions([2, 4], [2, 4]), Clustering(restarts=3)
    psi, psi_v = data.psi_train, data.psi_validation
    scaled = with_psi(data, 1e3 * psi, 1e3 * psi_v)
    same(explore(data, k, options, iteration=1), explore(scaled, k, options, iteration=1))


def test_starts_depend_on_iteration_and_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []

    def watch(psi: Tensor, y: Tensor, start: Tensor, **options: Any) -> Any:
        seen.append(start)
        return fit_mixture(psi, y, start, **options)

    monkeypatch.setattr(exploration, "fit_mixture", watch)
    data, options = planted([0, 1]), Clustering(restarts=3, ridge=[1e-3, 1e-2])
    for iteration in (1, 2, 1):
        explore(data, dimensions([2, 4], [2, 4]), options, iteration=iteration)
    first_2, first_4, second_2, again_2, again_4 = (
        torch.cat([seen[i], seen[i + 2]]) for i in (0, 1, 4, 8, 9)
    )
    assert torch.equal(first_2, again_2)
    assert torch.equal(first_4, again_4)
    assert not torch.equal(first_2, first_4)
    assert not torch.equal(first_2, second_2)
    assert not torch.equal(first_2[0], first_2[1])
    assert torch.equal(first_2[:, :3], first_2[:, 3:])  # every ridge has the same starts


def test_the_same_call_gives_the_same_bits() -> None:
    data, k, options = planted([0, 3], 0.5), dimensions([2, 4], [2, 4]), Clustering(restarts=4)
    first, second = (explore(data, k, options, iteration=1).to_arrays() for _ in range(2))
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


NESTED = Clustering(restarts=6, ridge=[1e-3, 1e-2], starts="nested", tolerance=1e-9)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    seen: list[Tensor] = []

    def watch(psi: Tensor, y: Tensor, start: Tensor, **options: Any) -> Any:
        seen.append(start[0])
        return fit_mixture(psi, y, start, **options)

    monkeypatch.setattr(exploration, "fit_mixture", watch)
    return seen


def test_nested_starts_begin_with_the_environments_of_the_dimension_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, data = watched(monkeypatch), planted([0, 1], noise=0.5)
    found = explore(data, dimensions([2, 3, 4], [2, 3, 4]), NESTED, iteration=1)
    usual = explore(
        data, dimensions([2], [2]), NESTED.model_copy(update={"starts": "random"}), iteration=1
    )
    same(found.take(slice(None), slice(0, 1)), usual)
    assert [len(s) for s in seen[:6]] == [12, 2, 2] * 2
    for b in range(2):
        for g in (1, 2):
            for start in seen[3 * b + g]:  # every ridge has the same one
                torch.testing.assert_close(start, found.train[b, g - 1])
    assert bool(found.usable.all())
    assert float(found.label_information.max()) < 0.1


def test_nested_starts_are_random_again_after_a_split_that_is_no_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = planted([0])
    psi, psi_v = data.psi_train.clone(), data.psi_validation.clone()
    psi, psi_v = psi[..., [2, 0, 1, 3]], psi_v[..., [2, 0, 1, 3]]  # first the constant alone
    seen = watched(monkeypatch)
    options = NESTED.model_copy(update={"sigma": 0.5})
    found = explore(with_psi(data, psi, psi_v), dimensions([1, 3]), options, iteration=1)
    assert found.usable.tolist() == [[False, True]]
    assert [len(s) for s in seen] == [12, 12]


def test_a_later_iteration_begins_with_the_last_ones_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, options = planted([0, 1]), KerHRM(k=[2, 4], clustering=NESTED)
    first = learn_environments(data, options, 1, None)
    last = learn_directions(data, [first], options.invariance)
    seen = watched(monkeypatch)
    learn_environments(data, options, 2, last, first)
    for b, start in enumerate(seen):
        g = first.k[b].tolist().index(int(last.winner.k[b]))
        torch.testing.assert_close(start, first.train[b, g].expand(2, -1, -1))


def test_environments_that_were_dropped_are_no_part_of_a_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, seen = planted([0]), watched(monkeypatch)
    options = NESTED.model_copy(update={"clusters": 3, "min_share": 0.3})
    found = explore(data, dimensions([2, 4]), options, iteration=1)
    assert float(found.train[0, 0].sum(-1).min()) < 0.9  # some points' own was dropped
    torch.testing.assert_close(seen[1].sum(-1), torch.ones_like(seen[1][..., 0]))


@pytest.mark.parametrize("starts", ["random", "nested"])
def test_small_problems_side_by_side_have_the_bits_of_one_thread(starts: str) -> None:
    own, k = planted([0, 1, 2]), dimensions([2, 4], [3, 4], [2, 3])
    options = Clustering(restarts=3, ridge=[1e-2], starts=starts)  # type: ignore[arg-type]
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = explore(own, k, options, iteration=1)
        torch.set_num_threads(2)
        many = explore(own, k, options, iteration=1)
    finally:
        torch.set_num_threads(before)
    for name in Environments.names():
        assert torch.equal(getattr(one, name), getattr(many, name)), name
