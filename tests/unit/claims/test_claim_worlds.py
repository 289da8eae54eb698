"""What claims are checked on, against other ways to compute it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.linear_model import LinearRegression

from kerhrm.claims.clustering import explained, heterogeneity, n_apart
from kerhrm.claims.labs import SMOKE, Labs
from kerhrm.claims.population import (
    dependence,
    divergence_of_v,
    divergence_of_x,
    information,
    invariance_set,
    representations,
    represented,
    world,
)
from kerhrm.claims.theory import agreement, shared_information, written_out
from kerhrm.data.classification import generator as classification
from kerhrm.data.classification.options import ClassificationData
from kerhrm.features.extract import extract
from kerhrm.features.ntf import FactoredNTF
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions

rates = st.floats(0.05, 0.95)
LABS = Labs(SMOKE)


def test_representations_are_the_partitions_of_four_cells() -> None:
    found = representations()
    assert len(found) == 15  # Bell's number
    assert len({frozenset(map(frozenset, blocks_of(b))) for b in found}) == 15


def blocks_of(blocks: tuple[int, ...]) -> list[list[int]]:
    return [[c for c, b in enumerate(blocks) if b == block] for block in set(blocks)]


@given(rates, st.sampled_from(representations()))
def test_information_is_what_both_have_in_common(r: float, blocks: tuple[int, ...]) -> None:
    joint = represented(world(r), blocks)
    common = entropy(joint.sum(0)) + entropy(joint.sum(1)) - entropy(joint.ravel())
    assert information(joint) == pytest.approx(common, abs=1e-12)


@given(rates, rates, st.sampled_from(representations()))
def test_dependence_is_what_the_environment_adds(
    r: float, other: float, blocks: tuple[int, ...]
) -> None:
    """H(Y|Psi) - H(Y|Psi,E), as the definition of the invariance set has it."""

    def conditional(joint: np.ndarray) -> float:
        return float(entropy(joint.ravel()) - entropy(joint.sum(0)))

    joints = [represented(world(q), blocks) / 2 for q in (r, other)]
    gain = conditional(sum(joints)) - sum(conditional(2 * j) / 2 for j in joints)
    assert dependence([world(r), world(other)], blocks) == pytest.approx(gain, abs=1e-9)


def test_s_is_invariant_and_v_is_not() -> None:
    found = invariance_set((0.9, 0.7))
    assert (0, 0, 1, 1) in found
    assert (0, 1, 0, 1) not in found
    assert len(invariance_set((0.9, 0.9))) == 15


@pytest.mark.parametrize(("r", "other"), [(0.9, 0.7), (0.8, 0.1)])
def test_divergence_of_the_classification_data(r: float, other: float) -> None:
    """By draws of the generator, with log-odds of Bayes' rule."""
    data = ClassificationData(generator="classification")
    s, v, y = classification.draw(np.random.default_rng(0), 200_000, r, data)
    a = np.sign(v.sum(1))

    def log_posterior(rate: float) -> np.ndarray:
        odds = 2 * s.sum(1) / data.sigma_s**2 + a * np.log(rate / (1 - rate))
        return -np.logaddexp(0, -y * odds)

    drawn = (log_posterior(r) - log_posterior(other)).mean()
    assert divergence_of_x(r, other) == pytest.approx(drawn, rel=0.03)
    assert divergence_of_v(r, other) == pytest.approx(entropy([r, 1 - r], [other, 1 - other]))


def test_written_out_features_have_the_kernel_of_the_factored_ones() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 9, 4)).astype(np.float32))
    ntf, _ = extract(build(NetworkOptions(widths=[7]), [0], 4), x)
    assert isinstance(ntf, FactoredNTF)
    phi = written_out(ntf)
    assert phi.shape[-1] == 4 * 7 + 7 + 7 + 1
    torch.testing.assert_close(phi @ phi.mT, ntf.kernel(ntf).double(), rtol=1e-5, atol=1e-6)


def test_explained_is_the_score_of_least_squares() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 30, 3)), rng.normal(size=(2, 30))
    scores = [LinearRegression().fit(a, b).score(a, b) for a, b in zip(x, y, strict=True)]
    assert explained(torch.from_numpy(x), torch.from_numpy(y)) == pytest.approx(scores)


def test_shared_information_runs_from_none_to_all() -> None:
    same = torch.full((10, 2), 0.5, dtype=torch.float64)
    apart = torch.eye(2, dtype=torch.float64).repeat(5, 1)
    assert float(shared_information(same)) == pytest.approx(0)
    assert float(shared_information(apart)) == pytest.approx(np.log(2))


def test_agreement_does_not_mind_names() -> None:
    truth = torch.tensor([True, True, False, False])
    r = torch.stack([truth, ~truth], -1).double()
    assert float(agreement(r, truth)) == float(agreement(r.flip(-1), truth)) == 1.0


def test_equal_centres_are_counted_once() -> None:
    one, other = torch.zeros(5, dtype=torch.float64), torch.ones(5, dtype=torch.float64)
    outputs = torch.stack([one, other, one, other], -1)
    assert n_apart(outputs[None]).tolist() == [2.0]


def test_labs_know_the_attribute_and_the_best_split() -> None:
    lab = LABS.classification
    assert lab.seeds == [100, 101]
    y = lab.problem.y
    agree = (lab.attribute == y).double().mean(-1)
    assert agree.tolist() == pytest.approx([0.85, 0.85], abs=0.1)  # (.9 + .8) / 2
    mixed = torch.full_like(lab.perfect, 0.5)
    assert (heterogeneity(lab, lab.perfect) > 2).all()
    assert heterogeneity(lab, mixed) == pytest.approx([0, 0], abs=1e-12)


def test_starts_that_repeat_the_label_are_set_aside() -> None:
    lab = LABS.classification
    found = lab.explore(lab.problem.psi_train, SMOKE)
    assert found.shape == (2, 120, 2)
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 120, dtype=torch.float64))
