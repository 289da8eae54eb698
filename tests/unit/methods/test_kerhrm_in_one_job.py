"""Algorithm 1 in one job: what it is told, and its two predictors against the steps by hand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch
from methodtools import LARGEST, pose, small
from torch import Tensor

from kerhrm.algorithm.loop import fit, iterate
from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import IGD, Clustering, Heterogeneity, KerHRM
from kerhrm.algorithm.prediction import finish, ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.predictions import Predictions
from kerhrm.data.samples import Samples
from kerhrm.heterogeneity.guard import pooled_direction
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.methods.kerhrm.options import Choice, Literal
from kerhrm.methods.kerhrm.train import train_kerhrm
from kerhrm.methods.registry import METHODS
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network

K = 6


@dataclass(frozen=True)
class Case:
    """Three seeds' points, their features, and test points that nothing is learned from."""

    samples: Samples
    network: Network
    problem: Problem
    test: TestFeatures
    points: tuple[Tensor, Tensor, Tensor]

    def train(
        self, options: KerHRM, none_found: Tensor | None = None
    ) -> tuple[tuple[Predictions, Predictions], Tensor]:
        given = self.network, self.problem, self.test, self.points
        return train_kerhrm(*given, options, none_found)


@pytest.fixture(params=["classification", "regression"])
def case(request: pytest.FixtureRequest, draw_samples: Callable[..., Samples]) -> Case:
    samples = draw_samples(request.param, (4, 1, 7), n=60, noise=0.5)
    network = build(NetworkOptions(widths=[32]), samples.seeds, samples.x.shape[-1])
    features, problem = pose(samples, network)
    new = samples.x_validation + 0.1
    test = TestFeatures(*features.transform(new))
    return Case(samples, network, problem, test, (samples.x, samples.x_validation, new))


def assert_equal(
    found: Predictions, expected: Predictions, rows: Sequence[int] = (0, 1, 2)
) -> None:
    """To the last bit, of the seeds in ``rows``."""
    for name in Predictions.names():
        got, wanted = getattr(found, name)[list(rows)], getattr(expected, name)[list(rows)]
        assert torch.equal(got, wanted), name


def test_literal_adds_nothing_to_the_words() -> None:
    """One start that cannot be set aside, |cos|, the pooled rule, the last iteration."""
    options = Literal()
    assert options.clustering.restarts == len(options.clustering.ridge) == 1
    # no start is degenerate and no environment empty by these
    assert (options.clustering.max_label_information, options.clustering.min_share) == (1, 0)
    assert (options.network.cosine, options.selection, options.end) == (
        "absolute", "pooled", "last"
    )  # fmt: skip
    usual = KerHRM()
    assert options.k == usual.k
    assert options.invariance.alpha == usual.invariance.alpha
    assert (options.invariance.total, options.clustering.target) == ("sum", "label")
    assert options.network.penalty == usual.network.penalty
    assert options.network.check_every is None  # to its end
    assert options.clustering.clusters == Clustering().clusters
    assert options.guard is None


def test_literals_predictors_are_those_of_the_steps(case: Case) -> None:
    problem = case.problem
    options = Literal(k=[3, K], network=IGD(penalty=[1.0, 100.0], steps=20))
    (outputs, ntf), inferred = case.train(options)

    learned, history = zip(*iterate(problem, options), strict=True)
    for directions in history:  # steered by pooled validation
        theta = directions.theta.transpose(1, 2)
        f = problem.psi_validation @ theta + problem.f0_validation.unsqueeze(-1)
        y = problem.y_validation.unsqueeze(-1)
        if problem.task == "classification":
            merit = ((f > 0) == (y > 0)).double().mean(1)
        else:
            merit = -((f - y) ** 2).mean(1)
        assert directions.chosen.tolist() == merit.argmax(-1).tolist()
    final = finish(problem, learned, history, "pooled", "last")
    assert_equal(ntf, ntf_predictions(problem, case.test, final.theta))
    given = final, learned, options.network, "pooled"
    every, chosen, _ = train_networks(case.network, problem, *case.points, *given)
    assert_equal(outputs, every.take([0, 1, 2], chosen.tolist()))

    # the environments of every iteration and k, each point's shares of them as one: but for
    # those where no start was of use
    m = problem.y.shape[1] + problem.y_validation.shape[1]
    for b in range(len(case.samples.seeds)):
        usable = torch.cat([e.usable[b] for e in learned])
        count = int(usable.sum()) or len(usable)
        torch.testing.assert_close(inferred[b].sum(0), torch.full((m,), count).to(inferred))


def test_one_option_set_is_what_the_steps_give(case: Case) -> None:
    """To the last bit, so that the rows of its own choice need not be trained twice."""
    options = Choice(k=K, alpha=10.0, penalty=100.0).of(small(KerHRM(), iterations=2))
    (outputs, ntf), _ = case.train(options)
    with torch.no_grad():
        found = fit(case.problem, options, case.points[:2])
        assert_equal(ntf, ntf_predictions(case.problem, case.test, found.final.theta))
    every, chosen, _ = train_networks(
        case.network, case.problem, *case.points, found.final, found.learned, options.network
    )
    assert set(chosen.tolist()) == {0}
    assert_equal(outputs, every.take([0, 1, 2], [0, 0, 0]))


@pytest.mark.parametrize("case", ["classification"], indirect=True)
def test_with_several_every_seed_has_its_own(case: Case) -> None:
    """Among those of one iteration; that the right one is chosen has tests of its own."""
    one = small(KerHRM(), iterations=1)
    invariance = one.invariance.model_copy(update={"alpha": [0.0, 10.0]})
    options = one.model_copy(update={"k": [3, K], "invariance": invariance})
    (_, ntf), _ = case.train(options)
    singles = {
        (k, alpha): case.train(Choice(k=k, alpha=alpha, penalty=10.0).of(options))[0][1]
        for k in options.k
        for alpha in invariance.alpha
    }
    picked = []
    for b in range(3):
        equal = [
            c for c, s in singles.items() if torch.allclose(s.validation[b], ntf.validation[b])
        ]
        assert len(equal) == 1, b
        picked += equal
    assert len(set(picked)) > 1  # or else one choice for all would do
    assert METHODS["per_seed"].entry == METHODS["kerhrm_grid"].entry
    assert not METHODS["per_seed"].grid


@pytest.mark.parametrize("case", ["regression"], indirect=True)
def test_where_there_are_no_environments_it_is_erm(case: Case) -> None:
    """Of the seeds that the test says so of, and no others."""
    tested = small(KerHRM(), iterations=1).model_copy(update={"guard": Heterogeneity()})
    options = Choice(k=K, alpha=10.0, penalty=100.0).of(tested)
    (outputs, ntf), inferred = case.train(options, torch.tensor([True, False, True]))
    (usual_outputs, usual_ntf), usual = case.train(options, torch.zeros(3).bool())
    assert_equal(outputs, usual_outputs, [1])
    assert_equal(ntf, usual_ntf, [1])
    assert torch.equal(inferred[1], usual[1])
    assert not torch.equal(inferred[0], usual[0])

    pooled = pooled_direction(case.problem, [K])
    assert_equal(ntf, ntf_predictions(case.problem, case.test, pooled.theta), [0, 2])
    igd = options.network
    plain = ERM(steps=igd.steps, learning_rate=igd.learning_rate, evaluate_every=igd.check_every)
    (network,) = train_erm(case.samples, case.network, plain, [plain.steps])
    for part, x in zip(Predictions.names(), case.points, strict=True):
        # the cosine's term is there, with weight 0
        torch.testing.assert_close(getattr(outputs, part)[[0, 2]], network(x)[[0, 2]])
    assert torch.equal(inferred[[0, 2]], torch.ones_like(inferred[[0, 2]]))


@pytest.mark.parametrize("case", ["regression"], indirect=True)
def test_options_without_the_test_do_not_ask_it(case: Case) -> None:
    options = small(KerHRM(), iterations=1)
    assert options.guard is None
    found, told = (case.train(options, n) for n in (None, torch.ones(3).bool()))
    for a, b in zip(found[0], told[0], strict=True):
        assert_equal(a, b)
    assert torch.equal(found[1], told[1])
    assert options.k[-1] <= LARGEST
