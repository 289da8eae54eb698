"""An auxiliary column under drift: false alarms, errors and power of its test.

Table ``drift``: parts ``drift`` (five shapes of one function whose first input moves
with Z, two tasks, 100 draws each) and ``change`` (the function changes with Z, too);
how often environments were detected, and the mean and largest error of KerHRM over
ERM's (``TangentRidge``) on rows of the same law.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product

import numpy as np
from pandas import DataFrame

from kerhrm.estimators.baselines import TangentRidge
from kerhrm.estimators.kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.randomness import stream
from kerhrm_paper.studies.noises import Rows
from kerhrm_paper.studies.study import (
    Array,
    Files,
    Frames,
    Study,
    StudyRow,
    Unit,
    detections,
    keyed,
    quiet,
)

DRAWS = "drift_draws"
ROWS = 500
TEST_ROWS = 2000
REGIONS = 5
TASKS = "numbers", "labels"


# --- laws -----------------------------------------------------------------------------


def linear(moving: Array, second: Array) -> Array:
    """Linear in both inputs."""
    return 1.5 * moving + second


def square(moving: Array, second: Array) -> Array:
    """A parabola of the input that moves."""
    return moving**2 + second


def wave(moving: Array, second: Array) -> Array:
    """A wave of the input that moves."""
    return 1.5 * np.sin(2 * moving) + second


def step(moving: Array, second: Array) -> Array:
    """A jump at a value of the input that moves."""
    jump = moving > 0.5
    return 2.0 * jump + second


def one_input(moving: Array, second: Array) -> Array:
    """Linear in the input that moves."""
    return 1.5 * moving


GROWING_NOISE = "growing noise"
Shape = Callable[[Array, Array], Array]
SHAPES: dict[str, Shape] = {
    "linear": linear,
    "square": square,
    "wave": wave,
    "step": step,
    GROWING_NOISE: one_input,
}
#: values of the target above which a label is 1, where this is not 0
THRESHOLDS = {"square": 1.5, "step": 0.8}


@dataclass(frozen=True)
class Drift:
    """Four inputs, a target, and a time whose five fifths move the first input.

    In the last two of them the slope of the second input is ``slope`` and not 1.
    """

    part: str
    shape: str
    task: str
    slope: float

    def __call__(self, rows: Rows) -> tuple[Array, Array, Array]:
        """Draw inputs (n, 4), targets (n,) and times (n,)."""
        time = rows.random.random(rows.n)
        region = (REGIONS * time).astype(int)
        x = rows.normal(4)
        shifts = np.linspace(-1.5, 1.5, REGIONS)
        x[:, 0] += shifts[region]
        moving, second, *_ = x.T
        noise = self.scale(moving) * rows.noise()
        shape = SHAPES[self.shape]
        y = shape(moving, second) + noise
        late = region >= REGIONS - 2
        turned = self.slope - 1
        change = np.where(late, turned, 0.0)
        y += change * second
        if self.task == "labels":
            threshold = THRESHOLDS.get(self.shape, 0.0)
            is_positive = y > threshold
            y = np.where(is_positive, 1.0, -1.0)
        return x, y, time

    def scale(self, moving: Array) -> Array:
        """Standard deviation of the noise, (n,)."""
        if self.shape == GROWING_NOISE:
            return 0.3 + np.abs(moving) / 2
        return np.full(len(moving), 0.7)

    def unit(self, seed: int) -> Unit:
        """The unit of one draw."""
        key = asdict(self) | {"seed": seed}
        compute = partial(fitted, self, seed)
        return Unit(DRAWS, key, compute)


# --- units ----------------------------------------------------------------------------


def units(files: Files) -> Iterator[Unit]:
    """A unit for each table that is drawn."""
    for shape, task in product(SHAPES, TASKS):
        law = Drift("drift", shape, task, slope=1.0)
        for seed in range(100):
            yield law.unit(seed)
    slopes = 0.8, 0.6, 0.3
    shapes = "linear", "square"
    changes = product(slopes, shapes, TASKS)
    for slope, shape, task in changes:
        law = Drift("change", shape, task, slope)
        for seed in range(20):
            yield law.unit(seed)


def fitted(law: Drift, seed: int) -> DataFrame:
    """KerHRM with the time as auxiliary column, and its error over ERM's."""
    slope = str(law.slope)
    words = law.part, law.shape, law.task, slope
    random = stream(seed, "drift", "held out again", *words)
    rows = Rows(random, ROWS)
    x, y, time = law(rows)
    test_rows = Rows(random, TEST_ROWS)
    x_test, y_test, _ = law(test_rows)
    labels = law.task == "labels"
    estimator = KerHRMClassifier if labels else KerHRMRegressor
    kerhrm = estimator(random_state=seed)
    erm = TangentRidge(
        task="classification" if labels else "regression",
        random_state=seed,
    )
    ratio = 1.0  # where KerHRM is ERM
    with quiet():
        kerhrm.fit(x, y, auxiliary=time)
        predicts = kerhrm.predictor_ != "erm"
        if predicts:
            erm.fit(x, y)
            measure = wrong_share if labels else squared_error
            ours = measure(kerhrm.predict(x_test), y_test)
            theirs = measure(erm.predict(x_test), y_test)
            ratio = ours / theirs
    test = kerhrm.heterogeneity_
    assert test is not None
    row = {
        "detected": test.detected,
        "p_value": round(test.p_value, 5),
        "predicts": predicts,
        "ratio": round(ratio, 5),
    }
    return DataFrame([row])


def wrong_share(outputs: Array, y: Array) -> float:
    """Share of wrong labels."""
    wrong = outputs != y
    return float(np.mean(wrong))


def squared_error(outputs: Array, y: Array) -> float:
    """Mean squared error."""
    squares = (outputs - y) ** 2
    return float(np.mean(squares))


# --- results --------------------------------------------------------------------------


def summaries(drawn: Frames) -> Frames:
    """How often environments were detected, and errors over ERM's."""
    draws = drawn[DRAWS]
    rows = []
    columns = ["part", "shape", "task", "slope"]
    groups = draws.groupby(columns, sort=False)
    for values, group in groups:
        key = keyed(columns, values)
        rows.append(key | rates(group))
    of_all = keyed(columns, ("drift", "all", "both", 1.0))
    drifting = draws[draws["part"] == "drift"]
    rows.append(of_all | rates(drifting))
    summary = DataFrame(rows).round(4)
    return {"drift": summary}


def rates(draws: DataFrame) -> StudyRow:
    """How often environments were detected, and errors over ERM's."""
    ratios = draws["ratio"]
    row = detections(draws)
    row["ratio"] = ratios.mean()
    row["largest"] = ratios.max()
    return row


STUDY = Study(
    units=units,
    summaries=summaries,
)
