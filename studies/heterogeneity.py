"""False alarms and power of the pre-test, and what falling back to ERM costs.

Parts of table ``heterogeneity``: ``no environments`` (laws with various noises), ``environments``
(one coefficient flips in a share of the rows), ``project`` (the paper's regression data) and
``binary`` (Table 1's labels against labels drawn from one logistic regression, which no test can
tell apart).  Table ``heterogeneity_errors``: test error of the regressor over that of ERM.
"""

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LogisticRegression

from kerhrm import KerHRMRegressor, NetworkOptions, NTFMap, TangentRidge, build
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.heterogeneity.statistic import gains
from kerhrm.heterogeneity.test import orthonormal, test_rows
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
    "t3": lambda random, n: random.standard_t(3, n),
}
#: factor of the noise, of the inputs x (n, d) and the mean (n,)
SCALES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "": lambda x, mean: np.ones(len(x)),
    "scale exp(x1 / 2)": lambda x, mean: np.exp(x[:, 0] / 2),
    "scale .2 + |x1|": lambda x, mean: 0.2 + np.abs(x[:, 0]),
    "scale 3 where x1, x2 > 0": lambda x, mean: 1.0 + 2 * ((x[:, 0] > 0) & (x[:, 1] > 0)),
    "multiplicative": lambda x, mean: np.abs(mean) / 2,
}


def linear(
    random: Random, n: int, noise: str, scale: str = "", flipped: float = 0.0, sd: float = 1.0
) -> Points:
    """Ten inputs; the coefficient of the first is -1 in a share of the rows, else 1."""
    x = random.standard_normal((n, 10))
    mean = x @ np.resize([1.0, -1.0, 0.5, -0.5], 10)
    e = sd * SCALES[scale](x, mean) * NOISES[noise](random, n)
    return x, mean - 2 * x[:, 0] * (random.random(n) < flipped) + e


def skewed(random: Random, n: int) -> Points:
    """Noise that is skewed to the right where the mean is positive, else to the left."""
    x, mean = linear(random, n, "Gaussian", sd=0.0)
    return x, mean * (1 + NOISES["exponential"](random, n) / 2)


def friedman(random: Random, n: int, noise: str) -> Points:
    """Friedman 1: a mean that the mixture's features cannot fit."""
    x, mean = make_friedman1(n, noise=0.0, random_state=int(random.integers(2**31)))
    return x, mean + NOISES[noise](random, n)


def diabetes(random: Random, n: int) -> Points:
    """Some of the 442 patients of scikit-learn's diabetes data."""
    x, y = load_diabetes(return_X_y=True)
    rows = random.permutation(len(y))[:n]
    return x[rows], y[rows]


def no_environments() -> Iterator[tuple[str, Law, int, int]]:
    """Name, law, n and number of seeds, without environments."""
    for noise in NOISES:
        yield f"{noise} noise", functools.partial(linear, noise=noise), 1000, 26
    for scale in [*SCALES][1:]:
        for noise in ("Gaussian", "exponential"):
            law = functools.partial(linear, noise=noise, scale=scale)
            yield f"{noise} noise, {scale}", law, 1000, 26
    for noise in ("Gaussian", "exponential"):
        yield f"Friedman 1, {noise} noise", functools.partial(friedman, noise=noise), 1000, 26
    yield "diabetes", diabetes, 400, 26
    yield "skew with the sign of the mean", skewed, 1000, 26
    for n in (500, 2000):
        for noise in ("exponential", "log-normal"):
            yield f"{noise} noise", functools.partial(linear, noise=noise), n, 10
        law = functools.partial(linear, noise="exponential", scale="scale exp(x1 / 2)")
        yield "exponential noise, scale exp(x1 / 2)", law, n, 10


def environments() -> Iterator[tuple[str, Law, int, int]]:
    """The same where one coefficient is flipped in some of the rows."""
    for n, shares in ((500, (0.15, 0.3)), (1000, (0.15, 0.3, 0.5)), (2000, (0.15, 0.3))):
        seeds = 10 if n < 2000 else 5
        for share in shares:
            for noise in ("Gaussian", "exponential"):
                law = functools.partial(linear, noise=noise, flipped=share)
                yield f"{share:.0%} flipped, {noise} noise", law, n, seeds
            for sd in (0.1, 0.3) if share == 0.15 else ():
                law = functools.partial(linear, noise="Gaussian", flipped=share, sd=sd)
                yield f"{share:.0%} flipped, Gaussian noise of sd {sd:g}", law, n, seeds


def target(random: Random, n: int, of: Callable[[Random, np.ndarray], np.ndarray]) -> Points:
    """Six inputs, and a target drawn from a linear combination of four of them."""
    x = random.standard_normal((n, 6))
    return x, of(random, x @ [1, -1, 0.5, 0.5, 0, 0])


TARGETS: dict[str, Callable[[Random, np.ndarray], np.ndarray]] = {
    "log-normal target": lambda random, m: np.exp(m / 1.5 + random.standard_normal(len(m))),
    "zero-inflated": lambda random, m: np.exp(m / 2) * (random.random(len(m)) < 0.4),
    "counts": lambda random, m: random.poisson(np.exp(m / 2)).astype(float),
    "t2 noise": lambda random, m: m + random.standard_t(2, len(m)),
    "Pareto noise": lambda random, m: m + random.pareto(1.5, len(m)),
    "5 % outliers": lambda r, m: m + (1 + 9 * (r.random(m.size) < 0.05)) * r.normal(size=m.size),
    "nonlinear": lambda random, m: np.sin(2 * m) + m**2 + 0.5 * random.standard_normal(len(m)),
}
ERRORS: Mapping[str, Law] = {
    **{name: functools.partial(target, of=of) for name, of in TARGETS.items()},
    "exponential noise": functools.partial(linear, noise="exponential"),
    "Friedman 1": functools.partial(friedman, noise="Gaussian"),
    "skew with the sign of the mean": skewed,
    "20 % flipped": functools.partial(linear, noise="Gaussian", flipped=0.2, sd=0.3),
}


def units() -> Iterator[Unit]:
    """Everything that is drawn."""
    for part, cases in (("no environments", no_environments()), ("environments", environments())):
        for name, law, n, seeds in cases:
            for seed in range(seeds):
                key = {"part": part, "case": name, "n": n, "seed": seed}
                yield "heterogeneity_draws", key, functools.partial(simulated, key, law)
    for scenario, r, seed in np.ndindex(2, 3, 10):
        options = {"scenario": scenario + 1, "r": (1.5, 1.9, 2.3)[r]}
        name = f"Table 3, scenario {options['scenario']}, r={options['r']}"
        key = {"part": "project", "case": name, "n": 1100, "seed": seed}
        yield "heterogeneity_draws", key, functools.partial(project, "regression", options, seed)
    for price, seed in np.ndindex(2, 10):
        houses: dict[str, Any] = {"price_scale": "train", "clip": "train"}
        houses |= {"price": "log"} if price else {}
        name = "houses" + (", price=log" if price else "")
        key = {"part": "project", "case": name, "n": 1016, "seed": seed}
        yield "heterogeneity_draws", key, functools.partial(project, "houses", houses, seed)
    for r2, seed in ((r2, seed) for r2 in (0.7, 0.8) for seed in range(5)):
        key = {"part": "binary", "case": f"Table 1, r2={r2}", "n": 2000, "seed": seed}
        yield "heterogeneity_draws", key, functools.partial(binary, r2, seed)
    for name, law in ERRORS.items():
        for seed in range(20):
            key = {"case": name, "seed": seed}
            yield "heterogeneity_errors", key, functools.partial(errors, name, law, seed)


def features(x: np.ndarray, seed: int, k: int) -> np.ndarray:
    """Psi (n, k) of one network."""
    points = torch.from_numpy(x.astype(np.float32))
    return NTFMap.fit(build(NetworkOptions(), seed, x.shape[1]), points, k).psi.numpy()


def outcome(gain: float, permuted: np.ndarray, p_value: float, detected: bool) -> pd.DataFrame:
    """Row of one draw."""
    row = {"gain": gain, "permuted": permuted.mean(), "permuted_sd": permuted.std(ddof=1)}
    return pd.DataFrame([row | {"p_value": p_value, "detected": detected}]).round(5)


def tested(x: np.ndarray, y: np.ndarray, seed: int) -> pd.DataFrame:
    """Outcome of the pre-test on these points."""
    psi, *points = (torch.from_numpy(a) for a in (features(x, seed, OPTIONS.k), y, x))
    test = test_rows(psi, points[0], points[1], OPTIONS, seed)
    return outcome(test.gain, test.null, test.p_value, test.detected)


def simulated(key: Mapping[str, Any], law: Law) -> pd.DataFrame:
    """The pre-test on one draw of a law, inputs standardised."""
    seed, name = key["seed"], key["case"].replace("/", "by").replace("of sd", "of deviation")
    part = "size" if key["part"] == "no environments" else "power"  # names of the streams
    x, y = law(stream(seed, "heterogeneity", part, name), key["n"])
    return tested((x - x.mean(0)) / x.std(0), y, seed)


def project(generator: str, options: dict[str, Any], seed: int) -> pd.DataFrame:
    """The pre-test on the paper's training points."""
    train = draw(generator, options, seed).train
    return tested(train.x[0], train.y[0], seed)


def binary(r2: float, seed: int) -> pd.DataFrame:
    """Labels of Table 1 against labels drawn from one logistic regression on Psi."""
    train = draw("classification", {"r2": r2}, seed).train
    psi = orthonormal(features(train.x[0], seed, 10))
    model = LogisticRegression(C=1e3, max_iter=1000).fit(psi, train.y[0])
    random = stream(seed, "heterogeneity", "labels")
    size = OPTIONS.n_permutations, len(psi)
    drawn = 2.0 * (random.random(size) < model.predict_proba(psi)[:, 1]) - 1
    gain = gains(psi, np.vstack([train.y[0].astype(float), drawn]), OPTIONS, seed)
    p_value = (1 + (gain[1:] >= gain[0]).sum()) / len(gain)
    return outcome(float(gain[0]), np.asarray(gain[1:]), p_value, False)


def errors(name: str, law: Law, seed: int) -> pd.DataFrame:
    """Error of the regressor over that of ERM; test rows are drawn as the training rows."""
    x, y = law(stream(seed, "heterogeneity", "estimators", name.replace("/", "by")), 3600)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # nothing detected
        kerhrm = KerHRMRegressor(random_state=seed).fit(x[:600], y[:600])
        erm = TangentRidge(task="regression", random_state=seed).fit(x[:600], y[:600])
    ours, theirs = (np.mean((m.predict(x[600:]) - y[600:]) ** 2) for m in (kerhrm, erm))
    found = kerhrm.predictor_ != "erm"
    return pd.DataFrame([{"ratio": ours / theirs, "predicts": found}]).round(6)


def summaries(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """How often environments were detected, with Clopper and Pearson's interval; mean errors."""
    rows = []
    for (part, case, n), group in drawn["heterogeneity_draws"].groupby(
        ["part", "case", "n"], sort=False
    ):
        found, size = int(group["detected"].sum()), len(group)
        interval = binomtest(found, size).proportion_ci()
        z = (group["gain"] - group["permuted"]) / group["permuted_sd"]
        rows.append(
            {"part": part, "case": case, "n": n, "draws": size, "detected": found}
            | {"low": interval.low, "high": interval.high, "z": z.median()}
            | {"p_at_most_05": int((group["p_value"] <= 0.05).sum())}
            | group[["gain", "permuted"]].median().to_dict()
        )
    yield "heterogeneity", pd.DataFrame(rows).round(4)
    groups = drawn["heterogeneity_errors"].groupby("case", sort=False)
    means = groups.agg(
        mean=("ratio", "mean"), largest=("ratio", "max"), predicts=("predicts", "sum")
    )
    yield "heterogeneity_mean_errors", means.round(4).reset_index()
