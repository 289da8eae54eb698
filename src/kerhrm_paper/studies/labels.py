"""What KerHRM costs where two labels have no environments, and what it keeps.

Table ``labels``: parts ``no environments`` (labels of one law, some wrong at random; 20
draws each), ``few columns`` (ordinary tables without environments; 20 draws each),
``logistic`` (labels of a logistic law, which errs near the boundary; 20 draws each),
``flips`` (a feature follows the label, and its opposite in a share of the rows),
``noisy flips`` (the same with a feature that is wrong by chance in some rows),
``seeds`` (the same in fewer rows: one table, ten seeds of the fit) and ``paper``
(Table 1, Colored MNIST, and Table 1 with one environment).  Errors are shares of wrong
labels on rows of the same law and, of flips and the paper's data, in the worst of other
environments; ``found`` is the agreement of the inferred environments with the hidden
flips.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from pandas import DataFrame

from kerhrm.estimators.baselines import TangentRidge
from kerhrm.estimators.kerhrm import KerHRMClassifier
from kerhrm.randomness import stream
from kerhrm_paper.data.paper_data import PaperData
from kerhrm_paper.studies.label_laws import (
    FEW,
    INPUTS,
    OTHERS,
    SHAPES,
    flipped,
    logistic,
    one_law,
)
from kerhrm_paper.studies.label_tables import TABLES
from kerhrm_paper.studies.laws import Points
from kerhrm_paper.studies.noises import Rows
from kerhrm_paper.studies.study import (
    Array,
    Files,
    Frames,
    RowKey,
    Study,
    Unit,
    quiet,
)

DRAWS = "labels_draws"
ERRORS = ["error", "erm", "worst", "worst_erm", "found"]
#: KerHRM harms where its error is this much more than ERM's, and this many times it
HARM = 0.03
HARM_RATIO = 1.3


@dataclass(frozen=True)
class FitKey(RowKey):
    """First columns of the row of a fit."""

    table = DRAWS

    part: str
    case: str
    seed: int


def units(files: Files) -> Iterator[Unit]:
    """A unit for each fit of KerHRM."""
    yield from of_one_law()
    yield from of_few_columns()
    yield from of_logistic()
    yield from of_flips()
    yield from of_noisy_flips()
    yield from of_seeds()
    yield from of_the_paper(files["raw"])


def of_one_law() -> Iterator[Unit]:
    """Labels of one function, of which some are wrong."""
    laws = []
    for name in FEW:
        for wrong in (0.05, 0.1, 0.2):
            laws.append((name, wrong))
    for name in OTHERS:
        laws.append((name, 0.1))
    for seed in range(20):
        for name, wrong in laws:
            case = f"{name}, {wrong:.0%} wrong"
            key = FitKey("no environments", case, seed)
            fit = partial(harm, name, wrong, seed)
            yield key.unit(fit)


def of_few_columns() -> Iterator[Unit]:
    """Ordinary tables without environments."""
    for seed in range(20):
        for name in TABLES:
            key = FitKey("few columns", name, seed)
            fit = partial(few_columns, name, seed)
            yield key.unit(fit)


def of_logistic() -> Iterator[Unit]:
    """Labels by chance, most of all near the boundary, in 600 and 2 100 rows."""
    for seed in range(20):
        for name in INPUTS:
            for n_columns in (4, 10):
                case = f"{n_columns} columns, {name}"
                key = FitKey("logistic", case, seed)
                fit = partial(by_chance, name, n_columns, seed)
                yield key.unit(fit)


def of_flips() -> Iterator[Unit]:
    """Tables of 1 000 rows, in a share of which a feature flips."""
    for seed in range(10):
        for share in (0.1, 0.2, 0.3, 0.4):
            case = f"{share:.0%} of the rows"
            key = FitKey("flips", case, seed)
            fit = partial(flips, share, seed, 1000, seed)
            yield key.unit(fit)


def of_noisy_flips() -> Iterator[Unit]:
    """The same, in a fifth of the rows, of features that are right in fewer than
    all."""
    for seed in range(20, 30):
        for right in (0.95, 0.9, 0.85):
            case = f"the feature is right in {right:.0%}"
            key = FitKey("noisy flips", case, seed)
            fit = partial(flips, 0.2, seed, 1000, seed, right)
            yield key.unit(fit)


def of_seeds() -> Iterator[Unit]:
    """The same tables with 400 rows: one fit for each seed."""
    for table in range(10, 15):
        for share in (0.2, 0.3):
            case = f"{share:.0%} of 400 rows, table {table}"
            for seed in range(10):
                key = FitKey("seeds", case, seed)
                fit = partial(flips, share, table, 400, seed)
                yield key.unit(fit)


#: Table 1, where the spurious feature agrees with a share of the labels
TABLE_1 = {
    "Table 1, r2=0.7": {"r2": 0.7},
    "Table 1, r2=0.75": {"r2": 0.75},
    "Table 1, r2=0.8": {"r2": 0.8},
    "Table 1, one environment": {"r1": 0.8, "r2": 0.8},
}


def of_the_paper(raw_file: str) -> Iterator[Unit]:
    """Replicates of Table 1 and of Colored MNIST."""
    for seed in range(100, 105):
        for case, options in TABLE_1.items():
            key = FitKey("paper", case, seed)
            data = PaperData("classification", options)
            fit = partial(paper, data, seed)
            yield key.unit(fit)
    images = PaperData("colored_mnist", raw_file=raw_file)
    for seed in range(100, 110):
        key = FitKey("paper", "Colored MNIST", seed)
        fit = partial(paper, images, seed)
        yield key.unit(fit)


def harm(name: str, wrong: float, seed: int) -> DataFrame:
    """Labels of one law, 400 or 1 000 rows."""
    shape = SHAPES[name]
    words = "two labels", name, str(wrong)
    n = 1000 if seed % 2 else 400
    random = stream(seed, *words, "train")
    rows = Rows(random, n)
    x, y = one_law(rows, shape, wrong)
    random = stream(seed, *words, "test")
    rows = Rows(random, 4000)
    test = one_law(rows, shape, wrong)
    return fitted(x, y, seed, [test])


def few_columns(name: str, seed: int) -> DataFrame:
    """An ordinary table, 300 or 1 000 rows."""
    draw = TABLES[name]
    words = "two labels", "ordinary table", name
    n = 1000 if seed % 2 else 300
    random = stream(seed, *words, "train")
    rows = Rows(random, n)
    x, y = draw(rows)
    random = stream(seed, *words, "test")
    rows = Rows(random, 4000)
    test = draw(rows)
    return fitted(x, y, seed, [test])


def by_chance(name: str, n_columns: int, seed: int) -> DataFrame:
    """Labels of a logistic law, 600 or 2 100 rows."""
    words = "two labels", "logistic", name, str(n_columns)
    n = 2100 if seed % 2 else 600
    random = stream(seed, *words, "train")
    rows = Rows(random, n)
    x, y = logistic(rows, INPUTS[name], n_columns)
    random = stream(seed, *words, "test")
    rows = Rows(random, 4000)
    test = logistic(rows, INPUTS[name], n_columns)
    return fitted(x, y, seed, [test])


def flips(share: float, table: int, n: int, seed: int, right: float = 1.0) -> DataFrame:
    """One table with flips, and a seed of the fit."""
    words = "two labels", "flips", str(share)
    random = stream(table, *words)
    rows = Rows(random, n)
    x, y, hidden = flipped(rows, share, right)
    random = stream(table, *words, "test")
    tests = []
    for test_share in (share, 1 - share):
        rows = Rows(random, 2000)
        x_test, y_test, _ = flipped(rows, test_share, right)
        test = (x_test, y_test)
        tests.append(test)
    return fitted(x, y, seed, tests, hidden)


def paper(data: PaperData, seed: int) -> DataFrame:
    """Training and validation points of the paper's data; its test environments."""
    replicate = data.draw(seed)
    train = replicate.train
    validation = replicate.validation
    test = replicate.test
    inputs = [train.x, validation.x]
    labels = [train.y, validation.y]
    (x,) = np.hstack(inputs)
    (y,) = np.hstack(labels)
    (x_test,) = test.x
    (y_test,) = test.y
    (environment,) = test.environment
    tests = []
    for number in set(environment):
        chosen = environment == number
        points = x_test[chosen], y_test[chosen]
        tests.append(points)
    return fitted(x, y, seed, tests)


def fitted(
    x: Array,
    y: Array,
    seed: int,
    tests: list[Points],
    hidden: Array | None = None,
) -> DataFrame:
    """Errors of KerHRM and ERM on each of the tests, and the environments found."""
    kerhrm = KerHRMClassifier(random_state=seed)
    erm = TangentRidge(random_state=seed)
    with quiet():
        kerhrm.fit(x, y)
        erm.fit(x, y)
        ours = wrong_shares(kerhrm, tests)
        theirs = wrong_shares(erm, tests)
    agreement = np.nan
    if hidden is not None:
        equal = kerhrm.environments_ == hidden
        same = float(np.mean(equal))
        agreement = max(same, 1 - same)
    row = {
        "predicts": kerhrm.predictor_ != "erm",
        "error": ours[0],
        "erm": theirs[0],
        "worst": max(ours),
        "worst_erm": max(theirs),
        "found": agreement,
    }
    return DataFrame([row]).round(5)


def wrong_shares(estimator: Any, tests: list[Points]) -> list[float]:
    """Share of wrong labels in each of the tests."""
    shares = []
    for x, y in tests:
        wrong = estimator.predict(x) != y
        share = np.mean(wrong)
        shares.append(float(share))
    return shares


def summaries(drawn: Frames) -> Frames:
    """Mean errors, and the largest ratio among draws whose error is .03 more than
    ERM's."""
    draws = drawn[DRAWS]
    ratio = draws["error"] / draws["erm"]
    limit = draws["erm"] + HARM
    far = draws["error"] > limit
    too_far = ratio > HARM_RATIO
    harmed = far & too_far
    largest = ratio.where(far)
    draws = draws.assign(largest=largest, harmed=harmed)
    keys = ["part", "case"]
    groups = draws.groupby(keys, sort=False)
    means = groups[ERRORS].mean()
    counts = groups.agg(
        draws=("error", "size"),
        predicts=("predicts", "sum"),
        harmed=("harmed", "sum"),
        largest=("largest", "max"),
    )
    summary = counts.join(means)
    summary = summary.round(4)
    return {"labels": summary.reset_index()}


STUDY = Study(
    units=units,
    summaries=summaries,
)
