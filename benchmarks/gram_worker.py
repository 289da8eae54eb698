"""Gram matrix of one network's tangent features in a process of its own: time and memory.

``python gram_worker.py kerhrm|torch.func|neural-tangents INPUTS OUTPUT``: inputs hold x, w0, b0,
w1, b1; the first rows of the kernel go to the output.  neural-tangents (Novak et al. 2022) runs in
the environment of envs/peers.lock, in blocks of 500 rows: one is timed, its time multiplied.
"""

import json
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS, BLOCK = 200, 500
Kernel = tuple[Callable[[], Any], float]


def kerhrm(arrays: dict[str, np.ndarray]) -> Kernel:
    import torch

    from kerhrm.features.ntf import extract
    from kerhrm.networks.mlp import MLP

    x, network = torch.from_numpy(arrays["x"]), MLP(_weights(arrays))

    def work() -> Any:
        ntf = extract(network, x)[0]
        return ntf.kernel(ntf)

    return work, 1.0


def torch_func(arrays: dict[str, np.ndarray]) -> Kernel:
    import torch

    from benchmarks.contenders import as_module, vmap_matrix
    from kerhrm.networks.mlp import MLP

    x, module = torch.from_numpy(arrays["x"]), as_module(MLP(_weights(arrays)))

    def work() -> Any:
        phi = vmap_matrix(module, x)
        return phi @ phi.T

    return work, 1.0


def neural_tangents(arrays: dict[str, np.ndarray]) -> Kernel:
    sys.modules["neural_tangents.experimental"] = types.ModuleType("")  # needs TensorFlow
    import jax
    import jax.numpy as jnp
    import neural_tangents as nt

    x, *parameters = (jnp.asarray(arrays[name]) for name in ("x", "w0", "b0", "w1", "b1"))

    def network(w: Any, points: Any) -> Any:
        return jnp.maximum(points @ w[0].T + w[1], 0) @ w[2].T + w[3]

    how = nt.NtkImplementation.STRUCTURED_DERIVATIVES
    kernel = jax.jit(nt.empirical_ntk_fn(network, (-1,), vmap_axes=0, implementation=how))
    first = x[:BLOCK]
    work = lambda: kernel(first, x, parameters).block_until_ready()  # noqa: E731
    work()  # compilation
    return work, len(x) / len(first)


def _weights(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    import torch

    names = {"weight_0": "w0", "bias_0": "b0", "weight_1": "w1", "bias_1": "b1"}
    return {name: torch.from_numpy(arrays[short]) for name, short in names.items()}


def memory_mb(kind: str) -> float:
    """Resident memory of this process: now (VmRSS) or at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(kind))) / 1024


if __name__ == "__main__":
    contender, source, target = sys.argv[1:]
    make = {"kerhrm": kerhrm, "torch.func": torch_func, "neural-tangents": neural_tangents}
    with np.load(source) as inputs:
        work, factor = make[contender](dict(inputs))
    before, start = memory_mb("VmRSS"), time.perf_counter()
    kernel = np.asarray(work())
    seconds = factor * (time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "memory_mb": memory_mb("VmHWM") - before}))
    np.save(target, kernel[:ROWS])
