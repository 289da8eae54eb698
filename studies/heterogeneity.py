"""False alarms and power of the pre-test, and what falling back to ERM costs.

Parts of table ``heterogeneity``: ``no environments``, ``environments`` (one coefficient
flips in a share of the rows), ``visible`` (of the size that the result calls visible),
``not seen``, ``project`` (the paper's regression data) and ``binary`` (Table 1's labels
against labels drawn from one logistic regression).  Table ``heterogeneity_errors``: the
regressor's test error over ERM's.
"""

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial as part
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression

from kerhrm import KerHRMRegressor, NetworkOptions, NTFMap, TangentRidge, build
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.heterogeneity.permutations import orthonormal
from kerhrm.heterogeneity.result import VISIBLE
from kerhrm.heterogeneity.statistic import gains
from kerhrm.heterogeneity.test import MAX_TESTED, test_rows
from kerhrm.randomness import stream
from studies.common import Unit, draw

OPTIONS = HeterogeneityOptions()
Random = np.random.Generator
Points = tuple[np.ndarray, np.ndarray]
Law = Callable[[Random, int], Points]

NOISES: dict[str, Callable[[Random, int], np.ndarray]] = {
    "Gaussian": lambda random, n: random.standard_normal(n),
    "exponential": lambda random, n: random.exponential(size=n) - 1,
    "log-normal": lambda random, n: (random.lognormal(size=n) - np.exp(0.5)) / 2,
    "t2": lambda random, n: random.standard_t(2, n),
}
#: factor of the noise, of the inputs x (n, d) and the mean (n,)
SCALES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "": lambda x, mean: np.ones(len(x)),
    "scale exp(x1 / 2)": lambda x, mean: np.exp(x[:, 0] / 2),
    "scale .2 + |x1|": lambda x, mean: 0.2 + np.abs(x[:, 0]),
    "scale 3 where x1, x2 > 0": lambda x, mean: (
        1.0 + 2 * ((x[:, 0] > 0) & (x[:, 1] > 0))
    ),
    "multiplicative": lambda x, mean: np.abs(mean) / 2,
}


def linear(
    random: Random,
    n: int,
    noise: str,
    scale: str = "",
    flipped: float = 0.0,
    sd: float = 1.0,
    d: int = 10,
) -> Points:
    """The coefficient of the first of d inputs is -1 in a share of the rows, else 1."""
    x = random.standard_normal((n, d))
    mean = x @ np.resize([1.0, -1.0, 0.5, -0.5], d)
    e = sd * SCALES[scale](x, mean) * NOISES[noise](random, n)
    return x, mean - 2 * x[:, 0] * (random.random(n) < flipped) + e


def skewed(random: Random, n: int) -> Points:
    """Noise that is skewed to the right where the mean is positive,
    else to the left."""
    x, mean = linear(random, n, "Gaussian", sd=0.0)
    return x, mean * (1 + NOISES["exponential"](random, n) / 2)


def diabetes(random: Random, n: int) -> Points:
    """Some of the 442 patients of scikit-learn's diabetes data."""
    x, y = load_diabetes(return_X_y=True)
    rows = random.permutation(len(y))[:n]
    return x[rows], y[rows]


def grouped(
    random: Random,
    n: int,
    inputs: float = 0.0,
    scale: float = 1.0,
    intercept: float = 0.0,
) -> Points:
    """Six inputs; in a hidden fifth of the rows something other than a
    slope differs."""
    one = random.random(n) < 0.2
    x = random.standard_normal((n, 6)) + inputs * one[:, None]
    e = np.where(one, scale, 1.0) * random.standard_normal(n)
    return x, x @ [1, -1, 0.5, 0.5, 0, 0] + intercept * one + e


def one_hot(random: Random, n: int, flipped: float = 0.0) -> Points:
    """Two inputs, and a category of eight in columns of their own,
    whose effect flips."""
    x, category = random.standard_normal((n, 2)), random.integers(8, size=n)
    effect = np.linspace(-2, 2, 8)[category] * np.where(
        random.random(n) < flipped, -1, 1
    )
    return np.column_stack([x, np.eye(8)[category]]), x[
        :, 0
    ] + effect + random.standard_normal(n)


def target(
    random: Random, n: int, of: Callable[[Random, np.ndarray], np.ndarray]
) -> Points:
    """Six inputs, and a target drawn from a linear combination of four of them."""
    x = random.standard_normal((n, 6))
    return x, of(random, x @ [1, -1, 0.5, 0.5, 0, 0])


TARGETS: dict[str, Callable[[Random, np.ndarray], np.ndarray]] = {
    "log-normal target": lambda random, m: np.exp(
        m / 1.5 + random.standard_normal(len(m))
    ),
    "zero-inflated": lambda random, m: np.exp(m / 2) * (random.random(len(m)) < 0.4),
    "counts": lambda random, m: random.poisson(np.exp(m / 2)).astype(float),
    "t2 noise": lambda random, m: m + random.standard_t(2, len(m)),
    "Pareto noise": lambda random, m: m + random.pareto(1.5, len(m)),
    "5 % outliers": lambda r, m: (
        m + (1 + 9 * (r.random(m.size) < 0.05)) * r.normal(size=m.size)
    ),
    "nonlinear": lambda random, m: (
        np.sin(2 * m) + m**2 + 0.5 * random.standard_normal(len(m))
    ),
}
ERRORS: Mapping[str, Law] = {
    **{name: part(target, of=of) for name, of in TARGETS.items()},
    "exponential noise": part(linear, noise="exponential"),
    "skew with the sign of the mean": skewed,
    "20 % flipped": part(linear, noise="Gaussian", flipped=0.2, sd=0.3),
}


def cases() -> Iterator[tuple[str, str, Law, int, int]]:
    """Part, name, law, n and number of seeds."""
    nulls: dict[str, Law] = {
        f"{noise} noise": part(linear, noise=noise) for noise in NOISES
    }
    nulls |= {name: part(target, of=of) for name, of in TARGETS.items()}
    for (name, law), n in itertools.product(nulls.items(), (300, 1000)):
        yield "no environments", name, law, n, 20
    flip = part(linear, noise="Gaussian", flipped=0.2)
    others: dict[str, Law] = {
        "50 inputs": part(flip, flipped=0, d=50),
        "one-hot columns": one_hot,
    }
    for scale, noise in itertools.product([*SCALES][1:], ("Gaussian", "exponential")):
        others[f"{noise} noise, {scale}"] = part(linear, noise=noise, scale=scale)
    for name, law in others.items():
        yield "no environments", name, law, 1000, 20
    yield "no environments", "diabetes", diabetes, 400, 20
    yield "no environments", "log-normal target", nulls["log-normal target"], 4000, 10
    for n in (500, 1000, 2000, 4000, 10000):
        yield "environments", "20% flipped, Gaussian noise", flip, n, 10
    for n, share, noise in itertools.product(
        (500, 2000), (0.15, 0.3), ("Gaussian", "exponential")
    ):
        law = part(linear, noise=noise, flipped=share)
        yield "environments", f"{share:.0%} flipped, {noise} noise", law, n, 10
    for n in (250, 500):
        yield (
            "environments",
            "20% flipped, Gaussian noise of sd 0.3",
            part(flip, sd=0.3),
            n,
            10,
        )
    yield "environments", "20% flipped, 50 inputs", part(flip, d=50), 20000, 5
    yield (
        "environments",
        "20% flipped, one-hot columns",
        part(one_hot, flipped=0.2),
        5000,
        5,
    )
    for n, share in VISIBLE.items():
        sd = float(np.sqrt(0.64 / share - 0.64))  # the flip's variance is .64
        yield "visible", "20% flipped, visible share", part(flip, sd=sd), n, 20
    unseen: dict[str, Law] = {"another intercept": part(grouped, intercept=3.0)}
    unseen |= {
        "other inputs": part(grouped, inputs=2.0),
        "50% flipped": part(flip, flipped=0.5),
    }
    unseen |= {
        "another scale": part(grouped, scale=3.0),
        "skew with the sign of the mean": skewed,
    }
    for name, law in unseen.items():
        yield "not seen", name, law, 1000, 20


def units() -> Iterator[Unit]:
    """Everything that is drawn."""
    for kind, name, law, n, seeds in cases():
        for seed in range(seeds):
            key = {"part": kind, "case": name, "n": n, "seed": seed}
            yield "heterogeneity_draws", key, part(simulated, key, law)
    for scenario, r, seed in np.ndindex(2, 3, 5):
        options = {"scenario": scenario + 1, "r": (1.5, 1.9, 2.3)[r]}
        name = f"Table 3, scenario {options['scenario']}, r={options['r']}"
        key = {"part": "project", "case": name, "n": 1100, "seed": seed}
        yield "heterogeneity_draws", key, part(project, "regression", options, seed)
    for price, seed in np.ndindex(2, 5):
        houses = {"price_scale": "train", "clip": "train"} | (
            {"price": "log"} if price else {}
        )
        name = "houses" + (", price=log" if price else "")
        key = {"part": "project", "case": name, "n": 1016, "seed": seed}
        yield "heterogeneity_draws", key, part(project, "houses", houses, seed)
    for r2, seed in ((r2, seed) for r2 in (0.7, 0.8) for seed in range(3)):
        key = {"part": "binary", "case": f"Table 1, r2={r2}", "n": 2000, "seed": seed}
        yield "heterogeneity_draws", key, part(binary, r2, seed)
    for name, law in ERRORS.items():
        for seed in range(20):
            key = {"case": name, "seed": seed}
            yield "heterogeneity_errors", key, part(errors, name, law, seed)


def outcome(
    gain: float, permuted: np.ndarray, p_value: float, detected: bool
) -> pd.DataFrame:
    """Row of one draw."""
    row = {
        "gain": gain,
        "permuted": np.nanmean(permuted),
        "p_value": p_value,
        "detected": detected,
    }
    return pd.DataFrame([row]).round(5)


def tested(x: np.ndarray, y: np.ndarray, seed: int) -> pd.DataFrame:
    """Outcome of the pre-test on as many of these points as the estimators test."""
    inputs, labels = torch.from_numpy(x[:MAX_TESTED]), torch.from_numpy(y[:MAX_TESTED])
    test = test_rows(inputs, labels, inputs, OPTIONS, seed)
    return outcome(test.gain, test.null, test.p_value, test.detected)


def simulated(key: Mapping[str, Any], law: Law) -> pd.DataFrame:
    """The pre-test on one draw of a law, inputs standardised."""
    name = key["part"], key["case"].replace("/", "by")
    x, y = law(stream(key["seed"], "heterogeneity", *name), key["n"])
    return tested((x - x.mean(0)) / x.std(0), y, key["seed"])


def project(generator: str, options: dict[str, Any], seed: int) -> pd.DataFrame:
    """The pre-test on the paper's training points."""
    train = draw(generator, options, seed).train
    return tested(train.x[0], train.y[0], seed)


def binary(r2: float, seed: int) -> pd.DataFrame:
    """Labels of Table 1 against labels drawn from one logistic regression on Psi."""
    train = draw("classification", {"r2": r2}, seed).train
    points, network = (
        torch.from_numpy(train.x[0]),
        build(NetworkOptions(), seed, train.x.shape[-1]),
    )
    psi = orthonormal(NTFMap.fit(network, points, 10).psi.numpy())
    model = LogisticRegression(C=1e3, max_iter=1000).fit(psi, train.y[0])
    random = stream(seed, "heterogeneity", "labels")
    size = OPTIONS.n_permutations, len(psi)
    drawn = 2.0 * (random.random(size) < model.predict_proba(psi)[:, 1]) - 1
    gain = np.array(
        [*gains(psi, np.vstack([train.y[0].astype(float), drawn]), OPTIONS, seed)]
    )
    p_value = (1 + (gain[1:] >= gain[0]).sum()) / len(gain)
    return outcome(gain[0], gain[1:], p_value, False)


def errors(name: str, law: Law, seed: int) -> pd.DataFrame:
    """Error of the regressor over that of ERM; test rows are drawn as the training
    rows."""
    x, y = law(
        stream(seed, "heterogeneity", "estimators", name.replace("/", "by")), 3600
    )
    with warnings.catch_warnings(
        action="ignore", category=UserWarning
    ):  # nothing detected
        kerhrm = KerHRMRegressor(random_state=seed).fit(x[:600], y[:600])
        erm = TangentRidge(task="regression", random_state=seed).fit(x[:600], y[:600])
    ours, theirs = (np.mean((m.predict(x[600:]) - y[600:]) ** 2) for m in (kerhrm, erm))
    return pd.DataFrame(
        [{"ratio": ours / theirs, "predicts": kerhrm.predictor_ != "erm"}]
    ).round(6)


def summaries(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """How often environments were detected, with Clopper and Pearson's interval; mean
    errors."""
    rows = []
    parts = drawn["heterogeneity_draws"].groupby(["part", "case", "n"], sort=False)
    for (kind, case, n), group in parts:
        found, size = int(group["detected"].sum()), len(group)
        interval = binomtest(found, size).proportion_ci()
        rows.append(
            {"part": kind, "case": case, "n": n, "draws": size, "detected": found}
            | {"low": interval.low, "high": interval.high}
            | group[["gain", "permuted"]].median().to_dict()
        )
    yield "heterogeneity", pd.DataFrame(rows).round(4)
    groups = drawn["heterogeneity_errors"].groupby("case", sort=False)
    means = groups["ratio"].agg(["mean", "max"]).join(groups["predicts"].sum())
    yield "heterogeneity_mean_errors", means.round(4).reset_index()
