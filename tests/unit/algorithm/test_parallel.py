"""Tasks side by side: the results of one thread, in order, and nothing left behind."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.parallel import side_by_side
from kerhrm.storage.checkpoints import opened


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def product(seed: int) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    a = torch.randn(300, 200, generator=draw, dtype=torch.float64)
    return a.mT @ a


def test_results_are_those_of_one_thread() -> None:
    found = side_by_side(product, range(7))
    torch.set_num_threads(1)
    for seed, one in enumerate(found):
        assert torch.equal(one, product(seed))


def test_tasks_run_at_once_each_on_one_thread() -> None:
    both = threading.Barrier(2, timeout=30)  # passed only if two are there

    def meet(_: int) -> int:
        both.wait()
        return torch.get_num_threads()

    assert side_by_side(meet, range(4)) == [1, 1, 1, 1]
    assert torch.get_num_threads() == 2


def test_an_error_is_raised_and_the_threads_are_given_back() -> None:
    def fail(task: int) -> int:
        if task == 1:
            raise ValueError("task 1")
        return task

    with pytest.raises(ValueError, match="task 1"):
        side_by_side(fail, range(50))
    assert torch.get_num_threads() == 2
    assert threading.active_count() == 1


def test_in_a_job_sections_keep_their_order(tmp_path: Path) -> None:
    main = threading.current_thread()
    with opened(tmp_path / "state.npz"):
        assert side_by_side(lambda _: threading.current_thread() is main, range(3)) == [True] * 3
