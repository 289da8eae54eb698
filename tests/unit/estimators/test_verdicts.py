"""Who predicts better, as a description's first line says it."""

from types import SimpleNamespace

import numpy as np
import pytest

from kerhrm.description.break_even import BreakEven, Losses, break_even
from kerhrm.estimators._described import _verdict


def shares(d: float, rest: float) -> BreakEven:
    """Of differences d in a fifth of 400 points, and rest in the others."""
    small = np.arange(400) < 80
    ones = np.ones(400)
    memberships = np.column_stack([~small, small]).astype(float)
    kerhrm = 1 + np.where(small, d, rest)
    found = break_even(Losses(kerhrm, ones, memberships, ones))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("d", "rest", "text"),
    [
        (0.5, -0.8, "for rows mixed like these KerHRM predicts better; "),
        (-0.8, 0.1, "for rows mixed like these KerHRM predicts better; "),
        (0.8, -0.1, "these ERM, the ordinary model, predicts better (options="),
        (-0.1, 0.8, "these ERM, the ordinary model, predicts better (options="),
        (0.8, -0.2, "for rows mixed like these KerHRM and ERM predict equally well; "),
        (0.0, 0.0, "for rows mixed like these KerHRM and ERM predict equally well; "),
    ],
)
def test_the_better_model_is_named_or_neither(d: float, rest: float, text: str) -> None:
    by_losses = shares(d, rest)
    verdict, notes = _verdict(SimpleNamespace(predictor_="linear"), by_losses, True)
    assert text in verdict
    assert verdict.endswith(str(by_losses))
    assert notes == []
