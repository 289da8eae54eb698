"""A recorded step, with a stand-in for the graph where there is no GPU."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kerhrm.networks.captured import WARM_STEPS, CapturedStep

CPU = torch.device("cpu")


class StandIn:
    """Replays by calling what was recorded; refuses a broken recording's end."""

    recorded: Callable[[], None]
    n_recordings = 0

    def capture_begin(self, capture_error_mode: str) -> None:
        assert capture_error_mode == "thread_local"
        type(self).n_recordings += 1

    def capture_end(self) -> None:
        if not hasattr(self, "recorded"):
            raise RuntimeError("the recording has failed")

    def replay(self) -> None:
        self.recorded()


def test_it_records_once_and_replays_with_the_number_of_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = StandIn()
    StandIn.n_recordings = 0
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graph)
    loss = torch.zeros(())
    eager: list[int] = []

    def step(number: int | Tensor) -> Tensor:
        if isinstance(number, int):
            eager.append(number)
            return loss.fill_(10 * number)
        graph.recorded = lambda: loss.copy_(10 * number)
        return loss

    captured = CapturedStep(step, CPU)
    losses = [float(captured(number)) for number in range(1, 8)]
    assert losses == [10, 20, 30, 40, 50, 60, 70]
    assert eager == list(range(1, WARM_STEPS + 1))
    assert StandIn.n_recordings == 1


def test_an_error_of_the_step_is_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the card's memory that is too small, not the recording's that it breaks."""
    monkeypatch.setattr(torch.cuda, "CUDAGraph", StandIn)

    def step(number: int | Tensor) -> Tensor:
        if isinstance(number, int):
            return torch.zeros(())
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    captured = CapturedStep(step, CPU)
    for number in range(1, WARM_STEPS + 1):
        captured(number)
    with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory"):
        captured(WARM_STEPS + 1)
