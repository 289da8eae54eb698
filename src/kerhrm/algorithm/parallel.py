"""Small problems side by side: products of a few thousand points do not fill two cores."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from kerhrm.storage.checkpoints import recording

Task = TypeVar("Task")
Result = TypeVar("Result")


def side_by_side(compute: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """Results of all tasks, in their order, a thread of PyTorch's for each instead of all for one.

    Tasks must not depend on each other.  A result has the bits that one thread gives, however many
    there are.  In a job that can be resumed tasks go one after the other, on all its threads: the
    sections of its journal have an order.  The first exception is raised when the tasks that
    run have ended; none is begun after it.
    """
    threads = torch.get_num_threads()
    at_once = min(threads, len(tasks))
    if at_once < 2 or recording():
        return [compute(task) for task in tasks]
    torch.set_num_threads(1)  # of this thread, and of those that begin now
    try:
        with ThreadPoolExecutor(at_once, "kerhrm") as pool:
            futures = [pool.submit(compute, task) for task in tasks]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
    finally:
        torch.set_num_threads(threads)
