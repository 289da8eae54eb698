"""Gram matrix of one network's tangent features in a process of its own: time and memory.

``python -m benchmarks.gram_worker kerhrm|torch.func INPUTS OUTPUT ROUNDS``: inputs hold x, w0, b0,
w1, b1; the first rows of the kernel go to the output.  One untimed round goes before more than one.
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from benchmarks.contenders import as_module, vmap_matrix
from benchmarks.memory import peak_mb, resident_mb
from benchmarks.sizes import THREADS
from kerhrm.features.extract import extract
from kerhrm.networks.mlp import MLP

ROWS = 200  #: that are compared


def kerhrm(mlp: MLP, x: Tensor) -> Tensor:
    ntf, _ = extract(mlp, x.unsqueeze(0))
    return ntf.kernel(ntf)[0]


def torch_func(mlp: MLP, x: Tensor) -> Tensor:
    phi = vmap_matrix(as_module(mlp), x)
    return phi @ phi.T


CONTENDERS: dict[str, Callable[[MLP, Tensor], Tensor]] = {
    "kerhrm": kerhrm,
    "torch.func": torch_func,
}


def main() -> None:
    contender, source, target, rounds = *sys.argv[1:4], int(sys.argv[4])
    torch.set_num_threads(THREADS)
    with np.load(source) as inputs:
        x, *w = (torch.from_numpy(inputs[name]) for name in ("x", "w0", "w1", "b0", "b1"))
    mlp = MLP([w[0][None], w[1][None]], [w[2][None], w[3][None]])
    compute, before = CONTENDERS[contender], resident_mb()
    kernel, seconds = x, []
    for number in range(rounds + (rounds > 1)):
        del kernel  # or two would be held
        start = time.perf_counter()
        kernel = compute(mlp, x)
        seconds += [time.perf_counter() - start] if number or rounds == 1 else []
    print(json.dumps({"seconds": seconds, "before_mb": before, "peak_mb": peak_mb()}))
    np.save(target, kernel[:ROWS].numpy())


if __name__ == "__main__":
    main()
