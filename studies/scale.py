"""Many points: Colored MNIST over n and k, and how exact Nyström's features are.

Table ``scale_learning_curve``: test accuracy of the invariant direction over n and k;
every k starts at random and from the environments of the k before it ("nested").  Table
``scale_approximation``: 10 000 images, features by landmarks against the exact
decomposition.
"""

import functools
import time
from collections.abc import Iterator

import matplotlib.pyplot as plt
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm import KerHRMOptions, NTFMap, NystroemMap
from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.mixture import fit_mixture, random_starts
from kerhrm.algorithm.penalties import solve
from kerhrm.features.options import NystroemOptions
from studies.common import Unit, draw, expected, inputs, reduced

SIZES, DIMENSIONS = (2500, 5000, 10_000, 20_000, 50_000), (25, 100, 300, 1000)
N_INIT, RIDGE = 4, 1e-3
EXACT = (
    0.995  #: share of points on their side of the split by colour that counts as exact
)
MAX_LABEL = KerHRMOptions().max_label_information
N, K, LANDMARKS = 10_000, (25, 100, 300, 600), (2000, 4000, 8000)


def units() -> Iterator[Unit]:
    """Everything that is computed."""
    for seed in (0, 1):
        for n in SIZES:
            key = {"seed": seed, "n": n}
            yield (
                "scale_learning_curve",
                key,
                functools.partial(learning_curve, n, seed),
            )
    yield "scale_approximation", {"n": N}, approximation


@torch.inference_mode()
def learning_curve(n: int, seed: int) -> pd.DataFrame:
    """Rows over k of one number of images."""
    sizes = {
        "n_per_environment": n // 2,
        "n_validation_per_environment": 5000,
        "n_test": 10_000,
    }
    data = draw("colored_mnist", sizes, seed)
    own, y_test = inputs(data), torch.from_numpy(data.test.y[0])
    agrees = torch.from_numpy(expected(data))
    start = time.perf_counter()
    dimensions = [k for k in DIMENSIONS if k <= n // 2]
    features = NystroemMap.fit(own.network, own.x, max(dimensions), seed=seed)
    problem, test = (
        reduced(own, features),
        features.transform(torch.from_numpy(data.test.x[0])),
    )
    seconds = time.perf_counter() - start
    rows, nested = [], None

    def accuracy(environments: Tensor, k: int) -> float:
        f = predictions(problem.psi_train, problem.target, environments, test, k)
        return float(((f > 0) == (y_test > 0)).double().mean())

    for k in dimensions:
        psi, held_out = problem.reduced(k)
        starts = random_starts(seed, N_INIT, n, 2, "t=1", f"k={k}")
        mixtures = fit_mixture(psi, problem.target, starts, ridge=RIDGE)
        r = mixtures.responsibilities(psi, problem.target)
        copies = label_information(r, label_bins(problem.y)) > MAX_LABEL
        share = ((r[..., 0] > 0.5) == agrees).double().mean(-1)
        exact = torch.maximum(share, 1 - share) > EXACT
        likelihood = mixtures.log_likelihood(held_out, problem.target_validation)
        best = r[likelihood.masked_fill(copies, -torch.inf).argmax()]
        warm = best
        if nested is not None:
            again = fit_mixture(psi, problem.target, nested[None], ridge=RIDGE)
            warm = again.responsibilities(psi, problem.target)[0]
        rows.append(
            {
                "k": k,
                "starts": N_INIT,
                "exact": int(exact.sum()),
                "label_splits": int(copies.sum()),
            }
            | {"test_acc": accuracy(best, k), "test_acc_nested": accuracy(warm, k)}
            | {"features_s": seconds}
        )
        nested = None if nested is None and bool(copies.all()) else warm
    return pd.DataFrame(rows)


def predictions(
    psi: Tensor,
    target: Tensor,
    environments: Tensor,
    new: tuple[Tensor, Tensor],
    k: int,
) -> Tensor:
    """Outputs of the direction with equal weights of the environments and alpha = 0,
    new points."""
    risks = environment_risks(psi[:, :k].double(), target, environments, ridge=1e-6)
    return new[1].double() + new[0][:, :k].double() @ solve(*risks.pooled)


@torch.inference_mode()
def approximation() -> pd.DataFrame:
    """Errors of singular values and predictions over the landmarks."""
    sizes = {
        "n_per_environment": N // 2,
        "n_validation_per_environment": 1,
        "n_test": 10_000,
    }
    data = draw("colored_mnist", sizes, 0)
    own, new = inputs(data), torch.from_numpy(data.test.x[0])
    environments = one_hot(torch.from_numpy(expected(data)).long(), 2).double()

    def outputs(features: NTFMap | NystroemMap, k: int) -> Tensor:
        psi, target = features.u * features.s, own.y.double() - features.f0.double()
        return predictions(psi, target, environments, features.transform(new), k)

    start = time.perf_counter()
    exact = NTFMap.fit(own.network, own.x, max(K))
    rows = [{"landmarks": N, "k": max(K), "seconds": time.perf_counter() - start}]
    for m in LANDMARKS:
        start = time.perf_counter()
        found = NystroemMap.fit(
            own.network, own.x, max(K), NystroemOptions(n_landmarks=m)
        )
        seconds = time.perf_counter() - start
        for k in K:
            got, true = outputs(found, k), outputs(exact, k)
            spectrum = (found.s[:k].double() / exact.s[:k].double() - 1).abs().max()
            rows.append(
                {
                    "landmarks": m,
                    "k": k,
                    "seconds": seconds,
                    "spectrum_error": float(spectrum),
                }
                | {"prediction_error": float((got - true).norm() / true.norm())}
                | {"labels_changed": float(((got > 0) != (true > 0)).double().mean())}
            )
    return pd.DataFrame(rows).fillna(0.0)


def figures(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Accuracy and share of exact starts over k, a line per n."""
    means = drawn["scale_learning_curve"].groupby(["n", "k"]).mean(numeric_only=True)
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.7), layout="constrained")
    for i, n in enumerate(means.index.unique("n")):
        part, look = means.loc[n], {"color": f"C{i}", "marker": "o", "markersize": 3}
        axes[0].plot(part.index, part["test_acc"], label=f"n = {n}", **look)
        axes[0].plot(part.index, part["test_acc_nested"], linestyle=":", **look)
        axes[1].plot(part.index, part["exact"] / part["starts"], **look)
    for axis, label in zip(
        axes, ("test accuracy", "share of exact starts"), strict=True
    ):
        axis.set(xscale="log", xlabel="dimensions k", ylabel=label)
    axes[0].legend()
    yield "learning_curve", figure
