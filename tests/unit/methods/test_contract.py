"""What every method of the registry promises to its callers, whatever it optimises."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
import torch
from methodtools import LARGEST, LOSSES, pose, small
from torch import Tensor

from kerhrm.algorithm.problem import TestFeatures
from kerhrm.data.dataset import Task
from kerhrm.data.samples import Predictor, Samples
from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.features.map import NTFMap
from kerhrm.methods.registry import METHODS, Method
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network
from kerhrm.sections import Section

#: not 0, 1, 2, so that a method cannot take a row's number for its seed
SEEDS, D, N_ENVIRONMENTS = (7, 3, 12), 4, 3


@dataclass(frozen=True)
class Case:
    method: Method
    options: Any
    task: Task

    def given(self, samples: Samples) -> Samples:
        """The samples, with labels only where the method may have them."""
        return samples if self.method.labels else replace(samples, environment=None)

    def __call__(self, samples: Samples) -> Predictor:
        return self.train(self.given(samples), draw_network(samples))

    def train(self, samples: Samples, network: Network) -> Predictor:
        entry, options = load(self.method.entry), self.options
        if self.method.reads == "points":
            if self.method.path:
                return entry(samples, network, options, [getattr(options, self.method.path)])[0]
            return entry(samples, network, options)
        ntf, problem = pose(samples, network)
        if self.method.reads == "features":
            labels = samples.environment
            m = samples.y_validation.shape[-1]
            theta = entry(problem, options, None if labels is None else (labels, labels[:, :m]))
            assert theta.shape == (len(samples.y), LARGEST)
            return lambda x: theta_outputs(ntf, theta, x)
        if self.method.reads == "whole":

            def outputs(new: Tensor) -> Tensor:
                test = TestFeatures(*ntf.transform(new))
                points = samples.x, samples.x_validation, new
                (first, *_), _ = entry(network, problem, test, points, options, None)
                return first.test

            return outputs
        fit = load(METHODS["kerhrm"].entry)(problem, options)
        if self.method.name == "kerhrm":
            return lambda x: fit.final.predict(*ntf.transform(x))
        x = samples.x, samples.x_validation, samples.x_validation
        return entry(network, problem, *x, fit.final, fit.learned, options.network)[-1]


def theta_outputs(ntf: NTFMap, theta: Tensor, x: Tensor) -> Tensor:
    psi, f0 = ntf.transform(x)
    return f0 + (psi @ theta.unsqueeze(-1)).squeeze(-1)


def draw_network(samples: Samples) -> Network:
    return build(NetworkOptions(widths=[16]), samples.seeds, D)


def all_cases() -> Iterator[tuple[str, Case]]:
    """Every method with every loss and every task it has."""
    for name, method in METHODS.items():
        options = load(method.options)()
        for loss in LOSSES if "loss" in type(options).model_fields else ("",):
            changed = small(options, **{"loss": loss} if loss else {})
            tasks: tuple[Task, ...] = ("classification", "regression")
            for task in tasks[: 1 if loss == "logistic" else 2]:
                yield f"{name}{loss and ','}{loss}-{task}", Case(method, changed, task)


CASES = dict(all_cases())


def cases(labels: bool | None = None) -> pytest.MarkDecorator:
    """All of them, or those that are given labels, or not."""
    chosen = {n: c for n, c in CASES.items() if labels in (None, c.method.labels)}
    return pytest.mark.parametrize("case", chosen.values(), ids=chosen)


Draw = Callable[..., Samples]


@pytest.fixture
def draw(draw_samples: Draw) -> Draw:
    """Samples of a task and of some seeds."""

    def sized(task: Task, seeds: tuple[int, ...] = SEEDS, **how: Any) -> Samples:
        own: dict[str, Any] = {"d": D, "environments": N_ENVIRONMENTS, "equal": False, "noise": 0.5}
        return draw_samples(task, seeds, **own | how)

    return sized


def tensors(samples: Samples) -> dict[str, Tensor]:
    values = {field.name: getattr(samples, field.name) for field in fields(samples)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def new_points(samples: Samples, count: int = 17) -> Tensor:
    """Points that no method was trained on; row b is the same whatever the other seeds."""
    rows = [
        torch.randn(count, D, generator=torch.Generator().manual_seed(seed))
        for seed in samples.seeds
    ]
    return torch.stack(rows)


@cases()
def test_one_finite_output_a_point(case: Case, draw: Draw) -> None:
    samples = draw(case.task)
    predict = case(samples)
    for x in (samples.x, samples.x_validation, new_points(samples), new_points(samples, 1)):
        outputs = predict(x)
        assert outputs.shape == x.shape[:-1]
        assert outputs.dtype == (x.dtype if case.method.reads == "points" else outputs.dtype)
        assert not outputs.requires_grad
        assert bool(outputs.isfinite().all())


@cases()
def test_outputs_follow_the_labels(case: Case, draw: Draw) -> None:
    samples = draw(case.task)
    outputs = case(samples)(samples.x)
    assert bool((torch.cosine_similarity(outputs, samples.y, dim=-1) > 0.4).all())


@cases()
def test_a_point_does_not_notice_the_others(case: Case, draw: Draw) -> None:
    samples = draw(case.task)
    predict, x = case(samples), new_points(samples)
    torch.testing.assert_close(predict(x[:, 3:8]), predict(x)[:, 3:8], rtol=1e-5, atol=1e-6)


@cases()
def test_the_same_again_to_the_last_bit(case: Case, draw: Draw) -> None:
    samples = draw(case.task)
    x = new_points(samples)
    first = case(samples)(x)
    torch.manual_seed(1)  # no method draws from the global generator
    assert torch.equal(case(draw(case.task))(x), first)


@cases()
def test_a_seed_counts_by_its_number_and_does_not_notice_the_others(case: Case, draw: Draw) -> None:
    # so many points, so noisy, that candidates differ in accuracy: equal ones were told apart by
    # rounding, which a batch does differently, on some processors
    how = {"n": 160, "m": 100, "noise": 1.0}
    samples = draw(case.task, **how)
    together = case(samples)(new_points(samples))
    for b, seed in enumerate(SEEDS):
        one = draw(case.task, (seed,), **how)  # in row 0, whichever it was
        assert torch.equal(one.x[0], samples.x[b])
        alone = case(one)(new_points(one))
        torch.testing.assert_close(together[b], alone[0], rtol=0, atol=1e-5)
    assert float((together[0] - together[1]).abs().max()) > 0.1  # rows are not all the same


@cases()
def test_what_is_given_is_not_changed(case: Case, draw: Draw) -> None:
    samples, network = case.given(draw(case.task)), draw_network(draw(case.task))
    before = {name: t.clone() for name, t in tensors(samples).items()}
    weights = [p.clone() for p in network.parameters()]
    options, x = case.options.model_dump(), new_points(samples)
    same_x = x.clone()
    case.train(samples, network)(x)
    for name, t in tensors(samples).items():
        assert torch.equal(t, before[name])
        assert not t.requires_grad
    for p, old in zip(network.parameters(), weights, strict=True):
        assert torch.equal(p, old)
        assert not p.requires_grad
    assert torch.equal(x, same_x)
    assert case.options.model_dump() == options


@cases(labels=False)
def test_no_other_method_looks_at_labels(case: Case, draw: Draw) -> None:
    samples, network = draw(case.task), draw_network(draw(case.task))
    x = new_points(samples)
    without, given = (
        case.train(s, network)(x) for s in (replace(samples, environment=None), samples)
    )
    assert torch.equal(without, given)


@cases(labels=True)
def test_environments_have_no_names(case: Case, draw: Draw) -> None:
    samples = draw(case.task)
    assert samples.environment is not None
    x = new_points(samples)
    outputs = case(samples)(x)
    renamed = torch.tensor([2, 0, 1])[samples.environment]
    got = case(replace(samples, environment=renamed))(x)
    torch.testing.assert_close(got, outputs, rtol=0, atol=1e-5)
    # but who belongs together matters
    mixed = samples.environment.roll(1, dims=-1)
    other = case(replace(samples, environment=mixed))(x)
    assert bool(((other - outputs).abs().amax(-1) > 1e-2).all())


# what the registry says of them

methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@methods
def test_every_value_of_a_grid_is_valid(method: Method) -> None:
    kind = load(method.choice or method.options)
    for name, values in method.grid.items():
        assert len(values) > 1
        for value in values:
            assert getattr(kind(**{name: value}), name) == value


@methods
def test_every_option_is_described(method: Method) -> None:
    queue: list[type[Section]] = [load(o) for o in (method.options, method.choice) if o]
    for kind in queue:
        assert kind.__doc__
        for name, field in kind.model_fields.items():
            assert field.description, name
            if isinstance(field.default, Section):
                queue.append(type(field.default))


@methods
def test_what_a_job_loads_is_there(method: Method) -> None:
    assert all(callable(load(entry)) for entry in method.entries)


@methods
def test_an_entry_point_that_is_not_there_is_told_in_a_line(method: Method) -> None:
    missing = replace(method, entry=f"{method.entry}_of_nothing")
    with pytest.raises(KerhrmError, match=f"^cannot load '{missing.entry}': .*; write ") as told:
        load(missing.entry)
    assert "\n" not in str(told.value)
