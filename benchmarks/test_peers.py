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
OURS, RATE = "kerhrm", 1e-3
both = pytest.mark.parametrize("name", [TABLE1, CMNIST])


def module(name: str) -> torch.nn.Sequential:
    return contenders.as_module(cases.inputs(name).network)


def singular_values(name: str) -> torch.Tensor:
    """Ours, from network and points."""
    own = cases.ntf(cases.inputs(name))
    return reduce(own.kernel(own), cases.K[name])[1]


def same(found: Any, expected: torch.Tensor, tolerance: float) -> None:
    difference = (torch.as_tensor(found) - expected).abs().max() / expected.abs().max()
    assert float(difference) <= tolerance


#: the explicit matrix, which scikit-learn decomposes
LOOPS = {
    "authors' loop": contenders.released_loop,
    "torch.func": contenders.vmap_matrix,
}


@pytest.mark.parametrize("who", [OURS, *LOOPS])
def test_features_and_svd(timed: Time, who: str) -> None:
    own, x, slow = module(TABLE1), cases.inputs(TABLE1).x, who == "authors' loop"

    def work() -> Any:
        if who == OURS:
            return singular_values(TABLE1)
        # the authors'
        phi, how = (
            LOOPS[who](own, x).numpy(),
            {"n_iter": 10, "random_state": 42},
        )
        return randomized_svd(phi, cases.K[TABLE1], **how)[1]

    info = {"task": "features and SVD, Table 1", "who": who}
    found = timed(work, rounds=1 if slow else ROUNDS, warm=not slow, **info)
    same(found, singular_values(TABLE1), 1e-3)


@both
@pytest.mark.parametrize("who", [OURS, "plain products"])
def test_products(timed: Time, name: str, who: str) -> None:
    """From the factors to the Gram matrix."""
    own = cases.ntf(cases.inputs(name))
    work = (
        (lambda: own.kernel(own))
        if who == OURS
        else lambda: contenders.plain_products(own)
    )
    found = timed(work, rounds=2 * ROUNDS, warm=2, task=f"Gram, {name}", who=who)
    same(found, own.kernel(own), 1e-4)


@both
@pytest.mark.parametrize("who", [OURS, "plain PyTorch"])
def test_training(timed: Time, name: str, who: str) -> None:
    own, steps = cases.inputs(name), STEPS * (5 if name == TABLE1 else 1)

    def loss(f: torch.Tensor, *_: object) -> torch.Tensor:
        return ((f - own.y) ** 2).mean()

    def ours() -> torch.Tensor:
        trained = train(own.network, own.x, loss, steps=steps, learning_rate=RATE)
        return trained(own.x)

    def plain() -> torch.Tensor:
        return contenders.plain_training(module(name), own.x, own.y, steps, RATE)

    found = timed(ours if who == OURS else plain, task=f"training, {name}", who=who)
    same(found, ours(), 1e-2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points and weights of one network, for the workers."""
    folder, own = tmp_path_factory.mktemp("gram"), cases.inputs(CMNIST)
    arrays: dict[str, Any] = {"x": own.x.numpy(), **own.network.weights}
    np.savez(folder / "inputs.npz", **arrays)
    return folder


@pytest.mark.parametrize("who", [OURS, "torch.func", NEURAL_TANGENTS])
def test_gram_in_a_process(timed: Time, files: Path, who: str) -> None:
    """Time and memory from network and points to the kernel."""
    python = PEERS / "bin/python" if who == NEURAL_TANGENTS else Path(sys.executable)
    worker = "benchmarks/gram_worker.py"
    command = [
        *map(str, (python, worker, who, files / "inputs.npz", files / f"{who}.npy"))
    ]
    env = os.environ | {"OMP_NUM_THREADS": str(THREADS), "PYTHONPATH": str(ROOT)}
    inside: dict[str, list[float]] = {"seconds": [], "memory_mb": []}

    def work() -> None:
        run = subprocess.run(
            command, check=True, capture_output=True, cwd=ROOT, env=env
        )
        for name, number in json.loads(run.stdout).items():
            inside[name].append(number)

    timed(
        work,
        rounds=3 if who == OURS else 1,
        warm=0,
        task="Gram in a process",
        who=who,
        **inside,
    )
    found, ours = np.load(files / f"{who}.npy"), np.load(files / f"{OURS}.npy")
    same(found, torch.from_numpy(ours), 1e-4)
