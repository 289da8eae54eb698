"""What the study draws of networks: step 3 over lambda, and EIIL's reference over its training."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks.starts_cases import CASES, IMAGES, Case, Posed, pose_case
from benchmarks.starts_draws import Drawing, Rows
from kerhrm.algorithm.directions import yardstick
from kerhrm.algorithm.loop import Fit, fit
from kerhrm.algorithm.network import cosine_to_direction, train_igd, within
from kerhrm.algorithm.options import IGD, KerHRM
from kerhrm.algorithm.selection import point_scores, worst_environment_score
from kerhrm.data.registry import generate
from kerhrm.methods.eiil.options import EIIL
from kerhrm.methods.irmv1 import point_loss
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network
from kerhrm.networks.stopping import KeepBest
from kerhrm.networks.training import train
from kerhrm.scoring.metrics import accuracy

LAMBDAS = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
#: the cases, and their steps at most
TRAINED = {"Table 1, r2=0.80": 1500, "Table 3, r=1.9": 1500, IMAGES: 300}
FEW = (10.0, 1e3, 1e5)  #: lambdas of the printed cosine on images, of the first seed
SEEDS = 3  #: where a case has as many
#: EIIL's reference, of Table 1
R2, REFERENCE_SEEDS, REFERENCE_STEPS, LOOK_EVERY = (0.70, 0.80), range(10), 500, 10


def over_lambda() -> Iterator[Drawing]:
    """Step 3: (case, seed, cosine, lambda)."""
    for seed, (name, steps) in itertools.product(range(SEEDS), TRAINED.items()):
        case = CASES[name]
        if seed not in case.seeds:
            continue
        weights: dict[str, tuple[float, ...]]
        weights = {"signed": LAMBDAS, "absolute": LAMBDAS[1:]}  # of 0, both are one
        if name == IMAGES:
            weights["absolute"] = FEW if seed == 0 else ()
        for cosine, of_cosine in weights.items():
            for weight in of_cosine:
                one = functools.partial(trained, case, seed, cosine, weight, steps)
                yield (name, seed, cosine, weight), one


@functools.lru_cache(maxsize=1)
def algorithm(data: Any, seed: int) -> tuple[Posed, Fit]:
    """Algorithm 1 with its defaults, without step 3."""
    options = KerHRM()
    own = pose_case(Case(dict(data), max(options.k)), seed)
    return own, fit(own.problem, options)


class Watch(KeepBest[Network]):
    """Knows the step that it has been shown last, too: where the training has ended."""

    last_step = 0

    def __call__(self, step: int, current: Network, rows: slice, losses: Tensor) -> None:
        self.last_step = step
        super().__call__(step, current, rows, losses)


def trained(case: Case, seed: int, cosine: str, weight: float, steps: int) -> Rows:
    """The network at the end of its training, and at the step that the selection rule picks."""
    own, found = algorithm(tuple(sorted(case.data.items())), seed)
    problem, direction = own.problem, found.final
    x, x_validation, x_test = own.points()
    environments = yardstick(found.learned)

    def worst(network: Network) -> Tensor:
        f = network(x_validation).unsqueeze(1)
        scores = point_scores(f, problem.y_validation.unsqueeze(1), problem.task)
        return worst_environment_score(scores, environments).squeeze(1)

    options = IGD(penalty=[weight], cosine=cosine, steps=steps)  # type: ignore[arg-type]
    looks = options.check_every or steps
    watch = Watch(
        own.network, lambda n, _: worst(n), every=looks, steps=steps, device=torch.device("cpu")
    )
    u = within(problem.u, direction.k)
    given = problem.y, problem.f0_train, u, problem.s, direction.theta
    last = train_igd(
        own.network, x, *(t.float() for t in given), penalty=weight, options=options, best=watch
    )
    with torch.no_grad():
        change = last(x).double() - problem.f0_train
        coordinates = (change.unsqueeze(-2) @ u).squeeze(-2)
        alignment = cosine_to_direction(coordinates / problem.s, direction.theta, 0.0)
        outside = 1 - (coordinates**2).sum() / (change**2).sum()
        ntf = direction.predict(own.test.psi, own.test.f0)[0].numpy()
        row = {
            "steps": watch.last_step,
            "cos": float(alignment),
            "outside": float(outside),
            "worst": float(worst(last)),
            "result": own.result(last(x_test)[0].numpy()),
            "picked_step": int(watch.best_step),
            "picked_worst": float(watch.best_score),
            "picked_result": own.result(watch.best(x_test)[0].numpy()),
            "ntf_result": own.result(ntf),
        }
    return [{n: round(v, 5) if isinstance(v, float) else v for n, v in row.items()}]


def references() -> Iterator[Drawing]:
    """EIIL's reference: (r2, seed)."""
    for r2 in R2:
        for seed in REFERENCE_SEEDS:
            yield (r2, seed), functools.partial(reference, r2, seed)


def reference(r2: float, seed: int) -> Rows:
    """Accuracies of EIIL's reference network every few steps, each a row."""
    data = generate({"generator": "classification", "r2": r2}, [seed])
    parts = {"train": data.train, "validation": data.validation, "test": data.test}
    points = {name: torch.from_numpy(part.x) for name, part in parts.items()}
    y, options, rows = torch.from_numpy(data.train.y), EIIL(), list[dict[str, Any]]()

    def look(step: int, network: Network, _: slice, __: Tensor) -> None:
        if step % LOOK_EVERY == 0:
            found = {
                name: float(accuracy(network(points[name])[0].detach().numpy(), part.y[0]))
                for name, part in parts.items()
            }
            rows.append({"steps": step} | found)

    train(
        build(NetworkOptions(), [seed], points["train"].shape[-1]),
        points["train"],
        lambda f, _: point_loss(f, y, options.loss).mean(-1),
        steps=REFERENCE_STEPS,
        learning_rate=options.learning_rate,
        after_step=look,
    )
    return rows
