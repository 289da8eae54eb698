"""Many points: Colored MNIST over n and k, and how exact Nyström's features are.

Table ``scale_learning_curve``: test accuracy of the invariant direction over n and k;
every k starts at random and from the environments of the k before it ("nested").  Table
``scale_approximation``: 10 000 images, features by landmarks against the exact
decomposition.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import torch
from matplotlib.figure import Figure
from pandas import DataFrame
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import solve
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.starts import random_starts
from kerhrm.features.map import NTFMap
from kerhrm.features.nystroem import NystroemMap
from kerhrm.features.options import NystroemOptions
from kerhrm_paper.data.draws import Draws
from kerhrm_paper.data.paper_data import PaperData, expected, inputs, reduced
from kerhrm_paper.studies.study import Figures, Files, Frames, Study, Unit

LEARNING_CURVE = "scale_learning_curve"
APPROXIMATION = "scale_approximation"
SIZES = 2500, 5000, 10_000, 20_000, 50_000
DIMENSIONS = 25, 100, 300, 1000
N_INIT = 4
RIDGE = 1e-3
#: of curves over k, by n (Okabe and Ito)
COLOURS = "#CC79A7", "#009E73", "#0072B2", "#000000", "#D55E00"
MARKERS = "o", "v", "^", "D", "s"
#: of random starts, around the other marks
HOLLOW = {"linestyle": ":", "markersize": 6.5, "markerfacecolor": "white"}
#: share of points on their side of the split by colour that counts as exact
EXACT = 0.995
OPTIONS = KerHRMOptions()
#: of the approximation
N = 10_000
K = 25, 100, 300, 600
LANDMARKS = 2000, 4000, 8000


def units(files: Files) -> Iterator[Unit]:
    """A unit for each data set."""
    raw_file = files["raw"]
    for seed in (0, 1):
        for n in SIZES:
            key = {"seed": seed, "n": n}
            compute = partial(learning_curve, n, seed, raw_file)
            yield Unit(LEARNING_CURVE, key, compute)
    compute = partial(approximation, raw_file)
    yield Unit(APPROXIMATION, {"n": N}, compute)


def images(n: int, n_validation: int, seed: int, raw_file: str) -> Draws:
    """Colored MNIST with n training images, and 10 000 that test."""
    sizes = {
        "n_per_environment": n // 2,
        "n_validation_per_environment": n_validation,
        "n_test": 10_000,
    }
    data = PaperData("colored_mnist", sizes, raw_file)
    return data.draw(seed)


# --- learning curve -------------------------------------------------------------------


@dataclass(frozen=True)
class Fold:
    """Reduced features of one data set."""

    problem: Problem
    psi_test: Tensor
    offsets_test: Tensor
    y_test: Tensor
    sides: Tensor  #: whether the colour agrees with the label, (n,)

    def accuracy(self, environments: Tensor, k: int) -> float:
        """Test accuracy of the direction of some environments (n, 2)."""
        test = self.psi_test, self.offsets_test
        psi = self.problem.psi_train
        target = self.problem.target
        outputs = predictions(psi, target, environments, test, k)
        positive = outputs > 0
        is_one = self.y_test > 0
        right = positive == is_one
        share = right.double().mean()
        return float(share)

    def cluster(self, starts: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Memberships (starts, n, 2) after EM, and held-out likelihoods (starts,)."""
        problem = self.problem
        psi, held_out = problem.reduced(k)
        mixtures = fit_mixture(psi, problem.target, starts, ridge=RIDGE)
        memberships = mixtures.responsibilities(psi, problem.target)
        validation = problem.target_validation
        likelihood = mixtures.log_likelihood(held_out, validation)
        return memberships, likelihood

    def exact(self, memberships: Tensor) -> Tensor:
        """Whether each clustering is the split by colour, (starts,)."""
        of_first = memberships[..., 0]
        first = of_first > 0.5
        same = first == self.sides
        share = same.double().mean(-1)
        larger = torch.maximum(share, 1 - share)
        return larger > EXACT

    def copies(self, memberships: Tensor) -> Tensor:
        """Whether each clustering copies the label, (starts,)."""
        bins = label_bins(self.problem.y)
        bits = label_information(memberships, bins)
        return bits > OPTIONS.max_label_information


@torch.inference_mode()
def learning_curve(n: int, seed: int, raw_file: str) -> DataFrame:
    """Rows over k of one number of images."""
    data = images(n, 5000, seed, raw_file)
    points = inputs(data)
    (x_test,) = data.test.x
    (y_test,) = data.test.y
    most = n // 2
    dimensions = [k for k in DIMENSIONS if k <= most]
    k_max = max(dimensions)
    start = perf_counter()
    features = NystroemMap.fit(points.network, points.x, k_max, seed=seed)
    problem = reduced(points, features)
    new = torch.from_numpy(x_test)
    psi_test, offsets_test = features.transform(new)
    end = perf_counter()
    seconds = end - start
    fold = Fold(
        problem,
        psi_test,
        offsets_test,
        y_test=torch.from_numpy(y_test),
        sides=torch.from_numpy(expected(data)),
    )
    rows = []
    nested = None
    for k in dimensions:
        starts = random_starts(seed, N_INIT, n, 2, "t=1", f"k={k}")
        memberships, likelihood = fold.cluster(starts, k)
        copies = fold.copies(memberships)
        likelihood = likelihood.masked_fill(copies, -torch.inf)
        likeliest = likelihood.argmax()
        best = memberships[likeliest]
        warm = best
        if nested is not None:
            one_start = nested[None]
            again, _ = fold.cluster(one_start, k)
            (warm,) = again
        exact = fold.exact(memberships)
        row = {
            "k": k,
            "starts": N_INIT,
            "exact": int(exact.sum()),
            "label_splits": int(copies.sum()),
            "test_acc": fold.accuracy(best, k),
            "test_acc_nested": fold.accuracy(warm, k),
            "features_s": seconds,
        }
        rows.append(row)
        if nested is not None or not copies.all():
            nested = warm
    return DataFrame(rows)


def predictions(
    psi: Tensor,
    target: Tensor,
    environments: Tensor,
    new: tuple[Tensor, Tensor],
    k: int,
) -> Tensor:
    """Outputs of the direction with equal weights of the environments and alpha = 0.

    ``new`` are reduced features and offsets of new points.
    """
    coordinates = psi[:, :k]
    coordinates = coordinates.double()
    risks = environment_risks(coordinates, target, environments, ridge=1e-6)
    theta = solve(*risks.pooled)
    psi_new, offsets = new
    coordinates = psi_new[:, :k]
    changes = coordinates.double() @ theta
    return offsets.double() + changes


# --- approximation --------------------------------------------------------------------


@torch.inference_mode()
def approximation(raw_file: str) -> DataFrame:
    """Errors of singular values and predictions over the landmarks."""
    data = images(N, 1, 0, raw_file)
    points = inputs(data)
    (x_test,) = data.test.x
    new = torch.from_numpy(x_test)
    sides = torch.from_numpy(expected(data))
    indicators = one_hot(sides.long(), 2)
    environments = indicators.double()
    k_max = max(K)

    def outputs(features: NTFMap | NystroemMap, k: int) -> Tensor:
        psi = features.u * features.s
        offsets = features.f0.double()
        target = points.y.double() - offsets
        test = features.transform(new)
        return predictions(psi, target, environments, test, k)

    start = perf_counter()
    exact = NTFMap.fit(points.network, points.x, k_max)
    row: dict[str, Any] = {
        "landmarks": N,
        "k": k_max,
        "seconds": perf_counter() - start,
    }
    rows = [row]
    for landmarks in LANDMARKS:
        options = NystroemOptions(n_landmarks=landmarks)
        start = perf_counter()
        nystroem = NystroemMap.fit(points.network, points.x, k_max, options)
        seconds = perf_counter() - start
        for k in K:
            approximate = outputs(nystroem, k)
            true = outputs(exact, k)
            difference = approximate - true
            error = difference.norm() / true.norm()
            approximate_label = approximate > 0
            true_label = true > 0
            changed = approximate_label != true_label
            share = changed.double().mean()
            spectrum = nystroem.s[:k]
            true_spectrum = exact.s[:k]
            ratios = spectrum.double() / true_spectrum.double()
            from_one = ratios - 1
            deviations = from_one.abs()
            row = {
                "landmarks": landmarks,
                "k": k,
                "seconds": seconds,
                "spectrum_error": float(deviations.max()),
                "prediction_error": float(error),
                "labels_changed": float(share),
            }
            rows.append(row)
    table = DataFrame(rows)
    return table.fillna(0.0)


# --- figure ---------------------------------------------------------------------------


def figures(tables: Frames) -> Figures:
    """Test accuracy over k, a line per n with its name at the right end.

    Solid: every k continues from the environments of the k before it.  Dotted: every
    k starts at random.
    """
    curves = tables[LEARNING_CURVE]
    keys = ["n", "k"]
    groups = curves.groupby(keys)
    means = groups.mean(numeric_only=True)
    sizes = list(means.index.unique("n"))
    figure = Figure((5.5, 3.4), layout="constrained")
    axis = figure.subplots()
    for number, n in enumerate(sizes):
        rows = means.loc[n]
        nested = rows["test_acc_nested"]
        look: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[number % len(MARKERS)],
            "markersize": 3.5,
        }
        axis.plot(rows.index, nested, **look, zorder=3)
        random = rows["test_acc"]
        axis.plot(rows.index, random, **look | HOLLOW)
        last_k = rows.index[-1]
        end = (last_k, nested.iloc[-1])
        axis.annotate(
            f"{n:,.0f} images".replace(",", " "),
            end,
            (10, 0),
            textcoords="offset points",
            va="center",
            color=look["color"],
            annotation_clip=False,
        )
    hidden = axis.spines[["top", "right"]]
    hidden.set_visible(False)
    axis.set_xscale("log")
    names = [str(k) for k in DIMENSIONS]
    axis.set_xticks(DIMENSIONS, names)
    axis.minorticks_off()
    label = "number k of reduced features; mean of two seeds of Colored MNIST\n"
    label += "solid: environments start from those of the next smaller k\n"
    label += "dotted, hollow: they start at random"
    axis.set(xlabel=label, ylabel="test accuracy")
    return {"learning_curve": figure}


STUDY = Study(units=units, figures=figures)
