"""One training on the way to many steps is as many trainings, to the last bit."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from methodtools import LOSSES, small
from torch import Tensor

from kerhrm.data.dataset import Task
from kerhrm.data.samples import Inferred, Predictor, Samples
from kerhrm.entries import load
from kerhrm.methods.registry import METHODS, Method
from kerhrm.networks.mlp import init_mlp
from kerhrm.storage.checkpoints import Stopped, opened

SEEDS, D = (7, 3, 12), 4
#: before the first look of ERM, at one and between two; before and after IRM's anneal; of EIIL
#: steps of the reference
STOPS, EVERY, ANNEAL = (3, 8, 11), 4, 5

Draw = Callable[..., Samples]


@dataclass(frozen=True)
class Case:
    method: Method
    loss: str
    task: Task

    def train(self, samples: Samples, stops: Sequence[int]) -> list[Predictor]:
        changes: dict[str, Any] = {"learning_rate": 0.03, self.method.path: stops[-1]}
        fields = load(self.method.options).model_fields
        special = {"evaluate_every": EVERY, "anneal": ANNEAL, "loss": self.loss}
        changes |= {name: value for name, value in special.items() if name in fields}
        options = small(load(self.method.options)(), **changes)
        network = init_mlp(SEEDS, (D, 16, 1))
        return load(self.method.entry)(samples, network, options, list(stops))


def all_cases() -> Iterator[tuple[str, Case]]:
    for name, method in METHODS.items():
        has_loss = "loss" in load(method.options).model_fields
        for loss in LOSSES if method.path and has_loss else ("",) if method.path else ():
            tasks: tuple[Task, ...] = ("classification", "regression")
            for task in tasks[: 1 if loss == "logistic" else 2]:
                yield f"{name}{loss and ','}{loss}-{task}", Case(method, loss, task)


CASES = dict(all_cases())
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture
def samples(case: Case, draw_samples: Draw) -> Samples:
    """Of much noise, so that ERM's best looks differ; points enough for the paper's network."""
    drawn = draw_samples(case.task, SEEDS, n=70, m=66, d=D, environments=3, noise=2.0)
    return drawn if case.method.labels else replace(drawn, environment=None)


def told(predictor: Predictor, samples: Samples) -> list[Tensor]:
    """All that a predictor hands over."""
    memberships = [predictor.memberships] if isinstance(predictor, Inferred) else []
    return [predictor(samples.x), predictor(samples.x_validation), *memberships]


def same(left: Sequence[Predictor], right: Sequence[Predictor], samples: Samples) -> bool:
    return all(
        torch.equal(a, b)
        for f, g in zip(left, right, strict=True)
        for a, b in zip(told(f, samples), told(g, samples), strict=True)
    )


@cases
def test_on_the_way_is_alone(case: Case, samples: Samples) -> None:
    together = case.train(samples, STOPS)
    alone = [case.train(samples, [stop])[0] for stop in STOPS]
    assert same(together, alone, samples)
    # or this would not tell one from another
    first, *others = (f(samples.x) for f in together)
    for other in others:
        assert not torch.equal(first, other)


@cases
@pytest.mark.parametrize("offers", [4, 7])
def test_interrupted_again_and_again(
    case: Case, samples: Samples, offers: int, tmp_path: Path
) -> None:
    expected = case.train(samples, STOPS)
    state, interruptions, found = tmp_path / "state.npz", 0, None
    while found is None:
        answers = iter([None] * offers)
        try:
            with opened(state, lambda answers=answers: next(answers, "stopped")):
                found = case.train(samples, STOPS)
        except Stopped:
            interruptions += 1
    assert interruptions > 2
    assert same(found, expected, samples)
