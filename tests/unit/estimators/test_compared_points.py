"""Errors of models at compared points, and the standard errors of a difference."""

import numpy as np
import pytest

from kerhrm.estimators._compared import ComparedPoints


def test_the_standard_error_is_that_of_a_mean() -> None:
    random = np.random.default_rng(0)
    y, f, g = random.normal(size=(3, 50))
    outputs = {"KerHRM": f, "constant": g}
    is_member = np.arange(50) < 20
    member = is_member.astype(float)
    compared = ComparedPoints(outputs, y, {"a": member}, "regression")
    errors = compared.doubts()
    squares_of_f = (f - y) ** 2
    squares_of_g = (g - y) ** 2
    difference = squares_of_f - squares_of_g
    of_all = difference.std() / 50**0.5
    difference_of_members = difference[:20]
    of_members = difference_of_members.std() / 20**0.5
    assert errors["all rows"] == pytest.approx(of_all)
    assert errors["a"] == pytest.approx(of_members)


def test_errors_are_means_over_memberships() -> None:
    y = np.array([1.0, -1.0, 1.0])
    f = np.array([0.5, 0.5, 2.0])
    members = np.array([1.0, 0.5, 0.0])
    groups = {"a": members, "nobody": np.zeros(3)}
    table = ComparedPoints({"f": f}, y, groups, "regression").errors()
    mean = 3.5 / 3
    mean_of_a = (0.25 + 0.5 * 2.25) / 1.5
    expected = {"all rows": mean, "a": mean_of_a}
    errors = table["f"].to_dict()
    assert errors == pytest.approx(expected)

    of_labels = ComparedPoints({"f": f}, y, groups, "classification").errors()
    expected = {"all rows": 1 / 3, "a": 0.5 / 1.5}
    shares = of_labels["f"].to_dict()
    assert shares == pytest.approx(expected)


def test_an_output_that_is_no_number_is_a_wrong_label() -> None:
    y = np.array([-1.0, -1.0, 1.0])
    outputs = {"f": np.array([np.nan, -1.0, -np.inf]), "g": y}
    table = ComparedPoints(outputs, y, {}, "classification").errors()
    assert table.loc["all rows"].tolist() == [3, pytest.approx(2 / 3), 0]
