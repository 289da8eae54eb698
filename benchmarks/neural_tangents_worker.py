"""The kernel by neural-tangents (Novak et al. 2022), in the environment of envs/peers.txt.

``python -m benchmarks.neural_tangents_worker IMPLEMENTATION BLOCK INPUTS OUTPUT ROUNDS``: as
:mod:`benchmarks.gram_worker`.  Of more points than BLOCK the kernel of the first BLOCK with all is
timed, and the time is multiplied by the number of such blocks, as ``nt.batch`` would compute one
after the other.  Compilation is not timed.
"""

import json
import sys
import time
import types

# its bridge to TensorFlow, which is not installed
sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import neural_tangents as nt  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.memory import peak_mb, resident_mb  # noqa: E402

ROWS = 200


def network(parameters: list[list[jax.Array]], x: jax.Array) -> jax.Array:
    """The MLP with one hidden layer: (n, d) to (n, 1)."""
    (w0, b0), (w1, b1) = parameters
    return jnp.maximum(x @ w0.T + b0, 0) @ w1.T + b1


def main() -> None:
    implementation, block, source, target, rounds = *sys.argv[1:5], int(sys.argv[5])
    with np.load(source) as inputs:
        x, w0, b0, w1, b1 = (jnp.asarray(inputs[n]) for n in ("x", "w0", "b0", "w1", "b1"))
    parameters, first = [[w0, b0], [w1, b1]], min(int(block), len(x))
    before = resident_mb()
    kernel_of = jax.jit(
        nt.empirical_ntk_fn(
            network,
            trace_axes=(-1,),
            vmap_axes=0,
            implementation=nt.NtkImplementation[implementation],
        )
    )
    other = None if first == len(x) else x
    kernel = kernel_of(x[:first], other, parameters).block_until_ready()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        kernel = kernel_of(x[:first], other, parameters).block_until_ready()
        seconds.append((time.perf_counter() - start) * len(x) / first)
    np.save(target, np.asarray(kernel)[:ROWS])
    print(json.dumps({"seconds": seconds, "before_mb": before, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main()
