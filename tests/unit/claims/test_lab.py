"""What small runs measure, against the data's own law and scikit-learn."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression

from kerhrm_paper.claims.lab import SMOKE, Lab, classification_options
from kerhrm_paper.claims.small_runs import _explained
from kerhrm_paper.data.paper_data import PaperData, inputs


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("classification", 100, SMOKE)


def test_a_lab_has_the_attribute_and_the_best_split(lab: Lab) -> None:
    agree = lab.v.sign() == lab.problem.y
    share = float(agree.double().mean())
    assert share == pytest.approx(0.85, abs=0.1)  # (.9 + .8) / 2
    assert lab.divergence(lab.perfect) > 2
    without_information = torch.full_like(lab.perfect, 0.5)
    divergence = lab.divergence(without_information)
    assert divergence == pytest.approx(0, abs=1e-12)
    memberships = lab.explore(lab.problem.psi_train)
    assert_allclose(memberships.sum(-1), 1)


def test_sums_are_those_of_the_points_before_they_were_mixed(lab: Lab) -> None:
    options = classification_options(SMOKE) | {"scramble": "identity"}
    data = PaperData("classification", options).draw(100)
    x = inputs(data, SMOKE.width).x.double()
    s, v = x.chunk(2, dim=-1)
    assert_allclose(lab.s, s.sum(-1), atol=1e-5)
    assert_allclose(lab.v, v.sum(-1), atol=1e-5)


def test_explained_share_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 3))
    y = rng.normal(size=30)
    model = LinearRegression().fit(x, y)
    r_squared = model.score(x, y)
    features = torch.from_numpy(x)
    labels = torch.from_numpy(y)
    explained = _explained(features, labels)
    assert explained == pytest.approx(r_squared)
