"""The divergence between environments against a loop and known cases; rows of iterations."""

import math
from dataclasses import fields
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.released.train import ReleasedIteration
from kerhrm.scoring.iterations import divergence, of_winner
from kerhrm.scoring.metrics import COLUMNS
from kerhrm.scoring.scores import score_setting
from kerhrm.storage.arrays import save_arrays

B, N = 3, 30


def draw(k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responsibilities, labels and attribute."""
    rng = np.random.default_rng(seed)
    r = rng.dirichlet(np.full(k, 0.3), (B, N))
    y = rng.choice([-1.0, 1.0], (B, N))
    return r, y, rng.choice([0, 1], (B, N), p=[0.3, 0.7])


def by_loop(r: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """One seed, as the formula reads."""
    n_environments = r.shape[1]
    total = 0.0
    for e, f in permutations(range(n_environments), 2):
        for colour in (0, 1):
            share = sum(1 for own in c if own == colour) / len(c)

            def p(environment: int, label: float, colour: int = colour) -> float:
                points = [i for i in range(len(y)) if c[i] == colour]
                count = sum(r[i, environment] for i in points if y[i] == label)
                return (count + 0.5) / (sum(r[i, environment] for i in points) + 1)

            for label in (-1.0, 1.0):
                total += share * p(e, label) * math.log(p(e, label) / p(f, label))
    return total / (n_environments * (n_environments - 1))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_divergence_by_a_loop(k: int) -> None:
    r, y, c = draw(k)
    found = divergence(r, y, c)
    assert found.shape == (B,)
    for b in range(B):
        expected = by_loop(r[b], y[b], c[b])
        assert float(found[b]) == pytest.approx(expected)


def test_identical_environments_do_not_differ() -> None:
    _, y, c = draw(2)
    np.testing.assert_allclose(divergence(np.full((B, N, 3), 1 / 3), y, c), 0, atol=1e-12)
    # copies of the same points, hard assignments
    halves = np.broadcast_to(np.repeat(np.eye(2), N, axis=0), (B, 2 * N, 2))
    twice = divergence(halves, np.tile(y, 2), np.tile(c, 2))
    np.testing.assert_allclose(twice, 0, atol=1e-12)


def split_by_colour(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Environment 0 has colour = label throughout, environment 1 the opposite; 2 n points each."""
    y = np.tile([-1.0, 1.0], 2 * n)
    environment = np.repeat([0, 1], 2 * n)
    c = np.where(environment == 0, y > 0, y < 0).astype(int)
    return np.eye(2)[environment][None], y[None], c[None]


def test_environments_without_overlap_are_finitely_far_apart() -> None:
    values = []
    for n in (10, 100, 1000):
        (value,) = divergence(*split_by_colour(n)).tolist()
        # each colour of an environment has n points of one label
        p = (n + 0.5) / (n + 1)
        assert value == pytest.approx((2 * p - 1) * math.log(p / (1 - p)))
        values.append(value)
    assert 2 < values[0] < values[1] < values[2] < 8


def test_splitting_by_colour_alone_changes_little() -> None:
    """P(Y | C) is what counts: environments of one colour each share no conditional."""
    y = np.tile([-1.0, 1.0], 500)[None]
    c = np.repeat([0, 1], 500)[None]
    assert float(divergence(np.eye(2)[c], y, c)[0]) == pytest.approx(0, abs=1e-6)


def test_a_single_environment_has_none_to_differ_from() -> None:
    _, y, c = draw(2)
    assert np.isnan(divergence(np.ones((B, N, 1)), y, c)).all()


def test_an_environment_that_was_dropped_does_not_count() -> None:
    r, y, c = draw(3)
    r[0, :, 1] = 0
    r[1, :, :2] = 0  # which leaves one
    found = divergence(r, y, c)
    assert found[0] == pytest.approx(divergence(r[..., [0, 2]], y, c)[0])
    assert math.isnan(float(found[1]))
    assert found[2] == pytest.approx(divergence(*draw(3))[2])


@given(seed=st.integers(0, 10**6), k=st.integers(2, 4))
def test_names_and_order_do_not_matter(seed: int, k: int) -> None:
    r, y, c = draw(k, seed)
    value = divergence(r, y, c)
    assert bool((value >= 0).all())
    rng = np.random.default_rng(seed)
    environments, points = rng.permutation(k), rng.permutation(N)
    same = [
        divergence(r[..., environments], y, c),
        divergence(r[:, points], y[:, points], c[:, points]),
        divergence(r, -y, c),
        divergence(r, y, 1 - c),
    ]
    np.testing.assert_allclose(same, [value] * 4)


# the rows of a run

SEEDS, SIDE, K_MAX = [7, 3], 2, 4
SIZES = {"train": 24, "validation": 6, "test": 10}
CANDIDATES = [2, 4]


def labels(part: str) -> np.ndarray:
    rng = np.random.default_rng(len(part))
    return rng.choice([-1.0, 1.0], (len(SEEDS), SIZES[part])).astype(np.float32)


def channels() -> np.ndarray:
    return np.random.default_rng(5).choice([0, 1], (len(SEEDS), SIZES["train"]))


def problem() -> tuple[Problem, TestFeatures]:
    psi = [torch.randn(len(SEEDS), n, K_MAX, dtype=torch.float64) for n in SIZES.values()]
    f0 = [torch.randn(len(SEEDS), n, dtype=torch.float64) for n in SIZES.values()]
    scale = torch.ones(len(SEEDS), K_MAX).double()
    y, y_validation = (torch.from_numpy(labels(p)).double() for p in ("train", "validation"))
    known = Problem(psi[0], scale, psi[1], *f0[:2], y, y_validation, "classification", SEEDS)
    return known, TestFeatures(psi[2], f0[2])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    facts = {
        "seeds": SEEDS,
        "task": "classification",
        "source": "mnist",
        "test_environments": ["e=0.90"],
    }
    images = np.zeros((*channels().shape, 2, SIDE**2), np.float32)
    images += 0.8 * (channels()[..., None, None] == np.arange(2)[:, None])
    contents = {
        "train": {"x": images.reshape(*channels().shape, -1), "y": labels("train")},
        "validation": {"y": labels("validation")},
        "test_labels": {
            "y": labels("test"),
            "environment": np.zeros((len(SEEDS), SIZES["test"]), np.int8),
            "unit": np.ones(len(SEEDS)),
        },
    }
    for name, arrays in contents.items():
        save_arrays(tmp_path / f"{name}.npz", arrays, facts)
    return {name: tmp_path / f"{name}.npz" for name in contents}


def learned() -> Environments:
    train = torch.rand(len(SEEDS), len(CANDIDATES), SIZES["train"], 3, dtype=torch.float64)
    blank = {
        f.name: torch.zeros(len(SEEDS), len(CANDIDATES), dtype=torch.float64)
        for f in fields(Environments)
    }
    k = torch.tensor(CANDIDATES).expand(len(SEEDS), -1)
    return Environments(**blank | {"k": k, "train": train / train.sum(-1, keepdim=True)})


def directions(chosen: list[int]) -> Directions:
    """Two alphas for each k."""
    number = torch.zeros(len(SEEDS), 4, dtype=torch.float64)
    theta = torch.randn(len(SEEDS), 4, K_MAX, dtype=torch.float64)
    k = torch.tensor(CANDIDATES).repeat_interleave(2).expand(len(SEEDS), -1)
    return Directions(theta, k, number, number, torch.tensor(chosen))


def test_the_environments_are_those_of_the_chosen_k() -> None:
    environments = learned()
    found = of_winner(environments.to_arrays(), directions([1, 2]).to_arrays())
    np.testing.assert_array_equal(found, environments.train[[0, 1], [0, 1]])


@pytest.mark.parametrize("generator", ["colored_mnist", "classification"])
def test_every_iteration_has_its_rows(
    files: dict[str, Path], tmp_path: Path, generator: str
) -> None:
    known, test = problem()
    runs = [(learned(), directions(c)) for c in ([1, 2], [3, 0], [0, 0])]
    paths: dict[str, Any] = files | {n: tmp_path / n for n in ("features", "test_features")}
    known.save(paths["features"])
    test.save(paths["test_features"])
    begin = torch.randn(len(SEEDS), K_MAX, dtype=torch.float64)
    others = [torch.randn(len(SEEDS), K_MAX, dtype=torch.float64) for _ in range(2)]
    members = torch.eye(2, dtype=torch.float64)[torch.from_numpy(channels())]
    paths["pooled"], paths["released"] = tmp_path / "pooled", tmp_path / "released"
    blank = torch.zeros(len(SEEDS))
    FinalDirection(begin, blank, blank, blank, blank).save(paths["pooled"])
    ReleasedIteration.stack(ReleasedIteration(members, own) for own in others).save(
        paths["released"]
    )
    for name, records in zip(("environments", "theta"), zip(*runs, strict=True), strict=True):
        paths[name] = [tmp_path / f"{name}{t}" for t in range(len(runs))]
        for path, record in zip(paths[name], records, strict=True):
            record.save(path)
    data = {"generator": generator}
    scores = score_setting(
        "a,b=1", paths, protocol="iterations", seeds=["p", "q"], data=data, shown={}, bounds=()
    )
    assert list(scores.columns) == COLUMNS
    assert list(scores.index) == list(range(len(scores)))
    for column, value in (("data_source", "mnist"), ("reason", "")):
        assert set(scores[column]) == {value}
    assert scores["value"].dtype == np.float64
    has_colour = generator == "colored_mnist"
    every = scores.set_index(["method", "setting", "metric", "seed"])["value"]
    assert not every.index.has_duplicates
    assert len(every) == ((len(runs) + len(others)) * (2 + has_colour) + 2) * len(SEEDS)
    points = {"train": (known.psi_train, known.f0_train), "test": (test.psi, test.f0)}
    released = every["KerHRM (released)"]
    for t, theta in enumerate(others, start=1):
        for b, seed in enumerate(["p", "q"]):
            at = f"iteration={t},b=1"
            hits = ((test.f0[b] + test.psi[b] @ theta[b]).numpy() > 0) == (labels("test")[b] > 0)
            assert released[at, "test_acc", seed] == pytest.approx(hits.mean())
            if has_colour:
                own = members[b].numpy()
                assert released[at, "d_kl", seed] == pytest.approx(
                    by_loop(own, labels("train")[b], channels()[b])
                )
    cells = every["KerHRM (NTF)"]
    for b, seed in enumerate(["p", "q"]):  # before the first iteration
        hits = ((test.f0[b] + test.psi[b] @ begin[b]).numpy() > 0) == (labels("test")[b] > 0)
        assert cells["iteration=0,b=1", "test_acc", seed] == pytest.approx(hits.mean())
        assert ("iteration=0,b=1", "d_kl", seed) not in cells.index
    for t, (found, chosen) in enumerate(runs, start=1):
        for b, seed in enumerate(["p", "q"]):
            at = f"iteration={t},b=1"
            winner = int(chosen.chosen[b])
            theta = chosen.theta[b, winner]
            for part, (psi, f0) in points.items():
                hits = ((f0[b] + psi[b] @ theta).numpy() > 0) == (labels(part)[b] > 0)
                assert cells[at, f"{part}_acc", seed] == pytest.approx(hits.mean())
            if has_colour:
                r = found.train[b, winner // 2].numpy()
                expected = by_loop(r, labels("train")[b], channels()[b])
                assert cells[at, "d_kl", seed] == pytest.approx(expected)
