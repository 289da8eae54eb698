"""How a fit or a prediction computes, whatever the caller has set in its process."""

import contextlib
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from joblib import cpu_count, effective_n_jobs

from kerhrm.errors import KerhrmError, shown
from kerhrm.threads import one_blas_thread, torch_threads


@contextlib.contextmanager
def computation(n_jobs: Any) -> Iterator[None]:
    """Compute on so many cores, by PyTorch's and NumPy's own settings.

    Gradients can be taken, new tensors lie on the CPU, products keep their precision,
    and rounding raises nothing, also where the caller has switched gradients off, set
    another device, or uses autocast.  Afterwards all is as the caller had it.

    Raises KerhrmError as :func:`cores`.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(cores(n_jobs))
        stack.enter_context(torch.inference_mode(False))  # and gradients on
        stack.enter_context(np.errstate(all="warn", under="ignore"))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


@contextlib.contextmanager
def cores(n_jobs: Any) -> Iterator[None]:
    """Threads of PyTorch; None: as many as it takes by itself, -1: all.

    No more than there are cores: they would wait for each other.

    Raises KerhrmError if n_jobs is zero or not a whole number.
    """
    if n_jobs is None:
        with one_blas_thread():
            yield
        return
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0:
        problem = f"n_jobs must be a whole number other than 0; got {shown(n_jobs)}"
        raise KerhrmError(problem, "use -1 for all cores")
    most = cpu_count()
    number = effective_n_jobs(max(-most, min(int(n_jobs), most)))
    with torch_threads(number), one_blas_thread():
        yield
