"""Data sets on disk: who may know what stands in which file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kerhrm.errors import KerhrmError
from kerhrm_paper.data.checks import check_generated
from kerhrm_paper.data.draws import Draws, Split
from kerhrm_paper.runs.arrays import load_arrays

SEEDS = (102, 7, 100)
D = 4
FILES = ("train", "validation", "test_inputs", "environments", "test_labels")
SIZES = {"train": 6, "validation": 5, "test": 3}


def split(n: int, number: int) -> Split:
    rng = np.random.default_rng(number)
    shape = (len(SEEDS), n)
    x = rng.standard_normal((*shape, D))
    y = rng.standard_normal(shape)
    environment = rng.integers(0, 3, shape)
    return Split(
        x.astype(np.float32),
        y.astype(np.float32),
        environment.astype(np.int8),
    )


def dataset() -> Draws:
    parts = []
    for number, n in enumerate(SIZES.values()):
        parts.append(split(n, number))
    names = ("r=-2", "r=-3")
    return Draws(*parts, names, SEEDS, "regression", "fallback:a")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {name: tmp_path / f"{name}.npz" for name in FILES}
    dataset().save(paths)
    return paths


def test_arrays_come_back_as_they_were(files: dict[str, Path]) -> None:
    data = dataset()
    train = data.train
    validation = data.validation
    expected = {
        "train": {"x": train.x, "y": train.y},
        "validation": {"x": validation.x, "y": validation.y},
        "test_inputs": {"x": data.test.x},
        "environments": {
            "train": data.train.environment,
            "validation": data.validation.environment,
        },
        "test_labels": {
            "y": data.test.y,
            "environment": data.test.environment,
            "unit": np.ones(len(data.seeds)),
        },
    }
    for name, path in files.items():
        arrays, _ = load_arrays(path)
        assert set(arrays) == set(expected[name])
        for key, array in arrays.items():
            expected_array = expected[name][key]
            assert_array_equal(array, expected_array)
            assert array.dtype == expected_array.dtype


def fine(task: str = "classification") -> Draws:
    """A data set that fits what it declares: two test environments, -1 and +1."""

    def part(n: int) -> Split:
        rng = np.random.default_rng(n)
        n_seeds = len(SEEDS)
        draws = rng.standard_normal((n_seeds, n, D))
        x = draws.astype(np.float32)
        numbers = np.arange(n)
        is_odd = numbers % 2
        alternating = np.where(is_odd, 1.0, -1.0)
        of_seeds = np.ones((n_seeds, 1))
        y = alternating * of_seeds
        e = np.broadcast_to(is_odd, y.shape)
        labels = y.astype(np.float32)
        environment = e.astype(np.int8)
        return Split(x, labels, environment)

    train = part(6)
    validation = part(5)
    test = part(4)
    names = ["a", "b"]
    return Draws(train, validation, test, names, SEEDS, task)


Change = Callable[[Draws], Any]


def part(name: str, **arrays: Callable[[Any], Any]) -> Change:
    """Another array in one part."""

    def change(data: Draws) -> Draws:
        old: Split = getattr(data, name)
        new = {}
        for key, function in arrays.items():
            new[key] = function(getattr(old, key))
        changed = replace(old, **new)
        return replace(data, **{name: changed})

    return change


def declared(**changes: Any) -> Change:
    """Another declaration of the whole."""
    return lambda data: replace(data, **changes)


def filled(array: np.ndarray, value: float) -> np.ndarray:
    """A copy whose point 2 of replicate 1 has another value."""
    copy = array.copy()
    copy[1, 2] = value
    return copy


def rolled(array: np.ndarray) -> np.ndarray:
    """A copy whose replicate 1 has another order."""
    copy = array.copy()
    last_first = np.roll(copy[1], 1)
    copy[1] = last_first
    return copy


def one_class_of_one_seed(y: np.ndarray) -> np.ndarray:
    """A copy whose replicate 1 is positive."""
    copy = y.copy()
    copy[1] = abs(y[1])
    return copy


ZEROS = np.zeros((len(SEEDS), 6, 2), np.float32)
WRONG: dict[str, tuple[Change, str]] = {
    "nothing": (lambda d: None, "generate must return Draws; got NoneType"),
    "0 and 1": (part("test", y=lambda y: (y + 1) / 2), "test.y must be -1 and +1"),
    "1 and 2": (part("train", y=lambda y: (y + 3) / 2), "classification; got 2.0"),
    "continuous": (part("validation", y=lambda y: y * 0.3), "validation.y must be -1"),
    "one class": (part("train", y=np.abs), "train.y of replicate 0 has one class"),
    "one class of one seed": (
        part("train", y=one_class_of_one_seed),
        "train.y of replicate 1 has one class",
    ),
    "task": (declared(task="regression"), "task must be classification"),
    "one name": (
        declared(test_environments=["a"]),
        "test_environments has 1 names, but test.environment has the numbers [0, 1]",
    ),
    "three names": (declared(test_environments=["a", "b", "c"]), "has 3"),
    "two alike": (declared(test_environments=["a", "a"]), "'a' twice"),
    "text": (declared(test_environments="ab"), "must be a list of names"),
    "blank": (declared(test_environments=["a", " "]), "a list of names"),
    "no list": (declared(test_environments=None), "a list of names"),
    "no headline": (declared(n_headline=0), "a number from 1 to 2, the"),
    "headline of three": (declared(n_headline=3), "; got 3"),
    "headline by name": (declared(n_headline="a"), "n_headline must be"),
    "fewer points": (
        part(
            "train",
            x=lambda x: x[:, :5],
            y=lambda y: y[:, :5],
            environment=lambda e: e[:, :5],
        ),
        "train has 5 points, but n_points of its options is 6",
    ),
    "NaN in x": (
        part("train", x=lambda x: filled(x, np.nan)),
        "train.x must be finite; got NaN or infinity in row 2 of replicate 1",
    ),
    "enormous x": (
        part("train", x=lambda x: filled(x, 1e30)),
        "train.x must be below 1e+20 in size; got 1e+30 in replicate 1",
    ),
    "inf in y": (part("test", y=lambda y: filled(y, np.inf)), "test.y must be finite"),
    "no seeds": (part("train", x=lambda x: x[0]), "train.x must have shape (S, n, d)"),
    "flat": (part("test", y=lambda y: y[..., None]), "test.y must have shape (S, n)"),
    "one of the seeds": (part("train", x=lambda x: x[:1]), "with S=3 seeds; got (1,"),
    "other seeds": (declared(seeds=[0, 1, 2]), "seeds must be those"),
    "no list of seeds": (declared(seeds=None), "seeds must be those"),
    "fewer rows of x": (part("test", x=lambda x: x[:, :3]), "each of the n=4 points"),
    "no rows": (
        part(
            "test",
            x=lambda x: x[:, :0],
            y=lambda y: y[:, :0],
            environment=lambda e: e[:, :0],
        ),
        "test.y must have a row",
    ),
    "width of test points": (
        part("test", x=lambda x: x[..., :3]),
        "test.x must have the 4 columns of train.x; got 3",
    ),
    "auxiliary of one part": (
        part("train", auxiliary=lambda _: ZEROS),
        "validation.auxiliary must have the 2 columns of train.auxiliary; got None",
    ),
    "float64": (part("train", x=np.float64), "train.x must be float32; got float64"),
    "list": (part("train", x=lambda x: x.tolist()), "must be a NumPy array; got list"),
    "masked": (
        part("train", x=np.ma.asarray),
        "train.x must be a plain array; got a masked one",
    ),
    "fractions": (
        part("test", environment=np.float32),
        "numbers 0, 1, ...; got float32",
    ),
    "negative": (part("train", environment=lambda e: e - 1), "0, 1, ...; got -1"),
    "another order": (part("test", environment=rolled), "the same for every seed"),
    "no part": (declared(test=None), "test must be a Split; got NoneType"),
    "unit": (declared(unit=np.zeros(3)), "unit must be 3 positive numbers"),
    "text units": (declared(unit=["m"] * 3), "unit must be 3 positive"),
    "NaN units": (declared(unit=[1, np.nan, 1]), "unit must be 3 positive"),
    "one unit": (declared(unit=2.0), "unit must be 3 positive numbers"),
    "source": (declared(source=None), "source must be text; got None"),
}


@pytest.mark.parametrize(("change", "problem"), WRONG.values(), ids=WRONG)
def test_what_no_method_could_learn_is_refused(change: Change, problem: str) -> None:
    data = change(fine())
    with pytest.raises(KerhrmError) as error:
        check_generated(data, "package p", "classification", 6, SEEDS)
    text = str(error.value)
    assert text.startswith("package p: ")
    assert problem in text
    assert error.value.hint
    assert "\n" not in text


def test_what_fits_is_returned_as_it_is() -> None:
    for task in ("classification", "regression"):
        data = fine(task)
        checked = check_generated(data, "", data.task, 6, SEEDS)
        assert checked is data
