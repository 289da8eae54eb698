"""Stages of KerHRM on a GPU and on the CPU: seconds, rates, memory, transfers.

Rows have ``task``, ``device`` ("card" or "cpu"), ``seconds`` and further facts.
"""

import json
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.cases import TINY, WIDTH
from benchmarks.gpu_cases import (
    CARD,
    CORES,
    K_PUBLISHED,
    OPTIONS,
    STEPS,
    K,
    N,
    moved,
    points,
    problem,
    published_options,
    synchronise,
    trained,
    training_direction,
    training_options,
)
from kerhrm import KerHRMOptions, Problem
from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.records import Environments
from kerhrm.features import ntf as ntf_module
from kerhrm.features.map import reduce
from kerhrm.features.ntf import FactoredNTF, extract

Row = dict[str, Any]
DEVICES = {"card": CARD, "cpu": "cpu"}


def timed(
    work: Callable[[], Any], rounds: int = 3, warm: bool = True
) -> tuple[float, Any]:
    """Least seconds of some rounds, after one that does not count, and a result."""
    result = work() if warm else None
    found = []
    for _ in range(rounds):
        del result  # or two of them would be held
        synchronise()
        start = time.perf_counter()
        result = work()
        synchronise()
        end = time.perf_counter()
        found.append(end - start)
    return min(found), result


def peak_gb() -> float | None:
    """Largest memory on the card, in GB, since the last call."""
    if CARD == "cpu":
        return None
    peak = torch.cuda.max_memory_allocated() / 1e9
    torch.cuda.reset_peak_memory_stats()
    return round(peak, 2)


def product_rate(
    device: str, shape: tuple[int, int, int], dtype: torch.dtype = torch.float32
) -> float:
    """TFLOP/s of X Y^T with X (n, k), Y (m, k), of random numbers; TF32 is off."""
    n, m, k = shape
    random = torch.Generator(device).manual_seed(0)
    x = torch.randn(n, k, generator=random, device=device, dtype=dtype)
    y = torch.randn(m, k, generator=random, device=device, dtype=dtype)
    seconds, _ = timed(lambda: x @ y.T, rounds=10)
    return 2e-12 * n * m * k / seconds


def machine() -> list[Row]:
    """Name the card and the cores, and measure the rates of their products."""
    assert not torch.backends.cuda.matmul.allow_tf32
    side = 64 if TINY else 8192
    facts: dict[str, Any] = {"card": "the CPU", "driver": None}
    if CARD != "cpu":
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = subprocess.run(query, capture_output=True, text=True, check=False)
        card = torch.cuda.get_device_properties(0)
        facts = {
            "card": torch.cuda.get_device_name(),
            "card memory, GB": card.total_memory / 1e9,
            "driver": driver.stdout.strip(),
        }
    cpu = platform.processor()
    described = Path("/proc/cpuinfo")
    if described.exists():
        lines = described.read_text().splitlines()
        named = [line for line in lines if "model name" in line]
        for line in named[:1]:
            _, _, name = line.partition(":")
            cpu = name.strip()
    facts |= {
        "cores": f"{CORES} cores, {cpu}",
        "torch": torch.__version__,
        "CUDA": torch.version.cuda,
        "PyTorch's threads": torch.get_num_threads(),
    }
    found: list[Row] = [{"task": task, "value": value} for task, value in facts.items()]
    for device, where in DEVICES.items():
        for dtype in (torch.float32, torch.float64):
            n = side if device == "card" else side // 2
            name = str(dtype).removeprefix("torch.")
            row = {
                "task": f"product of ({n}, {n}), {name}",
                "device": device,
                "tflops": product_rate(where, (n, n, n), dtype),
            }
            found.append(row)
    return found


def features() -> list[Row]:
    """Tangent features, their Gram matrix and its SVD, at both sizes."""
    found = []
    for n in N:
        results = {}
        for device, where in DEVICES.items():
            of_device, results[device] = _features(n, device, where)
            found += of_device
        differences = _differences(*results.values())
        found.append({"task": f"agreement, n = {n}", **differences})
    return found


def _features(
    n: int, device: str, where: str
) -> tuple[list[Row], tuple[Tensor, Tensor]]:
    on_device = moved(points(n), where)
    x, network = on_device.x, on_device.network
    many = n == max(N)
    rounds = 1 if many and device == "cpu" else 3
    warm = not (many and device == "cpu")
    peak_gb()
    p = network.n_parameters
    found: list[Row] = []

    def add(task: str, seconds: float, **facts: Any) -> None:
        row = {
            "task": f"{task}, n = {n}",
            "device": device,
            "seconds": seconds,
            "peak_gb": peak_gb(),
        }
        found.append(row | facts)

    seconds, (phi, _) = timed(lambda: extract(network, x), rounds, warm)
    add("tangent features", seconds, p=p)
    assert isinstance(phi, FactoredNTF)
    seconds, gram = timed(lambda: phi.kernel(phi), rounds, warm)
    n_rows = ntf_module.ROWS if where == "cpu" else ntf_module.ROWS_ON_GPU
    tflop = product_tflop(phi, n_rows)
    shape = (min(n_rows, n), n, WIDTH)
    rate = product_rate(where, shape)
    reached = tflop / seconds
    add(
        "Gram matrix",
        seconds,
        shape=f"blocks of {n_rows} rows; products ({shape[0]}, {WIDTH}) ({n}, {WIDTH})",
        tflops=reached,
        gemm_tflops=rate,
        gemm_share=reached / rate,
    )
    seconds, (u, s) = timed(lambda: reduce(gram, K), rounds, warm)
    add(f"top-{K} SVD", seconds)
    if not many:
        seconds, _ = timed(lambda: reduce(gram, K_PUBLISHED), rounds)
        add(f"top-{K_PUBLISHED} SVD", seconds)
        if device == "card":  # which of the two solvers pays there
            seconds, _ = timed(lambda: torch.linalg.eigh(gram.double()), rounds)
            add("all eigenpairs", seconds)
    return found, (u.cpu(), s.cpu())


def product_tflop(phi: FactoredNTF, n_rows: int) -> float:
    """Multiply-adds, counted twice, of the products of a symmetric kernel, in 10^12.

    Elementwise work is left out, and so are the last layer's deltas, which are ones.
    """
    n = len(phi.inputs[0])
    widths = sum(a.shape[1] for a in phi.inputs)
    widths += sum(delta.shape[1] for delta in phi.deltas[:-1])
    entries = 0
    for start in range(0, n, n_rows):
        left = n - start
        entries += min(n_rows, left) * left
    return 2e-12 * entries * widths


def _differences(on_card: tuple[Tensor, Tensor], on_cpu: tuple[Tensor, Tensor]) -> Row:
    u, s = on_card
    u_cpu, s_cpu = on_cpu
    differences = (s - s_cpu).abs()
    relative = differences / s_cpu
    inside = u_cpu @ (u_cpu.mT @ u)
    outside = torch.linalg.matrix_norm(u - inside, 2)
    return {
        "singular_values": float(relative.max()),
        "subspace": float(outside),
    }


def iteration() -> list[Row]:
    """M_c and M_p of the first iteration, with the default options and the published
    ones; of the larger size on the card alone."""
    small, large = N
    published = published_options()
    cases = [
        (small, "defaults", OPTIONS, ("card", "cpu")),
        (small, "as in Table 4", published, ("card", "cpu")),
        (large, "defaults", OPTIONS, ("card",)),
    ]
    found = []
    for n, which, options, devices in cases:
        of_card = problem(n, k=max(options.k))
        responsibilities = []
        for device in devices:
            of_device = moved(of_card, DEVICES[device])
            rows, newest = _iteration(of_device, options)
            responsibilities.append(newest.train.cpu())
            for row in rows:
                task = f"{row['task']}, n = {n}, {which}"
                named = {"task": task, "device": device, "k": options.k}
                found.append(row | named)
        if len(responsibilities) == 2:
            on_card, on_cpu = responsibilities
            differences = (on_card - on_cpu).abs()
            largest = float(differences.max())
            task = f"agreement of responsibilities, n = {n}, {which}"
            found.append({"task": task, "largest": largest})
    return found


def _iteration(
    of_device: Problem, options: KerHRMOptions
) -> tuple[list[Row], Environments]:
    """Seconds and memory of M_c and M_p."""
    peak_gb()
    seconds, newest = timed(
        lambda: learn_environments(of_device, options, 1, [], []), rounds=1
    )
    clustering = {"task": "M_c", "seconds": seconds, "peak_gb": peak_gb()}
    seconds, _ = timed(lambda: learn_directions(of_device, [newest], options))
    directions = {"task": "M_p", "seconds": seconds, "peak_gb": peak_gb()}
    return [clustering, directions], newest


def transfers() -> list[Row]:
    """Copies from the card to the host in the loops of M_c, M_p and the network."""
    n = min(N)
    of_card = problem(n)
    on_card = moved(points(n), CARD)
    learned = learn_environments(of_card, OPTIONS, 1, [], [])
    options = training_options()
    direction = training_direction(of_card)
    works: dict[str, Callable[[], Any]] = {
        "M_c": lambda: learn_environments(of_card, OPTIONS, 1, [], []),
        "M_p": lambda: learn_directions(of_card, [learned], OPTIONS),
        "network": lambda: trained(on_card, of_card, direction, options),
    }
    found = []
    for name, work in works.items():
        work()
        counted, n_steps = _copies(work)
        arrays = [size for size in counted if size > 8]
        if name == "network":  # recorded once, and replayed as a graph
            n_steps = STEPS
        row = {
            "task": f"copies to the host, {name}",
            "device": "card",
            "copies": len(counted),
            "bytes": sum(counted),
            "arrays": len(arrays),
            "largest": max(counted, default=0),
            "steps": n_steps,
        }
        found.append(row)
    return found


def _copies(work: Callable[[], Any]) -> tuple[list[int], int]:
    """Bytes of every copy from the card to the host, and the calls of its steps.

    Steps are EM steps (by their factorisations) and solves of M_p.
    """
    activities = [torch.profiler.ProfilerActivity.CPU]
    if CARD != "cpu":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        work()
        synchronise()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profile.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    sizes = []
    steps = "aten::linalg_cholesky_ex", "aten::linalg_lu_factor_ex"
    counts = dict.fromkeys(steps, 0)
    for event in events:
        name = event.get("name", "")
        if event.get("cat") == "gpu_memcpy" and "DtoH" in name:
            arguments = event.get("args", {})
            sizes.append(int(arguments.get("bytes", 0)))
        if event.get("cat") == "cpu_op" and name in counts:
            counts[name] += 1
    return sizes, max(counts.values())
