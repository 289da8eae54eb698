"""Methods over the number of images: accuracy, processor seconds and memory of a fit.

Colored MNIST with 1 000 to 50 000 training images.  Every method has the
hyperparameters that the worst of its inferred environments has chosen at 5 000 images,
and the rule of all methods stops it.  The fit of KerHRM includes its features, by
landmarks where there are more images than landmarks.  Table ``scale_curve`` has a row
for each fit, ``scale_curve_growth`` the powers of n by which a method's seconds and
memory grow: slopes of least squares on logarithms, over the images from ``GROWS`` on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from pandas import DataFrame

from kerhrm.algorithm.problem import FeatureMap
from kerhrm.errors import KerhrmError
from kerhrm.features.map import NTFMap
from kerhrm.features.nystroem import NystroemMap
from kerhrm.features.options import NystroemOptions
from kerhrm.methods.base import Method
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.registry import METHODS
from kerhrm_paper.config.strict_yaml import read_yaml
from kerhrm_paper.data.draws import Split
from kerhrm_paper.data.paper_data import PaperData, inputs, reduced
from kerhrm_paper.studies.apart import Prepared, measured
from kerhrm_paper.studies.study import Figures, Files, Frames, Study, Unit, keyed

CURVE = "scale_curve"
GROWTH = "scale_curve_growth"
KEY = "method", "n", "seed"
#: colours of Okabe and Ito, and the names that people read
SHOWN = {
    "kerhrm": ("KerHRM", "#0072B2"),
    "eiil": ("EIIL", "#009E73"),
    "jtt": ("JTT", "#E69F00"),
    "afr": ("AFR", "#D55E00"),
}
N = 1000, 2500, 5000, 10_000, 20_000, 50_000
SEEDS = 0, 1
CRITERION = "worst_inferred"
N_LANDMARKS = 8000
GROWS = 5000  #: images from which seconds and memory are those of the method
#: shares of test images whose colour contradicts the label; the first is the paper's
TEST_FLIP = [0.9, 0.5, 0.15]
Options = dict[str, Any]


def units(files: Files) -> Iterator[Unit]:
    """A unit for each fit."""
    selected = chosen(files.get("selected"))
    for seed, n, method in product(SEEDS, N, SHOWN):
        key = keyed(KEY, (method, n, seed))
        given = {**key, "options": selected.get(method, {}), "raw": files["raw"]}
        fit = partial(measured, __name__, given)
        yield Unit(CURVE, key, fit)


def chosen(file: str | None) -> Mapping[str, Options]:
    """Options by learner, from a file of ``config/selected``.

    Raises KerhrmError if the criterion has selected none for a method.
    """
    if file is None:
        return {}
    by_learner = read_yaml(Path(file))
    options = {}
    for method in SHOWN:
        by_criterion = by_learner.get(method) or {}
        if CRITERION not in by_criterion:
            problem = f"{file}: {CRITERION} has selected no options for {method}"
            hint = "snakemake select --config preset=tuning, and copy its file there"
            raise KerhrmError(problem, hint)
        options[method] = by_criterion[CRITERION]
    return options


# --- one fit --------------------------------------------------------------------------


def prepare(key: dict[str, Any]) -> Prepared:
    """Images of a seed, and the method that is trained on them."""
    n = key["n"]
    sizes = {
        "n_per_environment": n // 2,
        "n_validation_per_environment": n // 10,
        "n_test": 3333,
        "test_flip": TEST_FLIP,
    }
    data = PaperData("colored_mnist", sizes, key["raw"]).draw(key["seed"])
    points = inputs(data)
    method = METHODS[key["method"]]
    options = method.options(**key["options"])
    return Prepared(
        fit=lambda: train(method, points, options),
        describe=lambda fitted: accuracies(method, fitted, data.test),
    )


def train(method: Method, points: Inputs, options: Any) -> Fitted:
    """Train a method, on reduced features where it needs them."""
    if method.needs_features:
        k = max(options.k)
        problem = reduced(points, features(points, k))
        points = replace(points, problem=problem)
    return method.train(points, options)


def features(points: Inputs, k: int) -> FeatureMap:
    """Reduced features: exact, or by landmarks where there are more images."""
    if len(points.x) <= N_LANDMARKS:
        return NTFMap.fit(points.network, points.x, k)
    options = NystroemOptions(n_landmarks=N_LANDMARKS)
    return NystroemMap.fit(points.network, points.x, k, options, seed=points.seed)


def accuracies(method: Method, fitted: Fitted, test: Split) -> dict[str, float]:
    """Accuracy in the paper's test environment, and the lowest of all."""
    (x,) = test.x
    (y,) = test.y
    (environment,) = test.environment
    name, *_ = method.outputs
    outputs = fitted.predict(torch.from_numpy(x))[name].numpy()
    right = (outputs > 0) == (y > 0)
    by_environment = [right[environment == e].mean() for e in range(len(TEST_FLIP))]
    return {
        "test_acc": float(by_environment[0]),
        "worst_acc": float(min(by_environment)),
    }


# --- growth and figure ----------------------------------------------------------------


def summaries(drawn: Frames) -> Frames:
    """Power of n by which each method's seconds and memory grow."""
    curve = drawn[CURVE]
    large = curve[curve["n"] >= GROWS]
    rows = []
    for method in SHOWN:
        of_method = large[large["method"] == method]
        rows.append(
            {
                "method": method,
                "seconds_exponent": exponent(of_method, "cpu_seconds"),
                "memory_exponent": exponent(of_method, "memory_gb"),
            }
        )
    return {GROWTH: DataFrame(rows)}


def exponent(rows: DataFrame, quantity: str) -> float:
    """Slope of log quantity over log n; NaN for a single n."""
    if rows["n"].nunique() < 2:
        return np.nan
    log_n = np.log(rows["n"])
    slope, _ = np.polyfit(log_n, np.log(rows[quantity]), 1)
    return float(slope)


def figures(tables: Frames) -> Figures:
    """Accuracy, seconds and memory over n, a line a method with its exponent."""
    curve = tables[CURVE]
    growth = tables[GROWTH].set_index("method")
    means = curve.groupby(["method", "n"]).mean(numeric_only=True)
    figure = Figure((5.5, 4.8), layout="constrained")
    (accuracy, worst), (seconds, memory) = figure.subplots(2, 2, sharex=True)
    for axis, quantity, title in (
        (accuracy, "test_acc", "accuracy, colours reversed"),
        (worst, "worst_acc", "accuracy, worst of three tests"),
        (seconds, "cpu_seconds", "processor seconds"),
        (memory, "memory_gb", "memory, GB"),
    ):
        draw(axis, means, quantity)
        axis.set_title(title, loc="left", fontsize=9)
    for axis in (seconds, memory):
        axis.set_yscale("log")
        low, high = axis.get_ylim()
        axis.set_ylim(low, high * (high / low))  # the upper half is for the exponents
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("")
        axis.set_xlabel("training images")
        ticks = 1000, 5000, 50_000
        axis.set_xticks(ticks, [f"{n:,}".replace(",", " ") for n in ticks])
    memory.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis, quantity in (
        (seconds, "seconds_exponent"),
        (memory, "memory_exponent"),
    ):
        name_exponents(axis, growth[quantity])
    handles, labels = accuracy.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return {CURVE: figure}


def draw(axis: Axes, means: DataFrame, quantity: str) -> None:
    """A line over n for every method."""
    for method, (name, colour) in SHOWN.items():
        if method not in means.index:
            continue
        line = means.loc[method][quantity]
        axis.plot(line.index, line, color=colour, marker="o", markersize=3, label=name)
    axis.set_xscale("log")
    axis.spines[["top", "right"]].set_visible(False)


def name_exponents(axis: Axes, exponents: Any) -> None:
    """Write the power of n of every method, in its colour, at the left end."""
    look: dict[str, Any] = {"transform": axis.transAxes, "va": "top", "fontsize": 8}
    axis.text(0.04, 0.98, f"growth from {GROWS} on:", color="0.42", **look)
    height = 0.89
    for method, (name, colour) in SHOWN.items():
        power = exponents[method]
        if not np.isfinite(power):
            continue
        text = f"{name}: $n^{{{power:.2f}}}$"
        axis.text(0.04, height, text, color=colour, **look)
        height -= 0.09


STUDY = Study(units=units, summaries=summaries, figures=figures)
