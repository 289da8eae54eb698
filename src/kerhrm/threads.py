"""Thread pools of the numerical libraries.

They belong to the process, whose Python threads may compute at once.  A limit that each
thread set and took back by itself would end while another one still computes, or never
end.  So threads that want a limit are counted: the first sets it, the last restores
what was there before.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None
_torch_users = 0
_torch_default = 0
_here = threading.local()  #: ``number`` of PyTorch's threads that this thread has set


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread for NumPy's and SciPy's BLAS.

    Its other threads would spin for a while after each product and take the cores from
    PyTorch's; and with their number the rounding of a product changes.
    """
    global _blas_users, _blas_limit
    with _lock:
        if _blas_users == 0:
            _take_control()
            _blas_limit = _limit("blas", 1)
        _blas_users += 1
    try:
        yield
    finally:
        with _lock:
            _blas_users -= 1
            if _blas_users == 0:
                _take_control()
                _blas_limit.restore_original_limits()
                _blas_limit = None


@contextlib.contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """PyTorch and OpenMP on ``number`` threads, in this Python thread.

    PyTorch also takes the number for Python threads that start in the meantime, which
    is why the one from before the first user is restored; within another such block
    of the same Python thread, that block's.
    """
    import torch

    global _torch_users, _torch_default
    around = getattr(_here, "number", None)
    with _lock:
        if _torch_users == 0:
            _torch_default = torch.get_num_threads()
        _torch_users += 1
    _here.number = number
    torch.set_num_threads(number)
    try:
        with _limit("openmp", number):
            yield
    finally:
        with _lock:
            _torch_users -= 1
            _here.number = around
            torch.set_num_threads(around or _torch_default)


def _limit(kind: str, number: int) -> Any:
    """Limit the libraries of one kind, and, at the end, restore these alone.

    ``threadpool_limits`` would restore those of all kinds.
    """
    return ThreadpoolController().select(user_api=kind).limit(limits=number)


def _take_control() -> None:
    """Let this thread set OpenBLAS's limit, whichever thread has set it before.

    From version 3.8 on threadpoolctl hears the first thread that sets one, and no other
    until that one is done.  Here the count under the lock does what that is for.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
