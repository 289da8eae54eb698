"""Seconds of every stage of KerHRM, at the sizes of Table 1 and of Colored MNIST."""

from typing import Any

import pytest
import torch

from benchmarks import flops, problems
from benchmarks.case import Case, Work
from benchmarks.problems import IMAGES, TABLE1
from benchmarks.records import Row
from benchmarks.sizes import THREADS, Sizes
from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.exploration import learn_environments
from kerhrm.algorithm.loop import fit, iterate
from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import IGD
from kerhrm.algorithm.prediction import finish, ntf_predictions
from kerhrm.features.extract import extract
from kerhrm.features.reduction import reduce

both = pytest.mark.parametrize("data", [TABLE1, IMAGES])


def n_seeds(data: str, sizes: Sizes) -> int:
    """All of Table 1's; of Colored MNIST one."""
    return sizes.seeds if data == TABLE1 else 1


def row(stage: str, data: str, sizes: Sizes) -> Row:
    n = sizes.points if data == TABLE1 else sizes.images
    p = flops.n_parameters(problems.layer_sizes(data))
    facts = {"n": n, "p": p, "seeds": n_seeds(data, sizes), "threads": THREADS}
    return {"stage": stage, "data": data, **facts}


def k_of(data: str, sizes: Sizes) -> int:
    """Largest reduced dimension that the stages behind the SVD use."""
    return max(problems.options(sizes).k)


def of_stage(data: str, sizes: Sizes) -> dict[str, Any]:
    """n, the network's sizes and the number of seeds, for the formulas."""
    facts = row("", data, sizes)
    return {"n": facts["n"], "sizes": problems.layer_sizes(data), "seeds": facts["seeds"]}


@both
def bench_data(case: Case, sizes: Sizes, data: str) -> None:
    make = problems.table1 if data == TABLE1 else problems.colored_mnist

    def prepare() -> Work:
        problems.digits()
        return lambda: make(sizes, n_seeds(data, sizes))

    case("stages", row("data", data, sizes), prepare)


@both
def bench_ntf(case: Case, sizes: Sizes, data: str) -> None:
    facts = of_stage(data, sizes)

    def prepare() -> Work:
        x = torch.from_numpy(problems.dataset(data, facts["seeds"]).train.x)
        network = problems.network(data, facts["seeds"])
        return lambda: extract(network, x)

    gflop = facts["seeds"] * flops.factors(facts["n"], facts["sizes"])
    case("stages", row("NTF", data, sizes), prepare, gflop=gflop)


@both
def bench_gram(case: Case, sizes: Sizes, data: str) -> None:
    facts = of_stage(data, sizes)

    def prepare() -> Work:
        x = torch.from_numpy(problems.dataset(data, facts["seeds"]).train.x)
        ntf, _ = extract(problems.network(data, facts["seeds"]), x)
        return lambda: ntf.kernel(ntf)

    gflop = facts["seeds"] * flops.gram(facts["n"], facts["sizes"])
    case("stages", row("Gram", data, sizes), prepare, gflop=gflop)


@both
def bench_svd(case: Case, sizes: Sizes, data: str) -> None:
    k = sizes.k if data == TABLE1 else sizes.k_images

    def prepare() -> Work:
        x = torch.from_numpy(problems.dataset(data, n_seeds(data, sizes)).train.x)
        ntf, _ = extract(problems.network(data, n_seeds(data, sizes)), x)
        gram = ntf.kernel(ntf)
        return lambda: reduce(gram, k)

    case("stages", row("SVD", data, sizes), prepare)


@both
def bench_environments(case: Case, sizes: Sizes, data: str) -> None:
    def prepare() -> Work:
        problem, _ = problems.problem(data, n_seeds(data, sizes), k_of(data, sizes))
        options = problems.options(sizes)
        return lambda: learn_environments(problem, options, 1, None)

    case("stages", row("EM (M_c)", data, sizes), prepare)


@both
def bench_directions(case: Case, sizes: Sizes, data: str) -> None:
    def prepare() -> Work:
        problem, _ = problems.problem(data, n_seeds(data, sizes), k_of(data, sizes))
        options = problems.options(sizes)
        learned = [learn_environments(problem, options, 1, None)]
        return lambda: learn_directions(problem, learned, options.invariance)

    case("stages", row("theta (M_p)", data, sizes), prepare)


#: number of the iteration, and where its mixtures start
ITERATIONS = {
    "iteration": (1, "random"),
    "second iteration": (2, "random"),
    "iteration from the last state": (2, "nested"),
}


@both
@pytest.mark.parametrize("name", [*ITERATIONS])
def bench_iteration(case: Case, sizes: Sizes, data: str, name: str) -> None:
    """The first, with all restarts; the second, likewise or from the environments of the first."""
    number, starts = ITERATIONS[name]

    def begin() -> tuple[tuple[Any, ...], dict[str, Any]]:
        problem, _ = problems.problem(data, n_seeds(data, sizes), k_of(data, sizes))
        steps = iterate(problem, problems.options(sizes, starts=starts))
        for _ in range(1, number):
            next(steps)
        return (steps,), {}

    how: dict[str, Any] = {"before_each": begin, "rounds": min(3, sizes.rounds)}
    case("stages", row(name, data, sizes), lambda: next, **how)


@both
def bench_prediction(case: Case, sizes: Sizes, data: str) -> None:
    def prepare() -> Work:
        problem, test = problems.problem(data, n_seeds(data, sizes), k_of(data, sizes))
        result = fit(problem, problems.options(sizes).model_copy(update={"iterations": 1}))

        def predict() -> Any:
            final = finish(problem, result.learned, result.history)
            return ntf_predictions(problem, test, final.theta)

        return predict

    case("stages", row("prediction", data, sizes), prepare)


@both
def bench_network(case: Case, sizes: Sizes, data: str) -> None:
    """Step 3 with one lambda, and few steps, which are counted."""
    facts = of_stage(data, sizes)
    seeds = facts["seeds"]

    def prepare() -> Work:
        problem, _ = problems.problem(data, seeds, k_of(data, sizes))
        result = fit(problem, problems.options(sizes).model_copy(update={"iterations": 1}))
        own = problems.dataset(data, seeds)
        x, x_validation, x_test = (
            torch.from_numpy(part.x) for part in (own.train, own.validation, own.test)
        )
        w0, options = problems.network(data, seeds), IGD(penalty=[100.0], steps=sizes.steps)
        left = result.final, result.learned, options
        return lambda: train_networks(w0, problem, x, x_validation, x_test, *left)

    one = sizes.steps * flops.training_step(facts["n"], facts["sizes"])
    gflop = seeds * (one + flops.forward(problems.n_points(data, sizes), facts["sizes"]))
    title = f"network, {sizes.steps} steps"
    case("stages", row(title, data, sizes), prepare, gflop=gflop, rounds=min(3, sizes.rounds))
