"""A step of training as a CUDA graph: recorded once, then launched as a whole.

The host takes about two milliseconds to launch the hundred kernels of a step one by
one, more than a GPU needs to run them with a few thousand points.  The graph runs the
same kernels on the same memory.
"""

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

#: steps before the recording, in which PyTorch's libraries allocate what they keep
WARM_STEPS = 3


@contextlib.contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Work in a stream that can be recorded, which the default one cannot."""
    stream = torch.cuda.Stream(device)
    outer = torch.cuda.current_stream(device)
    stream.wait_stream(outer)
    try:
        with torch.cuda.stream(stream):
            yield
    finally:
        outer.wait_stream(stream)


class CapturedStep:
    """A step that runs as it is at first, and as a graph later.

    Parameters
    ----------
    step : callable
        Of the step's number 1, 2, ... to its loss (); it works in place, on the same
        tensors each time.  While it is recorded the number is a tensor ().
    device : torch.device
        The GPU.
    """

    def __init__(self, step: Callable[[int | Tensor], Tensor], device: torch.device):
        self.step = step
        self.number = torch.zeros((), device=device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.loss = torch.zeros((), device=device)

    def __call__(self, step: int) -> Tensor:
        """Take the step; its loss is overwritten by the next one."""
        if step <= WARM_STEPS:
            return self.step(step)
        if self.graph is None:
            self.graph = self._record()
        self.number.fill_(step)
        self.graph.replay()
        return self.loss

    def _record(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        # other threads may use the GPU meanwhile
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            self.loss = self.step(self.number)
        except BaseException:  # which says more than that the recording has failed
            with contextlib.suppress(RuntimeError):
                graph.capture_end()
            raise
        graph.capture_end()
        return graph
