"""The Gram matrix of Colored MNIST in processes of their own: time and memory."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import flops, machine, processes
from benchmarks.bench_4_peers import points
from benchmarks.case import NotRun, not_run, relative_difference, times
from benchmarks.problems import IMAGES, layer_sizes, network
from benchmarks.records import OK, OURS, Row, Tables
from benchmarks.sizes import THREADS, Sizes

TOLERANCE = 1e-4
NEURAL_TANGENTS = {
    "neural-tangents, structured": "STRUCTURED_DERIVATIVES",
    "neural-tangents, Jacobians": "JACOBIAN_CONTRACTION",
    "neural-tangents, products": "NTK_VECTOR_PRODUCTS",
    "neural-tangents, auto": "AUTO",
}
IN_BLOCKS = "neural-tangents, in blocks"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the workers' inputs and outputs."""
    return tmp_path_factory.mktemp("gram")


def write_inputs(files: Path, n: int) -> Path:
    """Points and weights of one network, for workers."""
    path, mlp = files / f"inputs-{n}.npz", network(IMAGES, 1)
    if not path.exists():
        layers = {f"w{i}": w[0].numpy() for i, w in enumerate(mlp.weights)}
        layers |= {f"b{i}": b[0].numpy() for i, b in enumerate(mlp.biases)}
        np.savez(path, x=points(IMAGES)[0, :n].numpy(), **layers)  # type: ignore[arg-type]
    return path


def command(contender: str, inputs: Path, output: Path, n: int, block: int) -> list[str]:
    """Worker of a contender; what takes minutes runs once."""
    if not contender.startswith("neural-tangents"):
        rounds = 1 if contender == "torch.func" and n > 1000 else 3
        return processes.worker("gram_worker", contender, inputs, output, rounds)
    if not processes.PEERS.exists():
        raise NotRun("benchmarks/.venv is missing: make bench-peers")
    how = NEURAL_TANGENTS.get(contender, "STRUCTURED_DERIVATIVES")
    rounds = 1 if n > block else 3
    arguments = how, block, inputs, output, rounds
    return processes.worker("neural_tangents_worker", *arguments, python=processes.PEERS)


def check_memory(contender: str, n: int) -> None:
    """Refuse the explicit matrix where it does not fit (with its kernel, float32)."""
    if contender == "torch.func":
        needed = 4e-9 * n * (flops.n_parameters(layer_sizes(IMAGES)) + 2 * n) + 1
        if (there := machine.available_gb()) < needed:
            raise NotRun(f"needs {needed:.1f} GB of memory, {there:.1f} are available")


def whole(sizes: Sizes) -> str:
    return f"Gram, {sizes.images} images"


def small(sizes: Sizes) -> str:
    return f"Gram, {sizes.block} images"


CASES = [
    *((True, name) for name in (OURS, "torch.func", *NEURAL_TANGENTS)),
    *((False, name) for name in (OURS, "torch.func", IN_BLOCKS)),
]


@pytest.mark.parametrize(("few", "contender"), CASES)
def bench_gram(tables: Tables, sizes: Sizes, files: Path, few: bool, contender: str) -> None:
    """From network and points to the kernel."""
    n, task = (sizes.block, small(sizes)) if few else (sizes.images, whole(sizes))
    row: Row = {"task": task, "contender": contender, "n": n}
    row["p"] = flops.n_parameters(layer_sizes(IMAGES))
    timed: Row = row | {"threads": THREADS}
    output = files / f"{n}-{contender}.npy"
    try:
        check_memory(contender, n)
        inputs = write_inputs(files, n)
        told = processes.facts(command(contender, inputs, output, n, sizes.block), sizes.patience)
        if contender != OURS:
            kernel, ours = np.load(output), np.load(files / f"{n}-{OURS}.npy")
            timed["tolerance"] = TOLERANCE
            timed["difference"] = relative_difference(kernel, ours[: len(kernel)])
            if not timed["difference"] <= TOLERANCE:
                raise NotRun(f"its result differs from ours by {timed['difference']:.2g}")
    except Exception as error:
        status = {"status": not_run(error)}
        tables.put("peers", timed | status)
        tables.put("memory", row | status)
        pytest.skip(not_run(error))
    tables.put("peers", timed | times(told["seconds"]) | {"status": OK})
    memory = {name: told[name] for name in ("before_mb", "peak_mb")}
    memory["increase_mb"] = told["peak_mb"] - told["before_mb"]
    tables.put("memory", row | memory | {"status": OK})
