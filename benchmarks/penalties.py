"""lambda of step 3 on full Colored MNIST: the first seed of a run's setting 14x14.

``python -m benchmarks.penalties [RUN]`` writes ``results/scale/penalties.csv`` from the features,
environments and direction that a run of ``full_mnist`` has left in RUN (``results/paper``).
"""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Literal

import pandas as pd
import torch
from torch import Tensor

from benchmarks.sizes import THREADS
from kerhrm.algorithm.directions import yardstick
from kerhrm.algorithm.network import cosine_to_direction, train_networks, within
from kerhrm.algorithm.options import IGD
from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.algorithm.selection import point_scores, worst_environment_score
from kerhrm.data.samples import load_points
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.storage.arrays import load_arrays, write_text

PENALTIES, STEPS = [1e2, 1e3, 1e4, 1e5], 100
COSINES: list[Literal["signed", "smoothed"]] = ["signed", "smoothed"]
FIRST = slice(0, 1)


def main() -> None:
    torch.set_num_threads(THREADS)
    run = Path(sys.argv[1] if len(sys.argv) > 1 else "results/paper") / "full_mnist" / "14x14"
    names = ("train", "validation", "test_inputs", "test_labels")
    files = {name: run / "data" / f"{name}.npz" for name in names}
    problem = Problem.load(run / "features" / "training.npz")
    problem = replace(problem.take(FIRST), seeds=problem.seeds[FIRST])
    learned = [e.take(FIRST) for e in Environments.load_all(sorted(run.glob("iterations/*/env*")))]
    direction = FinalDirection.load(run / "direction.npz").take(FIRST)
    x, x_validation, x_test = (p[FIRST] for p in load_points(files, torch.device("cpu")))
    y_test = torch.from_numpy(load_arrays(files["test_labels"])[0]["y"])[FIRST]
    w0 = build(NetworkOptions(), problem.seeds, x.shape[-1])
    environments = yardstick(learned)

    def worst(f: Tensor) -> float:
        scores = point_scores(f.unsqueeze(1), problem.y_validation.unsqueeze(1), problem.task)
        return float(worst_environment_score(scores, environments.to(scores)))

    rows = []
    for kind, penalty in product(COSINES, PENALTIES):
        options = IGD(penalty=[penalty], cosine=kind, steps=STEPS)
        points = x, x_validation, x_test
        found, _, _ = train_networks(w0, problem, *points, direction, learned, options)
        change = found.train[:, 0] - problem.f0_train
        coefficients = (change.unsqueeze(-2) @ within(problem.u, direction.k)).squeeze(-2)
        cosine = float(cosine_to_direction(coefficients / problem.s, direction.theta, 0.0))
        outside = 1 - float((coefficients**2).sum() / (change**2).sum())
        correct = float(((found.test[:, 0] > 0) == (y_test > 0)).double().mean())
        rows.append(
            {
                "objective": kind,
                "lambda": f"{penalty:g}",
                "steps": STEPS,
                "cosine": f"{cosine:.3f}",
                "outside of U": f"{outside:.3f}",
                "worst, validation": f"{worst(found.validation[:, 0]):.3f}",
                "test acc": f"{correct:.3f}",
            }
        )
        write_text(Path("results/scale/penalties.csv"), pd.DataFrame(rows).to_csv(index=False))


if __name__ == "__main__":
    main()
