"""What the study of the test of heterogeneity draws: laws, the project's data, binary labels."""

import functools
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LogisticRegression

from benchmarks.heterogeneity import OUTSIDE
from kerhrm.algorithm.loop import fit
from kerhrm.algorithm.options import Heterogeneity, KerHRM
from kerhrm.algorithm.problem import Problem
from kerhrm.data.dataset import Dataset
from kerhrm.data.houses.generator import generate as generate_houses
from kerhrm.data.houses.options import HousesData
from kerhrm.data.registry import generate
from kerhrm.data.samples import Samples
from kerhrm.data.sources.king_county import PERIODS, Houses
from kerhrm.estimators.baselines import ERM as ERMEstimator
from kerhrm.estimators.kerhrm import KerHRMRegressor
from kerhrm.features.map import NTFMap
from kerhrm.heterogeneity.guard import guarded, pooled_direction
from kerhrm.heterogeneity.records import FOUND
from kerhrm.heterogeneity.statistic import gains
from kerhrm.heterogeneity.verdict import examine, heterogeneity_test, orthonormal
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.randomness import stream

OPTIONS = Heterogeneity()
POOLED_K = tuple(KerHRM().k)
Random = np.random.Generator
Rows = list[dict[str, Any]]
#: case, n, seed, and what draws it
Draw = tuple[str, int, int, Callable[[], Rows]]
Points = tuple[np.ndarray, np.ndarray]

NOISES: dict[str, Callable[[Random, int], np.ndarray]] = {
    "Gaussian": lambda random, n: random.standard_normal(n),
    "exponential": lambda random, n: random.exponential(size=n) - 1,
    "log-normal": lambda random, n: (random.lognormal(size=n) - np.exp(0.5)) / 2,
    "t2": lambda random, n: random.standard_t(2, n),
    "t3": lambda random, n: random.standard_t(3, n),
}
#: the noise's factor, of the inputs x (n, d) and the mean (n,)
SCALES: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "": lambda x, mean: 1.0,
    "none": lambda x, mean: 0.0,
    "scale exp(x1 / 2)": lambda x, mean: np.exp(x[:, 0] / 2),
    "scale .2 + |x1|": lambda x, mean: 0.2 + np.abs(x[:, 0]),
    "scale 3 where x1, x2 > 0": lambda x, mean: 1.0 + 2 * ((x[:, 0] > 0) & (x[:, 1] > 0)),
    "multiplicative": lambda x, mean: np.abs(mean) / 2,
}


@dataclass(frozen=True)
class Case:
    """One law of the data, and how often to draw from it."""

    name: str
    draw: Callable[[Random, int], Points]  #: of the random stream and n
    n: int = 1000
    seeds: int = 26


def linear(
    random: Random, n: int, noise: str, scale: str = "", flipped: float = 0.0, size: float = 1.0
) -> Points:
    """Ten inputs; the coefficient of the first is -1 in a share of the rows, else 1."""
    x = random.standard_normal((n, 10))
    mean = x @ np.resize([1.0, -1.0, 0.5, -0.5], 10)
    e = size * SCALES[scale](x, mean) * NOISES[noise](random, n)
    return x, mean - 2 * x[:, 0] * (random.random(n) < flipped) + e


def skewed(random: Random, n: int) -> Points:
    """Noise that is skewed to the right where the mean is positive, else to the left."""
    x, mean = linear(random, n, "Gaussian", scale="none")
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


def no_environments() -> Iterator[Case]:
    """Laws without environments; a few of them with fewer and with more points, too."""
    for noise in NOISES:
        yield Case(f"{noise} noise", functools.partial(linear, noise=noise))
    for scale in [*SCALES][2:]:
        for noise in ("Gaussian", "exponential"):
            law = functools.partial(linear, noise=noise, scale=scale)
            yield Case(f"{noise} noise, {scale}", law)
    for noise in ("Gaussian", "exponential"):
        yield Case(f"Friedman 1, {noise} noise", functools.partial(friedman, noise=noise))
    yield Case("diabetes", diabetes, n=400)
    yield Case(OUTSIDE, skewed)
    for n in (500, 2000):
        for noise in ("exponential", "log-normal"):
            law = functools.partial(linear, noise=noise)
            yield Case(f"{noise} noise", law, n, seeds=10)
        law = functools.partial(linear, noise="exponential", scale="scale exp(x1 / 2)")
        yield Case("exponential noise, scale exp(x1 / 2)", law, n, seeds=10)
        law = functools.partial(friedman, noise="exponential")
        yield Case("Friedman 1, exponential noise", law, n, seeds=10)


def environments() -> Iterator[Case]:
    """One coefficient flipped in some of the rows."""
    for n, shares in ((500, (0.15, 0.3)), (1000, (0.15, 0.3, 0.5)), (2000, (0.15, 0.3))):
        for share in shares:
            for noise in ("Gaussian", "exponential"):
                law = functools.partial(linear, noise=noise, flipped=share)
                yield Case(
                    f"{share:.0%} flipped, {noise} noise", law, n, seeds=10 if n < 2000 else 5
                )
            for size in (0.1, 0.3) if share == SMALL else ():
                law = functools.partial(linear, noise="Gaussian", flipped=share, size=size)
                name = f"{share:.0%} flipped, Gaussian noise of deviation {size:g}"
                yield Case(name, law, n, seeds=10 if n < 2000 else 5)


SMALL = 0.15  #: share of flipped rows that is tried with less noise, too
CASES = {"size": [*no_environments()], "power": [*environments()]}
SETS: dict[str, Callable[[Random, int], Points]] = {
    "exponential noise": functools.partial(linear, noise="exponential"),
    "scale exp(x1 / 2)": functools.partial(linear, noise="Gaussian", scale="scale exp(x1 / 2)"),
    "multiplicative": functools.partial(linear, noise="Gaussian", scale="multiplicative"),
    "Friedman 1": functools.partial(friedman, noise="Gaussian"),
    "diabetes": diabetes,
}
TABLE_3 = {
    f"Table 3, scenario {h}, r={r}": {"generator": "regression", "scenario": h, "r": r}
    for h in (1, 2)
    for r in (1.5, 1.9, 2.3)
}
HOUSE: dict[str, Any] = {"generator": "houses", "price_scale": "train"}
HOUSES = {
    "houses": HOUSE,
    "houses, clip=train": HOUSE | {"clip": "train"},
    "houses, clip=train, price=log": HOUSE | {"clip": "train", "price": "log"},
}


def features(x: np.ndarray, seed: int, k: int) -> NTFMap:
    """Neural tangent features of inputs (1, n, d), float32, of one network."""
    return NTFMap.fit(build(NetworkOptions(), [seed], x.shape[-1]), torch.from_numpy(x), k)


def standardised(x: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Columns in units of those of ``base``, with a leading axis, float32."""
    return ((x - base.mean(0)) / base.std(0)).astype(np.float32)[None]


def simulated(part: str) -> Iterator[Draw]:
    """Draws of laws: (case, n, seed, function that draws and tests)."""

    def one(case: Case, seed: int) -> Rows:
        x, y = case.draw(stream(seed, "heterogeneity", part, case.name.replace("/", "by")), case.n)
        psi = features(standardised(x, x), seed, OPTIONS.k).reduction.psi[0].numpy()
        test = heterogeneity_test(psi, y, x=x, options=OPTIONS, seed=seed)
        return outcome(test.statistic, test.null, bool(test.found))

    for seed in range(max(case.seeds for case in CASES[part])):
        for case in CASES[part]:
            if seed < case.seeds:
                yield case.name, case.n, seed, functools.partial(one, case, seed)


def outcome(gain: torch.Tensor, null: torch.Tensor, found: bool) -> Rows:
    """What a draw leaves in the table."""
    p_value = float(1 + (null >= gain).sum()) / (1 + len(null))
    numbers = {"gain": float(gain), "null_mean": float(null.mean()), "null_std": float(null.std())}
    return [{n: round(v, 5) for n, v in numbers.items()} | {"p_value": p_value, "found": found}]


def project() -> Iterator[Draw]:
    """The project's own regression data; houses have the same training points clipped or not."""

    def one(data: dict[str, Any], seed: int) -> Rows:
        train = project_data(data, seed).train
        psi = features(train.x, seed, OPTIONS.k).reduction.psi[0].numpy()
        test = heterogeneity_test(psi, train.y[0], x=train.x[0], options=OPTIONS, seed=seed)
        return outcome(test.statistic, test.null, bool(test.found))

    chosen = {name: HOUSES[name] for name in [*HOUSES][1:]}
    for seed in range(10):
        for name, data in (TABLE_3 | chosen).items():
            n = 1100 if name in TABLE_3 else 1016
            yield name, n, seed, functools.partial(one, data, seed)


def binary() -> Iterator[Draw]:
    """Labels of Table 1 against labels drawn anew from ONE logistic regression on Psi."""

    def one(data: dict[str, Any], seed: int) -> Rows:
        train = generate(data, [seed]).train
        psi = orthonormal(features(train.x, seed, 10).reduction.psi[0].numpy())
        model = LogisticRegression(C=1e3, max_iter=1000).fit(psi, train.y[0])
        random = stream(seed, "heterogeneity", "labels")
        positive = model.predict_proba(psi)[:, 1]
        drawn = 2.0 * (random.random((OPTIONS.nulls, len(psi))) < positive) - 1
        gain = gains(psi, np.vstack([train.y.astype(float), drawn]), OPTIONS, seed)
        return outcome(gain[0], gain[1:], False)

    for r2 in (0.7, 0.8):
        for seed in range(5):
            law = functools.partial(one, {"generator": "classification", "r2": r2}, seed)
            yield f"Table 1, r2={r2}", 2000, seed, law


def project_data(data: dict[str, Any], seed: int) -> Dataset:
    """One replicate of the project's data."""
    if data["generator"] != "houses":
        return generate(data, [seed])
    houses = Houses.fetch(os.environ.get("KERHRM_RAW_DIR"), "fail")
    return generate_houses(HousesData(**data), [seed], houses)


def null_sets() -> Iterator[Draw]:
    """Errors on five null data sets: (set, seed, function that trains and tests)."""

    def one(name: str, seed: int) -> Rows:
        n = 442 if name == "diabetes" else 3500
        x, y = SETS[name](stream(seed, "heterogeneity", "guard", name.replace("/", "by")), n)
        parts = np.split(np.arange(n), [265, 353] if name == "diabetes" else [1000, 1500])
        centre, unit = y[parts[0]].mean(), y[parts[0]].std()
        y = ((y - centre) / unit).astype(np.float32)[None]
        inputs = [standardised(x[p], x[parts[0]]) for p in parts]
        return errors(inputs, [y[:, p] for p in parts], np.zeros(len(parts[2]), int), [""], seed)

    for seed in range(5):
        for name in SETS:
            yield name, 1000, seed, functools.partial(one, name, seed)


def estimators() -> Iterator[Draw]:
    """The regressor as one calls it, on null sets and on flips: (data, seed, fits and test)."""

    def one(name: str, law: Callable[[Random, int], Points], seed: int) -> Rows:
        n = 442 if name == "diabetes" else 3250
        x, y = law(stream(seed, "heterogeneity", "estimators", name.replace("/", "by")), n)
        first = 353 if name == "diabetes" else 1250
        train, test = (x[:first], y[:first]), (x[first:], y[first:])
        rows = []
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # nothing found
            for title, model in (
                ("KerHRMRegressor", KerHRMRegressor(random_state=seed)),
                ("estimators.ERM", ERMEstimator(task="regression", random_state=seed)),
            ):
                error = float(np.mean((model.fit(*train).predict(test[0]) - test[1]) ** 2))
                rows.append({"method": title, "error": round(error / train[1].var(), 6)})
                if title == "KerHRMRegressor":
                    found = model.heterogeneity_.verdict == FOUND
        return [row | {"environment": "", "found": found} for row in rows]

    flips: dict[str, Callable[[Random, int], Points]] = {
        f"20% flipped, noise {size:g}": functools.partial(
            linear, noise="Gaussian", flipped=0.2, size=size
        )
        for size in (0.1, 0.3, 1.0)
    }
    heavy = {"t3 noise": functools.partial(linear, noise="t3")}
    for seed in range(10):
        for name, law in (SETS | heavy | flips).items():
            yield name, 1250, seed, functools.partial(one, name, law, seed)


def house_sets() -> Iterator[Draw]:
    """Errors on the houses, by period."""

    def one(data: dict[str, Any], seed: int) -> Rows:
        drawn = project_data(data, seed)
        splits = drawn.train, drawn.validation, drawn.test
        inputs, labels = [s.x for s in splits], [s.y for s in splits]
        return errors(inputs, labels, drawn.test.environment[0], PERIODS, seed)

    for seed in range(10):
        for name, data in HOUSES.items():
            yield name, 1016, seed, functools.partial(one, data, seed)


def errors(
    x: Sequence[np.ndarray],
    y: Sequence[np.ndarray],
    environment: np.ndarray,
    names: Sequence[str],
    seed: int,
) -> Rows:
    """Errors by test environment, of training, validation and test points (1, n, d), (1, n)."""
    points, labels = [torch.from_numpy(p) for p in x], [torch.from_numpy(p) for p in y]
    ntf = features(x[0], seed, max(POOLED_K))
    (psi, f0), new = ntf.transform(points[1]), ntf.transform(points[2])
    targets = labels[0].double(), labels[1].double()
    reduced = ntf.reduction.u, ntf.reduction.s
    problem = Problem(*reduced, psi, ntf.f0, f0, *targets, "regression", [seed])
    direction, pooled = fit(problem, KerHRM()).final, pooled_direction(problem, POOLED_K)
    test = examine(problem, points[0], OPTIONS)
    seen = points[0], labels[0], points[1], labels[1]
    samples, erm = Samples(*seen, None, [seed], "regression"), ERM()
    (network,) = train_erm(samples, ntf.network, erm, [erm.steps])
    outputs = {
        "KerHRM without guard": direction.predict(*new),
        "KerHRM": guarded(direction, pooled, test.none_found).predict(*new),
        "pooled ERM on the features": pooled.predict(*new),
        "ERM (network)": network(points[2]).detach(),
    }
    return [
        {"environment": name, "method": method, "found": bool(test.found), "k": int(pooled.k),
         "error": round(float(((f - labels[2])[0, environment == number] ** 2).mean()), 6)}
        for method, f in outputs.items()
        for number, name in enumerate(names)
    ]  # fmt: skip


PARTS: dict[str, Callable[[], Iterator[Draw]]] = {
    "size": functools.partial(simulated, "size"),
    "power": functools.partial(simulated, "power"),
    "project": project,
    "binary": binary,
    "null sets": null_sets,
    "houses": house_sets,
    "estimators": estimators,
}
