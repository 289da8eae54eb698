"""Colored MNIST over the number of images n and of dimensions k: what limits the paper's 5 000.

``python -m benchmarks.learning_curve [--seeds 0 1] [--sizes 2500 50000]`` writes
``results/scale/learning_curve.csv``, the rows of a seed and n once they are all there, and goes
on where it was; ``--plot`` draws ``learning_curve.png`` and ``.pdf`` from it.  Every k begins
with random starts and, besides, with the environments of the k before it (nested); that a split
is exact is told from the true colours, which nothing but these columns has seen.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from benchmarks.sizes import THREADS
from kerhrm.algorithm.degeneracy import label_bins, label_information
from kerhrm.algorithm.invariant import PRINTED as PENALTY
from kerhrm.algorithm.invariant import minimise_risks, pooled_risks
from kerhrm.algorithm.mixture import Mixture, fit_mixture, random_starts
from kerhrm.algorithm.options import Clustering
from kerhrm.algorithm.pose import pose_by_landmarks
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.colored_mnist.channels import colour
from kerhrm.data.registry import fetch, generate
from kerhrm.features.options import Landmarks
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.reporting.style import COLOURS, MARKERS, save_figure, style
from kerhrm.storage.arrays import write_text

FOLDER = Path("results/scale")
TABLE = FOLDER / "learning_curve.csv"
SIZES, DIMENSIONS = (2500, 5000, 10_000, 20_000, 50_000), (25, 100, 300, 1000)
RESTARTS, RIDGE, ALPHA, THETA_RIDGE = 4, 1e-3, 0.0, 1e-6
EXACT = 0.995  #: share of points on their side of the colour split, above which it counts as exact
Row = dict[str, float]


def measure(n: int, seed: int, raw: Path) -> Iterator[Row]:
    """Rows of one number of images, by growing k."""
    options = {"n_per_environment": n // 2, "n_validation_per_environment": 5000, "n_test": 10_000}
    data = generate({"generator": "colored_mnist", **options}, [seed], raw)
    x, x_v, x_t = (torch.from_numpy(p.x) for p in (data.train, data.validation, data.test))
    y, y_v, y_t = (torch.from_numpy(p.y) for p in (data.train, data.validation, data.test))
    agrees = torch.from_numpy(colour(data.train.x)[0] == (data.train.y[0] > 0))
    w0, start = build(NetworkOptions(), [seed], x.shape[-1]), time.perf_counter()
    dimensions = [k for k in DIMENSIONS if k <= n // 2]
    _, problem, test = pose_by_landmarks(
        w0, x, x_v, x_t, y, y_v, k=max(dimensions), task="classification", seeds=[seed],
        options=Landmarks(), draws=[seed],
    )  # fmt: skip
    features_s, nested = time.perf_counter() - start, None
    for k in dimensions:
        psi, held_out = problem.reduced(0, k)
        points = psi, problem.target[0].double()
        validation = held_out, problem.target_validation[0].double()
        start = time.perf_counter()
        starts = random_starts([seed], RESTARTS, n, 2, "t=1", f"k={k}")[0]
        fits = fit(points, starts)
        em_s = time.perf_counter() - start
        r = fits.responsibilities(*points)
        labels = label_information(r, label_bins(y)[0]) > Clustering().max_label_information
        share = ((r[..., 0] > 0.5) == agrees).double().mean(-1)
        exact = torch.maximum(share, 1 - share) > EXACT
        score = fits.log_likelihood(*validation).masked_fill(labels, -torch.inf)
        start = time.perf_counter()
        best = r[score.argmax()]
        accuracy = test_accuracy(problem, test, points, best, y_t)
        theta_s = time.perf_counter() - start
        row: Row = {"seed": seed, "n": n, "k": k, "starts": RESTARTS, "exact": int(exact.sum())}
        row |= {"label_splits": int(labels.sum()), "test_acc": accuracy}
        warm = best if nested is None else fit(points, nested[None]).responsibilities(*points)[0]
        nested_acc = accuracy if nested is None else test_accuracy(problem, test, points, warm, y_t)
        usable = bool((~labels).any()) or nested is not None
        nested = warm if usable else None
        times = {"features_s": features_s, "em_s": em_s, "theta_s": theta_s}
        yield row | {"test_acc_nested": nested_acc} | times


def fit(points: tuple[Tensor, Tensor], starts: Tensor) -> Mixture:
    """Mixtures from starts (R, n, 2), one after the other in memory."""
    return fit_mixture(points[0][None], points[1][None], starts[None], ridge=RIDGE).take(0)


def test_accuracy(
    problem: Problem,
    test: TestFeatures,
    points: tuple[Tensor, Tensor],
    environments: Tensor,
    labels: Tensor,
) -> float:
    """Of the direction that is invariant over environments (n, 2)."""
    psi, y = points
    theta = minimise_risks(pooled_risks(psi, y, environments, ridge=THETA_RIDGE), ALPHA, PENALTY)
    f = test.f0[0].double() + test.psi[0, :, : psi.shape[-1]].double() @ theta
    return float(((f > 0) == (labels[0] > 0)).double().mean())


def draw(rows: pd.DataFrame) -> Figure:
    """Accuracy, shares of splits and time over k, a line per n.

    Accuracies are means and standard deviations over the seeds, shares those of all starts, and
    times the first seed's.
    """
    keys = ["n", "k"]
    means, deviations = rows.groupby(keys).mean(), rows.groupby(keys).std()
    for kind in ("exact", "label_splits"):
        means[f"{kind} share"] = means[kind] / means["starts"]
    first = rows[rows["seed"] == rows["seed"].min()].set_index(keys)
    means["seconds"] = first[["features_s", "em_s", "theta_s"]].sum(axis=1)
    panels: Mapping[str, tuple[str, str | None]] = {
        "test accuracy": ("test_acc", "test_acc_nested"),
        "share of starts": ("exact share", "label_splits share"),
        "seconds, data to direction": ("seconds", None),
    }
    with style():
        figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.7), layout="constrained")
        for axis, (label, columns) in zip(axes, panels.items(), strict=True):
            for i, n in enumerate(means.index.unique("n")):
                part = means.loc[n]
                look = {"color": COLOURS[i + 1], "marker": MARKERS[i], "markersize": 3}
                for column, line in zip(columns, ("-", ":"), strict=True):
                    if column is None:
                        continue
                    bars = deviations.loc[n].get(column)  # none of shares and seconds
                    name = f"n = {int(n):,}".replace(",", " ") if line == "-" else None
                    axis.errorbar(part.index, part[column], bars, ls=line, label=name, **look)
            axis.set(xscale="log", xlabel="dimensions k", ylabel=label)
        axes[2].set_yscale("log")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning_curve")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--plot", action="store_true")
    options = parser.parse_args()
    if options.plot:
        save_figure(draw(pd.read_csv(TABLE)), str(TABLE.with_suffix("")))
        return
    torch.set_num_threads(THREADS)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "mnist.npz"
        fetch("mnist", on_missing="fail").save(raw)
        for seed in options.seeds:
            for n in options.sizes:
                done = pd.read_csv(TABLE) if TABLE.exists() else pd.DataFrame({"seed": [], "n": []})
                if ((done["seed"] == seed) & (done["n"] == n)).any():
                    continue
                with torch.inference_mode():
                    rows = pd.concat([done, pd.DataFrame(list(measure(n, seed, raw)))])
                write_text(TABLE, rows.to_csv(index=False))
                print(rows.tail(len(DIMENSIONS)).to_string(), flush=True)


if __name__ == "__main__":
    main()
