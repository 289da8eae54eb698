"""Adult-Confounded: the census files, and whom each part is drawn from."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from refusals import refusal

from kerhrm_paper.data.census import NUMBERS, ROWS, Adult
from kerhrm_paper.data.confounded_adult import ConfoundedAdultData, generate
from kerhrm_paper.data.draws import Draws
from kerhrm_paper.data.sources import RawDataUnavailable

REAL_FILES = os.environ.get("KERHRM_RAW_DIR")  # read before the tests' settings hide it
SMALL: dict[str, Any] = {"n_train": 400, "n_validation": 100, "n_test": 200}
ADULT = Adult.fallback()

FIRST = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, \
White, Male, 2174, 0, 40, United-States, <=50K
28, ?, 338409, Bachelors, 13, Married-civ-spouse, ?, Wife, \
Black, Female, 0, 5, 41, Cuba, >50K

"""
SECOND = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Sales, Own-child, \
Black, Male, 0, 0, 42, ?, >50K.

"""


def drawn(**changed: Any) -> Draws:
    options = ConfoundedAdultData(**{**SMALL, **changed})
    return generate(options, [0, 1], ADULT)


def test_the_files_are_read(tmp_path: Path) -> None:
    """A remark, blank lines, a full stop behind incomes, and missing values."""
    first = tmp_path / "adult.data"
    second = tmp_path / "adult.test"
    first.write_text(FIRST)
    second.write_text(SECOND)
    adult = Adult.read([first, second])
    assert adult.numbers.tolist() == [
        [39, 13, 2174, 0, 40],
        [28, 13, 0, 5, 41],
        [25, 7, 0, 0, 42],
    ]
    assert adult.is_black.tolist() == [False, True, True]
    assert adult.is_male.tolist() == [True, False, True]
    assert adult.earns_more.tolist() == [False, True, True]
    assert adult.is_test.tolist() == [False, False, True]
    # one value of each of six columns, "?" among them
    assert adult.indicators.sum(axis=1).tolist() == [6] * 3


def test_a_run_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "adult.npz"
    ADULT.save(path)
    again = Adult.load(path)
    assert again.is_fallback
    assert_array_equal(again.numbers, ADULT.numbers)
    assert_array_equal(again.indicators, ADULT.indicators)
    assert again.is_test.sum() == ROWS[1]


def incomes_by_sex(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Shares of the women and of the men who earn more."""
    is_male = x[:, -1] > 0
    earns_more = y > 0
    return earns_more[~is_male].mean(), earns_more[is_male].mean()


@pytest.mark.parametrize("agreement", [0.5, 0.9])
def test_shares_of_each_sex(agreement: float) -> None:
    data = drawn(agreement=agreement)
    for part in (data.train, data.validation):
        n = part.y.shape[1]
        for x, y in zip(part.x, part.y, strict=True):
            women, men = incomes_by_sex(x, y)
            # each of four groups is rounded to whole people
            assert men == pytest.approx(agreement, abs=2 / (0.6 * n))
            assert women == pytest.approx(1 - agreement, abs=2 / (0.3 * n))


def test_shares_in_each_test_environment() -> None:
    data = drawn(r_test=[0.2, 0.7])
    assert data.test_environments == ["r_test=0.20", "r_test=0.70"]
    for number, share in enumerate((0.2, 0.7)):
        is_here = data.test.environment[0] == number
        assert is_here.sum() == SMALL["n_test"]
        women, men = incomes_by_sex(data.test.x[0, is_here], data.test.y[0, is_here])
        assert men == pytest.approx(share, abs=0.03)
        assert women == pytest.approx(1 - share, abs=0.03)


def test_environments_say_whose_income_is_not_expected() -> None:
    data = drawn()
    is_male = data.train.x[..., -1] > 0
    earns_more = data.train.y > 0
    assert_array_equal(data.train.environment, earns_more != is_male)


def test_sexes_and_races_keep_their_shares() -> None:
    data = drawn(n_train=2000)
    is_first = ~ADULT.is_test
    for column, group in ((-1, ADULT.is_male), (-2, ADULT.is_black)):
        share = data.train.x[0, :, column].mean()
        assert share == pytest.approx(group[is_first].mean(), abs=0.01)


def distinct(x: np.ndarray) -> set[bytes]:
    """Different rows of x."""
    return {row.tobytes() for row in x}


def test_nobody_trains_and_validates() -> None:
    """All people of the stand-ins differ in their numbers."""
    data = drawn()
    for seed in range(2):
        train = distinct(data.train.x[seed])
        validation = distinct(data.validation.x[seed])
        test = distinct(data.test.x[seed])
        assert len(train) == SMALL["n_train"]
        assert len(validation) == SMALL["n_validation"]
        assert not train & validation
        assert not test & (train | validation)


def with_few(people: np.ndarray, n: int) -> Adult:
    """The stand-ins without all but n of some people."""
    rows = np.flatnonzero(people)
    keeps = np.ones(len(people), bool)
    keeps[rows[n:]] = False
    fields = dict(vars(ADULT))
    for name, values in fields.items():
        if isinstance(values, np.ndarray):
            fields[name] = values[keeps]
    return Adult(**fields)


def test_people_repeat_evenly_where_there_are_too_few() -> None:
    """Nobody twice before everybody once."""
    is_rare = ADULT.is_test & ADULT.is_male & ~ADULT.is_black
    is_rare &= ~ADULT.earns_more
    options = ConfoundedAdultData(**SMALL, r_test=[0.1])
    adult = with_few(is_rare, 30)
    data = generate(options, [0], adult)
    x = data.test.x[0]
    is_male = x[:, -1] > 0
    is_black = x[:, -2] > 0
    earns_more = data.test.y[0] > 0
    drawn_rare = x[is_male & ~is_black & ~earns_more]
    _, times = np.unique(drawn_rare, axis=0, return_counts=True)
    assert len(times) == 30
    assert times.max() - times.min() <= 1
    assert times.max() > 1


def test_nobody_to_draw_is_refused() -> None:
    is_rare = ADULT.is_test & ADULT.is_male & ~ADULT.is_black
    adult = with_few(is_rare & ADULT.earns_more, 0)
    options = ConfoundedAdultData(**SMALL)
    with refusal("has nobody; give the published files"):
        generate(options, [0], adult)


@pytest.mark.parametrize("size", ["n_train", "n_validation", "n_test"])
def test_more_people_than_there_are_are_refused(size: str) -> None:
    with refusal(f"{size} is at most"):
        ConfoundedAdultData.parse({size: 30_000}, "")


def test_numbers_are_standardised_on_the_first_file() -> None:
    """No part's size moves the features of another one."""
    numbers = ADULT.numbers[~ADULT.is_test]
    expected = (numbers - numbers.mean(0)) / numbers.std(0)
    known = {row.tobytes() for row in expected.astype(np.float32)}
    for x in drawn().train.x[0, :, : len(NUMBERS)]:
        assert x.tobytes() in known


def test_the_published_files() -> None:
    if REAL_FILES is None:
        pytest.skip("KERHRM_RAW_DIR is not set")
    try:
        adult = Adult.fetch(REAL_FILES, on_missing="fail")
    except RawDataUnavailable as error:
        pytest.skip(str(error))
    assert np.bincount(adult.is_test).tolist() == [*ROWS]
    # shares that the repository's description gives: 76.07 % and 23.93 % of all
    assert adult.earns_more.mean() == pytest.approx(0.2393, abs=5e-5)
    assert adult.is_male.mean() == pytest.approx(0.6685, abs=5e-5)
    assert adult.indicators.shape == (sum(ROWS), 9 + 16 + 7 + 15 + 6 + 42)
