"""Gram matrix of one network's tangent features in a process of its own: time and
memory.

``python gram_worker.py kerhrm|torch.func|neural-tangents INPUTS OUTPUT``: from x and
the weights to the first rows of the kernel.  neural-tangents (Novak et al. 2022) runs
in the environment of envs/peers.lock, in blocks of 500 rows: one is timed, its time
multiplied.
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


def with_torch(x: np.ndarray, weights: dict[str, np.ndarray]) -> Kernel:
    import torch

    from benchmarks.contenders import as_module, vmap_matrix
    from kerhrm.features.ntf import extract
    from kerhrm.networks.build import MLP

    points = torch.from_numpy(x)
    tensors = {}
    for name, array in weights.items():
        tensors[name] = torch.from_numpy(array)
    network = MLP(tensors)

    def work() -> Any:
        if contender == "kerhrm":
            features, *_ = extract(network, points)
            return features.kernel(features)
        module = as_module(network)
        phi = vmap_matrix(module, points)
        return phi @ phi.T

    return work, 1.0


def neural_tangents(points: np.ndarray, weights: dict[str, np.ndarray]) -> Kernel:
    # needs TensorFlow
    sys.modules["neural_tangents.experimental"] = types.ModuleType("")
    import jax
    import jax.numpy as jnp
    import neural_tangents as nt

    x = jnp.asarray(points)
    parameters = [jnp.asarray(array) for array in weights.values()]

    def network(parameters: Any, points: Any) -> Any:
        weight, bias, output_weight, output_bias = parameters
        before = points @ weight.T + bias
        hidden = jnp.maximum(before, 0)
        return hidden @ output_weight.T + output_bias

    how = nt.NtkImplementation.STRUCTURED_DERIVATIVES
    in_blocks = nt.empirical_ntk_fn(network, (-1,), vmap_axes=0, implementation=how)
    kernel = jax.jit(in_blocks)
    first = x[:BLOCK]

    def work() -> Any:
        block = kernel(first, x, parameters)
        return block.block_until_ready()

    work()  # compilation
    return work, len(x) / len(first)


def memory_mb(kind: str) -> float:
    """Resident memory of this process: now (VmRSS) or at most so far (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    _, _, value = status.partition(f"{kind}:")
    kilobytes = value.split()[0]
    return float(kilobytes) / 1024


if __name__ == "__main__":
    contender, source, target = sys.argv[1:]
    with np.load(source) as inputs:
        weights = dict(inputs)
    points = weights.pop("x")
    make = neural_tangents if contender == "neural-tangents" else with_torch
    work, factor = make(points, weights)
    before = memory_mb("VmRSS")
    start = time.perf_counter()
    kernel = np.asarray(work())
    seconds = factor * (time.perf_counter() - start)
    memory = memory_mb("VmHWM") - before
    measured = {"seconds": seconds, "memory_mb": memory}
    print(json.dumps(measured))
    np.save(target, kernel[:ROWS])
