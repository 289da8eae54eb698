"""Every option set is trained alike: the same samples, the same w_0, all points predicted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.options import KerHRM
from kerhrm.algorithm.prediction import ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.dataset import FILES, Dataset, Split
from kerhrm.data.predictions import Predictions, Trial
from kerhrm.data.samples import Inferred, Predictor, Samples, memberships
from kerhrm.methods import features, points
from kerhrm.methods.candidates import paths, train_candidates
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.networks.mlp import init_mlp
from kerhrm.networks.protocol import Network
from kerhrm.networks.training import train
from kerhrm.storage.arrays import save_arrays

D, CPU = 3, torch.device("cpu")
SIZES = {"train": 12, "validation": 6, "test": 5}
SEEDS = {"data": [101, 7], "network": [5, 4], "clustering": [2, 9]}
B = len(SEEDS["data"])
NETWORK = {"widths": [8, 4]}
OPTIONS = [ERM(steps=steps, learning_rate=1e-2) for steps in (1, 5, 3)]


def split(part: str) -> Split:
    rng = np.random.default_rng(len(part))
    shape = (B, SIZES[part])
    return Split(
        rng.standard_normal((*shape, D)).astype(np.float32),
        rng.choice([-1.0, 1.0], shape).astype(np.float32),
        rng.integers(0, 2, shape).astype(np.int8),
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {name: tmp_path / f"{name}.npz" for name in FILES}
    parts = [split(part) for part in SIZES]
    Dataset(*parts, "synthetic", ["a"], SEEDS["data"], "classification").save(paths)
    paths.pop("test_labels").unlink()  # nothing that trains may need them
    return paths


def few_steps(samples: Samples, network: Network, options: ERM) -> Predictor:
    """A network after ``options.steps`` steps; its outputs carry no gradient."""
    return train(
        network,
        samples.x,
        lambda f, rows: ((f - samples.y[rows]) ** 2).mean(-1),
        steps=options.steps,
        learning_rate=options.learning_rate,
    )


class Recorder:
    """A method that keeps what it was given and answers with ``steps`` times f_w0."""

    def __init__(self) -> None:
        self.calls: list[tuple[Samples, list[Tensor], ERM]] = []

    def __call__(self, samples: Samples, network: Network, options: ERM) -> Predictor:
        self.calls.append((samples, [p.clone() for p in network.parameters()], options))
        scale = torch.tensor(float(options.steps), requires_grad=True)
        return lambda x: scale * network(x)


def run(entry: Any, options: list[ERM], files: Any, *, path: str = "") -> Trial:
    train = points.prepare(entry, files, SEEDS, NETWORK, CPU, path=path)
    (trial,) = train_candidates(options, train, path=path)
    return trial


def test_candidates_stand_on_the_second_axis(files: dict[str, Path]) -> None:
    found = run(Recorder(), OPTIONS, files)
    w0 = init_mlp(SEEDS["network"], (D, 8, 4, 1))
    assert isinstance(found, Trial)
    assert found.environments.shape == (B, len(OPTIONS), 0, SIZES["train"] + SIZES["validation"])
    for part, size in SIZES.items():
        outputs = getattr(found, part)
        assert outputs.shape == (B, len(OPTIONS), size)
        assert not outputs.requires_grad
        expected = w0(torch.from_numpy(split(part).x))
        for c, options in enumerate(OPTIONS):
            torch.testing.assert_close(outputs[:, c], options.steps * expected, rtol=1e-6, atol=0)


def test_every_candidate_starts_from_w_0_of_the_seeds(files: dict[str, Path]) -> None:
    method = Recorder()
    run(method, OPTIONS, files)
    assert [options for _, _, options in method.calls] == OPTIONS
    w0 = init_mlp(SEEDS["network"], (D, 8, 4, 1)).parameters()
    for samples, weights, _ in method.calls:
        assert samples is method.calls[0][0]
        assert samples.seeds == SEEDS["clustering"]
        for got, expected in zip(weights, w0, strict=True):
            assert torch.equal(got, expected)


def test_equal_option_sets_are_trained_once(files: dict[str, Path]) -> None:
    first, second, _ = OPTIONS
    method, options = Recorder(), [first, second, first.model_copy(), second]
    found = run(method, options, files)
    assert [o for _, _, o in method.calls] == [first, second]
    assert found.test.shape[1] == 4
    assert torch.equal(found.test[:, :2], found.test[:, 2:])
    assert not torch.equal(found.test[:, 0], found.test[:, 1])


def test_a_candidate_does_not_notice_the_others(files: dict[str, Path]) -> None:
    together = run(few_steps, OPTIONS, files)
    assert float((together.test[:, 0] - together.test[:, 1]).abs().max()) > 1e-3
    for c, options in enumerate(OPTIONS):
        alone = run(few_steps, [options], files)
        for part in SIZES:
            assert torch.equal(getattr(alone, part)[:, 0], getattr(together, part)[:, c])


def test_labels_are_handed_over_only_where_they_are_given(files: dict[str, Path]) -> None:
    given, not_given = Recorder(), Recorder()
    run(given, OPTIONS[:1], files)
    run(not_given, OPTIONS[:1], files | {"environments": []})
    labels = given.calls[0][0].environment
    assert labels is not None
    np.testing.assert_array_equal(labels.numpy(), split("train").environment)
    assert not_given.calls[0][0].environment is None


def test_candidates_survive_their_file(files: dict[str, Path], tmp_path: Path) -> None:
    found = run(few_steps, OPTIONS, files)
    found.save(tmp_path / "found.npz", options=[o.model_dump(mode="json") for o in OPTIONS])
    for kind in (Trial, Predictions):
        again = kind.load(tmp_path / "found.npz")
        for name in kind.names():
            assert torch.equal(getattr(again, name), getattr(found, name))


# paths


def test_option_sets_that_differ_in_steps_alone_share_a_path() -> None:
    slow, fast = ERM(learning_rate=1e-3), ERM(learning_rate=1e-2)
    options = [
        base.model_copy(update={"steps": steps})
        for steps, base in [(9, slow), (3, fast), (4, slow), (9, fast), (200, slow)]
    ]
    a, b, c, d, e = options
    assert sorted(paths(options, "steps"), key=len) == [[b, d], [c, a, e]]
    assert paths([], "steps") == []


def test_a_group_is_trained_in_one_go(files: dict[str, Path]) -> None:
    """And whoever was where in the list is there in the trial."""
    asked: list[tuple[ERM, list[int]]] = []

    def entry(
        samples: Samples, network: Network, options: ERM, stops: list[int]
    ) -> list[Predictor]:
        asked.append((options, stops))
        return [lambda x, s=stop: s * options.learning_rate * network(x) for stop in stops]

    other = ERM(steps=3, learning_rate=0.5)
    options = [OPTIONS[1], other, *OPTIONS, other]
    found = run(entry, options, files, path="steps")
    assert sorted(stops for _, stops in asked) == [[1, 3, 5], [3]]
    assert all(told.steps == stops[-1] for told, stops in asked)
    f = init_mlp(SEEDS["network"], (D, 8, 4, 1))(torch.from_numpy(split("test").x))
    for c, o in enumerate(options):
        torch.testing.assert_close(found.test[:, c], o.steps * o.learning_rate * f)


def test_a_path_gives_the_bits_of_every_training(files: dict[str, Path]) -> None:
    together = run(train_erm, OPTIONS, files, path="steps")
    assert not torch.equal(together.test[:, 0], together.test[:, 1])
    for c, options in enumerate(OPTIONS):
        alone = run(train_erm, [options], files, path="steps")
        for part in SIZES:
            assert torch.equal(getattr(alone, part)[:, 0], getattr(together, part)[:, c])


# environments


def test_inferred_environments_stand_beside_the_outputs(files: dict[str, Path]) -> None:
    """As many for every option set: those that are missing are empty."""
    m = SIZES["train"] + SIZES["validation"]
    labels = torch.randint(0, 2, (B, m))

    def entry(samples: Samples, network: Network, options: ERM) -> Predictor:
        return Inferred(network, memberships(labels, 2 + options.steps % 3))

    found = run(entry, OPTIONS, files)
    counts = [2 + o.steps % 3 for o in OPTIONS]
    assert found.environments.shape == (B, len(OPTIONS), max(counts), m)
    assert found.environments.dtype == torch.float32
    for c in range(len(counts)):
        for b in range(B):
            assert torch.equal(found.environments[b, c].argmax(0), labels[b])
            assert torch.equal(found.environments[b, c].sum(0), torch.ones(m))
    f = init_mlp(SEEDS["network"], (D, 8, 4, 1))(torch.from_numpy(split("test").x))
    torch.testing.assert_close(found.test[:, 0], f)


# methods that read the features


@pytest.fixture
def problem() -> Problem:
    k = 4
    n, m, _ = SIZES.values()
    shapes = [(n, k), (k,), (m, k), (n,), (m,), (n,), (m,)]
    return Problem(
        *(torch.randn(B, *shape, dtype=torch.float64) for shape in shapes), "regression", [3, 8]
    )


@pytest.mark.parametrize("labelled", [True, False])
def test_directions_on_the_features_predict_all_points(
    problem: Problem, labelled: bool, tmp_path: Path
) -> None:
    environments = {p: split(p).environment for p in ("train", "validation")}
    test = TestFeatures(torch.randn(B, 5, 4).double(), torch.randn(B, 5).double())
    paths: dict[str, Any] = {n: tmp_path / n for n in ("features", "test_features", "environments")}
    problem.save(paths["features"])
    test.save(paths["test_features"])
    save_arrays(paths["environments"], environments)
    thetas = torch.randn(2, B, 4, dtype=torch.float64)
    seen: list[Any] = []

    def entry(known: Problem, options: KerHRM, labels: tuple[Tensor, Tensor] | None) -> Tensor:
        seen.append((known, labels))
        return thetas[options.iterations - 1]

    files = paths if labelled else paths | {"environments": []}
    prepared = features.prepare(entry, files, SEEDS, NETWORK, CPU, path="")
    (found,) = train_candidates([KerHRM(iterations=t) for t in (1, 2)], prepared, path="")
    for c, theta in enumerate(thetas):
        expected = ntf_predictions(problem, test, theta)
        for part in SIZES:
            assert torch.equal(getattr(found, part)[:, c], getattr(expected, part))
    for known, labels in seen:
        assert known.seeds == [3, 8]
        assert torch.equal(known.psi_train, problem.psi_train)
        assert (labels is not None) == labelled
        for got, part in zip(labels or (), environments.values(), strict=False):
            assert got.dtype == torch.int64
            np.testing.assert_array_equal(got.numpy(), part)
