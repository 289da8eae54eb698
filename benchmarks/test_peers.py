"""The same results by others, each compared with ours before its time counts."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils.extmath import randomized_svd

from benchmarks import cases, contenders
from benchmarks.cases import CMNIST, ROUNDS, STEPS, TABLE1, THREADS
from benchmarks.conftest import Time
from benchmarks.missing import NEURAL_TANGENTS, PEERS
from kerhrm.features.map import reduce
from kerhrm.networks.training import train

ROOT = Path(__file__).parents[1]
OURS = "kerhrm"
RATE = 1e-3
both = pytest.mark.parametrize("name", [TABLE1, CMNIST])


def module(name: str) -> torch.nn.Sequential:
    network = cases.inputs(name).network
    return contenders.as_module(network)


def singular_values(name: str) -> torch.Tensor:
    """Ours, from network and points."""
    points = cases.inputs(name)
    features = cases.ntf(points)
    kernel = features.kernel(features)
    _, values, *_ = reduce(kernel, cases.K[name])
    return values


def check_same(result: Any, expected: torch.Tensor, tolerance: float) -> None:
    difference = torch.as_tensor(result) - expected
    error = difference.abs().max()
    relative = error / expected.abs().max()
    assert float(relative) <= tolerance


#: the explicit matrix, which scikit-learn decomposes
LOOPS = {
    "authors' loop": contenders.released_loop,
    "torch.func": contenders.vmap_matrix,
}


@pytest.mark.parametrize("who", [OURS, *LOOPS])
def test_features_and_svd(timed: Time, who: str) -> None:
    network = module(TABLE1)
    x = cases.inputs(TABLE1).x
    is_slow = who == "authors' loop"

    def work() -> Any:
        if who == OURS:
            return singular_values(TABLE1)
        loop = LOOPS[who]
        phi = loop(network, x).numpy()
        # options as the authors'
        k = cases.K[TABLE1]
        _, values, _ = randomized_svd(phi, k, n_iter=10, random_state=42)
        return values

    values = timed(
        work,
        rounds=1 if is_slow else ROUNDS,
        warm=not is_slow,
        task="features and SVD, Table 1",
        who=who,
    )
    check_same(values, singular_values(TABLE1), 1e-3)


@both
@pytest.mark.parametrize("who", [OURS, "plain products"])
def test_products(timed: Time, name: str, who: str) -> None:
    """From the factors to the Gram matrix."""
    points = cases.inputs(name)
    features = cases.ntf(points)

    def ours() -> torch.Tensor:
        return features.kernel(features)

    def plain() -> torch.Tensor:
        return contenders.plain_products(features)

    work = ours if who == OURS else plain
    gram = timed(work, rounds=2 * ROUNDS, warm=2, task=f"Gram, {name}", who=who)
    check_same(gram, ours(), 1e-4)


@both
@pytest.mark.parametrize("who", [OURS, "plain PyTorch"])
def test_training(timed: Time, name: str, who: str) -> None:
    points = cases.inputs(name)
    x = points.x
    y = points.y
    steps = 5 * STEPS if name == TABLE1 else STEPS

    def loss(f: torch.Tensor, *_: object) -> torch.Tensor:
        squared = (f - y) ** 2
        return squared.mean()

    def ours() -> torch.Tensor:
        trained = train(points.network, x, loss, steps=steps, learning_rate=RATE)
        return trained(x)

    def plain() -> torch.Tensor:
        network = module(name)
        return contenders.plain_training(network, x, y, steps, RATE)

    work = ours if who == OURS else plain
    outputs = timed(work, task=f"training, {name}", who=who)
    check_same(outputs, ours(), 1e-2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points and weights of one network, for the workers."""
    folder = tmp_path_factory.mktemp("gram")
    points = cases.inputs(CMNIST)
    arrays: dict[str, Any] = {"x": points.x.numpy()}
    arrays |= points.network.weights
    np.savez(folder / "inputs.npz", **arrays)
    return folder


@pytest.mark.parametrize("who", [OURS, "torch.func", NEURAL_TANGENTS])
def test_gram_in_a_process(timed: Time, files: Path, who: str) -> None:
    """Time and memory from network and points to the kernel."""
    python = Path(sys.executable)
    if who == NEURAL_TANGENTS:
        python = PEERS / "bin/python"
    command = [
        str(python),
        "benchmarks/gram_worker.py",
        who,
        str(files / "inputs.npz"),
        str(files / f"{who}.npy"),
    ]
    environment = os.environ | {
        "OMP_NUM_THREADS": str(THREADS),
        "PYTHONPATH": str(ROOT),
    }
    inside: dict[str, list[float]] = {"seconds": [], "memory_mb": []}

    def work() -> None:
        run = subprocess.run(
            command,
            check=True,
            capture_output=True,
            cwd=ROOT,
            env=environment,
        )
        measured = json.loads(run.stdout)
        for name, number in measured.items():
            inside[name].append(number)

    timed(
        work,
        rounds=3 if who == OURS else 1,
        warm=0,
        task="Gram in a process",
        who=who,
        **inside,
    )
    rows = np.load(files / f"{who}.npy")
    ours = np.load(files / f"{OURS}.npy")
    check_same(rows, torch.from_numpy(ours), 1e-4)
