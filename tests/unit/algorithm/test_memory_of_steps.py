"""Memory that steps ask for before they start: the number, and real processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refusal

from kerhrm import KerHRMOptions, NetworkOptions, build, memory
from kerhrm.algorithm import clustering, igd
from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Direction, Memberships
from kerhrm.networks.training import train

N, M, K, D, WIDTH = 50_000, 10_000, 1000, 392, 1024
OPTIONS = KerHRMOptions(k=[K], n_init=10, clustering_ridge=[1e-3, 1e-2], alpha=[1.0])
PEAKS = Path(__file__).with_name("peak_of_step.py")
#: what problem, f_0 and labels take
OF_PROBLEM = 4 * (N * K + K + M * K + N + M) + 8 * (N + M)
OF_EM = 20 * 2 * N * 8  #: responsibilities of 20 mixtures of two environments


def of_any_size(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Zeros that take no memory, all of them one number."""
    return torch.zeros((), dtype=dtype).expand(shape)


@pytest.fixture
def problem() -> Problem:
    """That of all images of Colored MNIST, in single precision."""
    double = torch.float64
    return Problem(
        u=of_any_size(N, K),
        s=of_any_size(K),
        psi_validation=of_any_size(M, K),
        f0_train=of_any_size(N),
        f0_validation=of_any_size(M),
        y=of_any_size(N, dtype=double),
        y_validation=of_any_size(M, dtype=double),
        task="classification",
        seed=0,
    )


@pytest.fixture(autouse=True)
def _no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def works(*_: Any, **__: Any) -> None:
        pytest.fail("the step has begun")

    monkeypatch.setattr(Problem, "reduced", works)
    monkeypatch.setattr(clustering, "fit_starts", works)
    monkeypatch.setattr(igd, "train_igd", works)


def memory_of(monkeypatch: pytest.MonkeyPatch, n_bytes: float) -> None:
    monkeypatch.setattr(memory, "memory_limit", lambda: int(n_bytes))


def memberships() -> Memberships:
    return Memberships(
        k=torch.tensor([K]),
        train=of_any_size(1, N, 2, dtype=torch.float64),
        validation=of_any_size(1, M, 2, dtype=torch.float64),
        degenerate=torch.tensor([False]),
    )


def test_the_clustering_step_is_refused_with_the_number(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Psi and its squares in double precision, and the starts."""
    needed = OF_PROBLEM + 8 * (2 * N + M) * K + OF_EM
    memory_of(monkeypatch, needed - 1)
    words = r"\(M_c\) of 50000 points with k=1000 needs at least 1.1 GB of memory, "
    with refusal(words + "and there are 1.1 GB; use fewer points or a smaller k"):
        learn_environments(problem, OPTIONS, 1, [], [])
    memory_of(monkeypatch, needed)
    with pytest.raises(pytest.fail.Exception, match="has begun"):
        learn_environments(problem, OPTIONS, 1, [], [])


def test_what_the_caller_keeps_counts(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_of(monkeypatch, 3e9)
    refused = refusal("at least 3.1 GB of memory, and there are 3.0 GB")
    with memory.keeping(10**9), memory.keeping(10**9), refused:
        learn_environments(problem, OPTIONS, 1, [], [])
    with pytest.raises(pytest.fail.Exception, match="has begun"):
        learn_environments(problem, OPTIONS, 1, [], [])


def test_invariant_learning_is_refused_with_the_number(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_memberships = 8 * 2 * (N + M)
    needed = OF_PROBLEM + of_memberships + 8 * (2 * N + M) * K
    memory_of(monkeypatch, needed - 1)
    with refusal(r"\(M_p\) of 50000 points with k=1000 needs at least 1.1 GB"):
        learn_directions(problem, [memberships()], OPTIONS)
    memory_of(monkeypatch, needed)
    with pytest.raises(pytest.fail.Exception, match="has begun"):
        learn_directions(problem, [memberships()], OPTIONS)


def test_the_network_is_refused_with_the_number(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U in the precision of the points, the hidden layer, and the weights four times:
    w_0, those that are trained, and two moments."""
    network = build(NetworkOptions(widths=[WIDTH]), 0, D)
    x = of_any_size(N, D)
    x_validation = of_any_size(M, D)
    direction = Direction(torch.zeros(K), k=K, alpha=1.0, score=0.0, iteration=1)
    arguments = (network, x, x_validation, problem, direction, [memberships()])
    n_weights = WIDTH * (D + 2) + 1
    needed = OF_PROBLEM + 4 * ((N + M) * D + N * K + N * WIDTH + 4 * n_weights)
    memory_of(monkeypatch, needed - 1)
    with refusal("network on 50000 points with k=1000 .* 0.7 GB.*network.widths"):
        train_network(*arguments, OPTIONS)
    memory_of(monkeypatch, needed)
    with pytest.raises(pytest.fail.Exception, match="has begun"):
        train_network(*arguments, OPTIONS)


def test_any_training_is_refused_with_the_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two hidden layers of a million points."""
    network = build(NetworkOptions(widths=[WIDTH, WIDTH]), 0, 20)
    x = of_any_size(1_000_000, 20)
    memory_of(monkeypatch, 8e9)

    def loss(f: Any, network: Any, step: Any) -> Any:
        pytest.fail("the step has begun")

    with refusal("1000000 points needs at least 8.3 GB of memory, and there are 8.0"):
        train(network, x, loss, steps=1, learning_rate=0.1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells it")
@pytest.mark.parametrize("step", ["clustering", "later", "directions", "network"])
def test_a_process_needs_what_is_asked_for_and_not_twice_as_much(step: str) -> None:
    done = subprocess.run(
        [sys.executable, str(PEAKS), step],
        check=True,
        capture_output=True,
        text=True,
    )
    numbers = json.loads(done.stdout)
    assert numbers["peak"] / 2 < numbers["asked_for"] < numbers["peak"], numbers
