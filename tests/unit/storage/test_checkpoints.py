"""Interrupted at any step, a job ends with the same bits as without."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.data.dataset import Task
from kerhrm.data.samples import Samples
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.storage import checkpoints
from kerhrm.storage.arrays import load_arrays
from kerhrm.storage.checkpoints import Stopped, begin, opened

TASK: Task = "classification"
OPTIONS = ERM(steps=7, evaluate_every=2)
STEPS = 3 * (OPTIONS.steps + 1)  # offers of three networks: every step, and the end


def stop_at(offer: int) -> Callable[[], str | None]:
    """Stop at the n-th offer, counted from 0."""
    count = iter(range(10**6))
    return lambda: "stopped" if next(count) == offer else None


def samples() -> Samples:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((3, 20, 2)).astype(np.float32))
    return Samples(x, x[..., 0].sign(), x[:, :9], -x[:, :9, 0].sign(), None, [0, 1, 2], TASK)


def train() -> MLP:
    return train_erm(samples(), init_mlp([0, 1, 2], (2, 5, 1)), OPTIONS, [OPTIONS.steps])[0]


def same(a: MLP, b: MLP) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@settings(max_examples=15, deadline=None)
@given(stops=st.lists(st.integers(0, STEPS - 1), min_size=1, max_size=4))
def test_training_goes_on_bit_for_bit(
    stops: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("job") / "state.npz"
    expected = train()
    for stop in stops:
        try:
            with opened(path, should_stop=stop_at(stop)):
                result = train()
        except Stopped:
            assert path.exists()
            continue
        assert same(result, expected)
    with opened(path):
        result = train()
    assert same(result, expected)
    assert not path.exists()


def test_work_that_was_done_is_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    with pytest.raises(Stopped), opened(path, should_stop=stop_at(10)):
        train()
    offers = 0

    def count() -> None:
        nonlocal offers
        offers += 1

    with opened(path, should_stop=count):
        train()
    # the first network is done, and three steps of the second
    assert offers == STEPS - (OPTIONS.steps + 1) - 3


def test_nothing_is_written_before_the_interval(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    with opened(path, interval=1e6):
        train()
        assert list(tmp_path.iterdir()) == []
    with opened(path, interval=0):
        section = begin("something")
        section.offer(lambda: {"x": np.arange(3)})
        arrays, facts = load_arrays(path)
        assert facts == {"finished": []}
        np.testing.assert_array_equal(arrays["0.x"], np.arange(3))
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_fails_leaves_its_state(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"

    def fail() -> None:
        with opened(path, interval=0):
            begin("something").finish(lambda: {"x": np.array(5)})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with opened(path):
        section = begin("something")
        assert section.finished
        assert section.saved is not None
        assert int(section.saved["x"]) == 5
        assert begin("another").saved is None


def test_outside_a_job_nothing_is_saved() -> None:
    section = begin("something")
    section.offer(lambda: pytest.fail("state was asked for"))
    section.finish(lambda: pytest.fail("result was asked for"))
    assert section.saved is None
    assert not section.finished
    assert checkpoints._current.get() is None


@settings(max_examples=6, deadline=None)
@given(stop=st.integers(0, 5))
def test_a_mixture_goes_on_bit_for_bit(stop: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(0)
    psi = torch.from_numpy(rng.standard_normal((3, 30, 4)))
    y = psi[..., 0] * torch.from_numpy(rng.choice([-1.0, 1.0], (3, 30)))
    start = random_starts([0, 1, 2], 4, 30, 2, "test")
    path = tmp_path_factory.mktemp("job") / "state.npz"
    expected = fit_mixture(psi, y, start, ridge=0.01)
    with contextlib.suppress(Stopped), opened(path, should_stop=stop_at(stop)):
        fit_mixture(psi, y, start, ridge=0.01)
    assert path.exists() == (stop < 3)
    with opened(path):
        again = fit_mixture(psi, y, start, ridge=0.01)
    for name in Mixture.names():
        assert torch.equal(getattr(again, name), getattr(expected, name)), name
