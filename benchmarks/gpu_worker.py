"""Train networks of some seeds in a process of its own.

``python -m benchmarks.gpu_worker DEVICE THREADS SEED...`` prepares, prints a line,
waits for one on standard input, trains, and prints the mean output of every seed.
"""

import json
import sys

import torch

from benchmarks.gpu_cases import (
    N,
    moved,
    points,
    problem,
    synchronise,
    trained,
    training_direction,
    training_options,
)


def main(device: str, threads: str, *numbers: str) -> None:
    """Prepare, wait, train."""
    torch.set_num_threads(int(threads))
    options = training_options()
    n = min(N)
    seeds = [int(number) for number in numbers]
    prepared = []
    for seed in seeds:
        of_seed = moved(problem(n, seed, device), device)
        direction = training_direction(of_seed)
        prepared.append((moved(points(n, seed), device), of_seed, direction))
    warm = options.model_copy(update={"steps": 2})
    trained(*prepared[0], warm)
    print("ready", flush=True)
    sys.stdin.readline()
    means = []
    for ready in prepared:
        outputs = trained(*ready, options)
        means.append(float(outputs.double().mean()))
    synchronise()
    print(json.dumps(dict(zip(seeds, means, strict=True))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
