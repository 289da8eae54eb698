"""False alarms and power of the pre-test, and what falling back to ERM costs.

Parts of table ``heterogeneity``: ``no environments``, ``environments`` (one coefficient
flips in a share of the rows), ``visible`` (of the size that the result calls visible),
``not seen``, ``project`` (the paper's regression data) and ``binary`` (Table 1's labels
against labels drawn from one logistic regression).  Table ``heterogeneity_errors``: the
regressor's test error over ERM's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import torch
from pandas import DataFrame
from sklearn.linear_model import LogisticRegression

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.estimators.baselines import TangentRidge
from kerhrm.estimators.kerhrm import KerHRMRegressor
from kerhrm.features.map import NTFMap
from kerhrm.heterogeneity.permutations import orthonormal
from kerhrm.heterogeneity.statistic import gains
from kerhrm.heterogeneity.test import MAX_TESTED, test_rows
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.randomness import stream
from kerhrm_paper.data.paper_data import PaperData
from kerhrm_paper.studies.heterogeneity_cases import cases
from kerhrm_paper.studies.laws import TARGETS, Law, Linear, skewed, standardised
from kerhrm_paper.studies.noises import Rows, exponential
from kerhrm_paper.studies.study import (
    Array,
    Files,
    Frames,
    RowKey,
    Study,
    Unit,
    detections,
    keyed,
    quiet,
)

OPTIONS = HeterogeneityOptions()
DRAWS = "heterogeneity_draws"
ERRORS = "heterogeneity_errors"
#: laws of which an estimator's error is measured, by name
MEASURED: dict[str, Law] = {
    **TARGETS,
    "exponential noise": Linear(exponential),
    "skew with the sign of the mean": skewed,
    "20 % flipped": Linear(flipped=0.2, sd=0.3),
}
ROWS = 600  #: that train an estimator; 3 000 others test it


# --- units ----------------------------------------------------------------------------


@dataclass(frozen=True)
class CaseKey(RowKey):
    """First columns of the row of a test."""

    table = DRAWS

    part: str
    case: str
    n: int
    seed: int


def units(files: Files) -> Iterator[Unit]:
    """A unit for each table that is drawn: tests first, then errors."""
    for case in cases():
        for seed in range(case.seeds):
            n = case.n
            key = CaseKey(case.part, case.name, n, seed)
            test = partial(simulated, key, case.law)
            yield key.unit(test)
    yield from of_table_3()
    yield from of_houses(files["raw"])
    yield from of_table_1()
    for name, law in MEASURED.items():
        for seed in range(20):
            columns = {"case": name, "seed": seed}
            fit = partial(errors, name, law, seed)
            yield Unit(ERRORS, columns, fit)


def of_table_3() -> Iterator[Unit]:
    """Tests of the paper's synthetic regressions."""
    scenarios = 1, 2
    strengths = 1.5, 1.9, 2.3
    for scenario, r in product(scenarios, strengths):
        case = f"Table 3, scenario {scenario}, r={r}"
        options = {"scenario": scenario, "r": r}
        data = PaperData("regression", options)
        for seed in range(5):
            key = CaseKey("project", case, 1100, seed)
            test = partial(project, data, seed)
            yield key.unit(test)


def of_houses(raw_file: str) -> Iterator[Unit]:
    """Tests of the house prices, and of their logarithms."""
    prices = {"price_scale": "train", "clip": "train"}
    log_prices = prices | {"price": "log"}
    by_case = {
        "houses": prices,
        "houses, price=log": log_prices,
    }
    for case, options in by_case.items():
        data = PaperData("houses", options, raw_file)
        for seed in range(5):
            key = CaseKey("project", case, 1016, seed)
            test = partial(project, data, seed)
            yield key.unit(test)


def of_table_1() -> Iterator[Unit]:
    """Tests of labels."""
    for r2 in (0.7, 0.8):
        for seed in range(3):
            key = CaseKey("binary", f"Table 1, r2={r2}", 2000, seed)
            test = partial(binary, r2, seed)
            yield key.unit(test)


# --- tests ----------------------------------------------------------------------------


def outcome(
    gain: float,
    permuted: Array,
    p_value: float,
    detected: bool,
) -> DataFrame:
    """Row of one test."""
    row = {
        "gain": gain,
        "permuted": np.nanmean(permuted),
        "p_value": p_value,
        "detected": detected,
    }
    return DataFrame([row]).round(5)


def tested(x: Array, y: Array, seed: int) -> DataFrame:
    """Outcome of the pre-test on as many of these points as the estimators test."""
    inputs = torch.from_numpy(x[:MAX_TESTED])
    targets = torch.from_numpy(y[:MAX_TESTED])
    test = test_rows(inputs, targets, inputs, OPTIONS, seed)
    return outcome(test.gain, test.null, test.p_value, test.detected)


def simulated(key: CaseKey, law: Law) -> DataFrame:
    """The pre-test on one draw of a law, inputs standardised."""
    words = "heterogeneity", key.part, spelled(key.case)
    random = stream(key.seed, *words)
    rows = Rows(random, key.n)
    x, y = law(rows)
    x = standardised(x)
    return tested(x, y, key.seed)


def spelled(case: str) -> str:
    """A case as it names a random stream."""
    return case.replace("/", "by")


def project(data: PaperData, seed: int) -> DataFrame:
    """The pre-test on the paper's training points."""
    train = data.draw(seed).train
    (x,) = train.x
    (y,) = train.y
    return tested(x, y, seed)


def binary(r2: float, seed: int) -> DataFrame:
    """Labels of Table 1 against labels drawn from one logistic regression on Psi."""
    options = {"r2": r2}
    data = PaperData("classification", options)
    train = data.draw(seed).train
    (x,) = train.x
    (labels,) = train.y
    _, d = x.shape
    network = build(NetworkOptions(), seed, d)
    points = torch.from_numpy(x)
    features = NTFMap.fit(network, points, 10)
    columns = features.psi.numpy()
    psi = orthonormal(columns)
    logistic = LogisticRegression(C=1e3, max_iter=1000)
    logistic.fit(psi, labels)
    of_both = logistic.predict_proba(psi)
    chances = of_both[:, 1]
    random = stream(seed, "heterogeneity", "labels")
    size = OPTIONS.n_permutations, len(psi)
    positive = random.random(size) < chances
    drawn = 2.0 * positive - 1
    true = labels.astype(float)
    targets = np.vstack([true, drawn])
    gain, *null_gains = gains(psi, targets, len(targets), OPTIONS, seed)
    null = np.array(null_gains)
    is_larger = null >= gain
    larger = 1 + is_larger.sum()
    p_value = larger / (1 + len(null))
    return outcome(gain, null, p_value, detected=False)


# --- errors ---------------------------------------------------------------------------


def errors(case: str, law: Law, seed: int) -> DataFrame:
    """Error of the regressor over that of ERM; test rows are drawn as the training
    rows."""
    words = "heterogeneity", "estimators", spelled(case)
    random = stream(seed, *words)
    n = 6 * ROWS
    rows = Rows(random, n)
    x, y = law(rows)
    x_train, x_test = np.split(x, [ROWS])
    y_train, y_test = np.split(y, [ROWS])
    kerhrm = KerHRMRegressor(random_state=seed)
    erm = TangentRidge(task="regression", random_state=seed)
    with quiet():
        kerhrm.fit(x_train, y_train)
        erm.fit(x_train, y_train)
    outputs = kerhrm.predict(x_test)
    ours = outputs - y_test
    outputs_of_erm = erm.predict(x_test)
    theirs = outputs_of_erm - y_test
    error = np.mean(ours**2)
    error_of_erm = np.mean(theirs**2)
    predicts = kerhrm.predictor_ != "erm"
    row = {
        "ratio": error / error_of_erm,
        "predicts": predicts,
    }
    frame = DataFrame([row])
    return frame.round(6)


# --- results --------------------------------------------------------------------------


def summaries(drawn: Frames) -> Frames:
    """How often environments were detected, and mean errors."""
    tests = drawn[DRAWS]
    fits = drawn[ERRORS]
    summaries = {
        "heterogeneity": rates(tests),
        "heterogeneity_mean_errors": mean_errors(fits),
    }
    for name, rows in summaries.items():
        summaries[name] = rows.round(4)
    return summaries


def rates(draws: DataFrame) -> DataFrame:
    """How often environments were detected, with the median gains."""
    rows = []
    columns = ["part", "case", "n"]
    groups = draws.groupby(columns, sort=False)
    for values, group in groups:
        row = keyed(columns, values)
        row |= detections(group)
        gains_of_group = group[["gain", "permuted"]]
        medians = gains_of_group.median()
        row |= medians.to_dict()
        rows.append(row)
    return DataFrame(rows)


def mean_errors(ratios: DataFrame) -> DataFrame:
    """Mean and largest ratio of errors, and how often KerHRM predicts."""
    groups = ratios.groupby("case", sort=False)
    predicts = groups["predicts"].sum()
    ratio = groups["ratio"]
    means = ratio.agg(["mean", "max"])
    return means.join(predicts).reset_index()


STUDY = Study(units=units, summaries=summaries)
