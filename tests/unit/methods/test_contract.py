"""What every method promises to its callers, whatever it optimises."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.selection import Task
from kerhrm.config.methods import DRO, EIIL, ERM, HRM, IGA, IRM, LeastSquares
from kerhrm.features.mlp import MLP, init_mlp
from kerhrm.methods.dro import train_dro
from kerhrm.methods.eiil import train_eiil
from kerhrm.methods.erm import train_erm
from kerhrm.methods.hrm import train_hrm
from kerhrm.methods.iga import train_iga
from kerhrm.methods.irm import train_irm
from kerhrm.methods.references import train_least_squares
from kerhrm.methods.samples import Predictor, Samples

#: not 0, 1, 2, so that a method cannot take a row's number for its seed
SEEDS, D, N_ENVIRONMENTS = (7, 3, 12), 4, 3


@dataclass(frozen=True)
class Method:
    name: str
    train: Callable[[Samples, MLP, Any], Predictor]
    options: Any
    labelled: bool = False  #: given the environments
    tasks: tuple[Task, ...] = ("classification", "regression")

    def __call__(self, samples: Samples) -> Predictor:
        return self.train(self.given(samples), networks(samples), self.options)

    def given(self, samples: Samples) -> Samples:
        """The samples, with labels only where the method may have them."""
        return samples if self.labelled else replace(samples, environment=None)


ADAM = {"steps": 25, "learning_rate": 1e-2}
IRMV1 = {"weight": 2.0, "anneal": 4, **ADAM}
#: so few steps that the random start still shows
INFERENCE = {"reference_steps": 8, "inference_steps": 5, "inference_rate": 0.01}
METHODS = [
    Method("hrm", train_hrm, HRM(iterations=2, cluster_steps=60, cluster_rounds=3, gate_steps=60)),
    Method("least squares", train_least_squares, LeastSquares()),
    Method("erm", train_erm, ERM(evaluate_every=4, **ADAM)),
    Method("dro", train_dro, DRO(**ADAM)),
    Method("eiil", train_eiil, EIIL(**IRMV1, **INFERENCE)),
    Method(
        "eiil, logistic",
        train_eiil,
        EIIL(loss="logistic", **IRMV1, **INFERENCE),
        tasks=("classification",),
    ),
    Method("irm", train_irm, IRM(**IRMV1), labelled=True),
    Method(
        "irm, logistic",
        train_irm,
        IRM(loss="logistic", **IRMV1),
        labelled=True,
        tasks=("classification",),
    ),
    Method("iga", train_iga, IGA(penalty=0.3, **ADAM), labelled=True),
    Method(
        "iga, logistic",
        train_iga,
        IGA(loss="logistic", penalty=0.3, **ADAM),
        labelled=True,
        tasks=("classification",),
    ),
]


def cases(labelled: bool | None = None) -> pytest.MarkDecorator:
    """Every method with every task it has."""
    return pytest.mark.parametrize(
        ("method", "task"),
        [
            pytest.param(method, task, id=f"{method.name}-{task}")
            for method in METHODS
            for task in method.tasks
            if labelled in (None, method.labelled)
        ],
    )


Draw = Callable[..., Samples]


@pytest.fixture
def draw(draw_samples: Draw) -> Draw:
    """Samples of a task and of some seeds."""

    def sized(task: Task, seeds: tuple[int, ...] = SEEDS) -> Samples:
        return draw_samples(task, seeds, d=D, environments=N_ENVIRONMENTS, equal=False, noise=0.5)

    return sized


def tensors(samples: Samples) -> dict[str, Tensor]:
    values = {field.name: getattr(samples, field.name) for field in fields(samples)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def networks(samples: Samples) -> MLP:
    return init_mlp(samples.seeds, (D, 16, 1))


def new_points(samples: Samples, count: int = 17) -> Tensor:
    """Points that no method was trained on; row b is the same whatever the other seeds."""
    rows = [
        torch.randn(count, D, generator=torch.Generator().manual_seed(seed))
        for seed in samples.seeds
    ]
    return torch.stack(rows)


@cases()
def test_one_finite_output_a_point(method: Method, task: Task, draw: Draw) -> None:
    samples = draw(task)
    predict = method(samples)
    for x in (samples.x, samples.x_validation, new_points(samples), new_points(samples, 1)):
        outputs = predict(x)
        assert outputs.shape == x.shape[:-1]
        assert outputs.dtype == x.dtype
        assert not outputs.requires_grad
        assert bool(outputs.isfinite().all())


@cases()
def test_outputs_follow_the_labels(method: Method, task: Task, draw: Draw) -> None:
    samples = draw(task)
    outputs = method(samples)(samples.x)
    assert bool((torch.cosine_similarity(outputs, samples.y, dim=-1) > 0.4).all())


@cases()
def test_a_point_does_not_notice_the_others(method: Method, task: Task, draw: Draw) -> None:
    samples = draw(task)
    predict, x = method(samples), new_points(samples)
    torch.testing.assert_close(predict(x[:, 3:8]), predict(x)[:, 3:8], rtol=1e-5, atol=1e-6)


@cases()
def test_the_same_again_to_the_last_bit(method: Method, task: Task, draw: Draw) -> None:
    samples = draw(task)
    x = new_points(samples)
    first = method(samples)(x)
    torch.manual_seed(1)  # no method draws from the global generator
    assert torch.equal(method(draw(task))(x), first)


@cases()
def test_a_seed_does_not_notice_the_others(method: Method, task: Task, draw: Draw) -> None:
    samples = draw(task)
    together = method(samples)(new_points(samples))
    for b, seed in enumerate(SEEDS):
        one = draw(task, (seed,))
        assert torch.equal(one.x[0], samples.x[b])
        alone = method(one)(new_points(one))
        torch.testing.assert_close(together[b], alone[0], rtol=0, atol=1e-5)
    assert float((together[0] - together[1]).abs().max()) > 0.1  # rows are not all the same


@cases()
def test_what_is_given_is_not_changed(method: Method, task: Task, draw: Draw) -> None:
    samples, mlp = method.given(draw(task)), networks(draw(task))
    before = {name: t.clone() for name, t in tensors(samples).items()}
    weights = [p.clone() for p in mlp.parameters()]
    x = new_points(samples)
    same_x = x.clone()
    method.train(samples, mlp, method.options)(x)
    for name, t in tensors(samples).items():
        assert torch.equal(t, before[name])
        assert not t.requires_grad
    for p, old in zip(mlp.parameters(), weights, strict=True):
        assert torch.equal(p, old)
        assert not p.requires_grad
    assert torch.equal(x, same_x)


@cases(labelled=False)
def test_no_other_method_looks_at_labels(method: Method, task: Task, draw: Draw) -> None:
    samples, mlp = draw(task), networks(draw(task))
    x = new_points(samples)
    without, given = (
        method.train(s, mlp, method.options)(x)
        for s in (replace(samples, environment=None), samples)
    )
    assert torch.equal(without, given)


@cases(labelled=True)
def test_environments_have_no_names(method: Method, task: Task, draw: Draw) -> None:
    samples = draw(task)
    assert samples.environment is not None
    x = new_points(samples)
    outputs = method(samples)(x)
    renamed = torch.tensor([2, 0, 1])[samples.environment]
    got = method(replace(samples, environment=renamed))(x)
    torch.testing.assert_close(got, outputs, rtol=0, atol=1e-5)
    # but who belongs together matters
    mixed = samples.environment.roll(1, dims=-1)
    other = method(replace(samples, environment=mixed))(x)
    assert bool(((other - outputs).abs().amax(-1) > 1e-2).all())
