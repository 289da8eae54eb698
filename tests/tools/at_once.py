"""A function that several threads call at once."""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def at_once(function: Callable[[], T], n_threads: int, repeats: int = 1) -> list[T]:
    """Results of threads that all start together; an error of any is raised."""
    results: list[T] = []
    errors: list[BaseException] = []
    gate = threading.Barrier(n_threads)

    def work() -> None:
        gate.wait()
        try:
            for _ in range(repeats):
                results.append(function())
        except BaseException as error:
            errors.append(error)

    threads = []
    for _ in range(n_threads):
        threads.append(threading.Thread(target=work))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
