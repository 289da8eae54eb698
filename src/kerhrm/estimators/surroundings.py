"""Cores, random numbers and progress, as scikit-learn's users give them."""

import contextlib
import numbers
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits


@contextlib.contextmanager
def cores(n_jobs: int | None) -> Iterator[None]:
    """Compute on so many cores; None: as many as PyTorch takes by itself, -1: all."""
    if n_jobs is None:
        yield
        return
    number, before = effective_n_jobs(n_jobs), torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        with threadpool_limits(number):
            yield
    finally:
        torch.set_num_threads(before)


def seed_of(random_state: Any) -> int:
    """The number of all random streams: an integer itself, else drawn."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def progress(
    verbose: int | bool, title: str, total: int
) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """Show an iterable's progress by tqdm, if asked for and installed; else it passes through."""
    if not verbose:
        return lambda steps: steps
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError:
        return lambda steps: steps
    return lambda steps: tqdm(steps, desc=title, total=total, leave=verbose > 1)
