"""Algorithm 1 as printed: what it is told, and its two predictors against the steps by hand."""

from collections.abc import Callable

import torch

from kerhrm.algorithm.loop import iterate
from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import IGD, Clustering, KerHRM
from kerhrm.algorithm.prediction import finish, ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.samples import Samples
from kerhrm.features.map import NTFMap
from kerhrm.methods.literal.options import Literal
from kerhrm.methods.literal.train import train_literal
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions

K = 6


def test_it_adds_nothing_to_the_words() -> None:
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


def test_its_predictors_are_those_of_the_steps(draw_samples: Callable[..., Samples]) -> None:
    samples = draw_samples("classification", (4, 1), n=60, noise=0.5)
    network = build(NetworkOptions(widths=[32]), samples.seeds, samples.x.shape[-1])
    features = NTFMap.fit(network, samples.x, K)
    psi, f0 = features.transform(samples.x_validation)
    new = samples.x_validation + 0.1
    problem = Problem(
        features.reduction.u, features.reduction.s, psi, features.f0, f0, samples.y.double(),
        samples.y_validation.double(), samples.task, list(samples.seeds),
    )  # fmt: skip
    points, test = (samples.x, samples.x_validation, new), TestFeatures(*features.transform(new))
    options = Literal(k=[3, K], network=IGD(penalty=[1.0, 100.0], steps=20))
    outputs, ntf = train_literal(network, problem, test, points, options)

    learned, history = zip(*iterate(problem, options), strict=True)
    for directions in history:  # steered by pooled validation
        theta = directions.theta.transpose(1, 2)
        f = problem.psi_validation @ theta + problem.f0_validation.unsqueeze(-1)
        hits = ((f > 0) == (problem.y_validation > 0).unsqueeze(-1)).double().mean(1)
        assert directions.chosen.tolist() == hits.argmax(-1).tolist()
    final = finish(problem, learned, history, "pooled", "last")
    expected = ntf_predictions(problem, test, final.theta)
    torch.testing.assert_close(ntf.test, expected.test)
    given = final, learned, options.network, "pooled"
    every, chosen, _ = train_networks(network, problem, *points, *given)
    for b, c in enumerate(chosen.tolist()):
        torch.testing.assert_close(outputs.test[b], every.test[b, c])
