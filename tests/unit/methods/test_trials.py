"""What the job of any method of the registry hands over, from its files to its file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from methodtools import pose, small
from torch import Tensor

from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.dataset import FILES, Dataset, Split
from kerhrm.data.predictions import Predictions, Trial
from kerhrm.data.samples import Samples, load_points
from kerhrm.entries import load
from kerhrm.heterogeneity.records import HeterogeneityTest
from kerhrm.methods import whole
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.registry import METHODS, Method
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network

SEEDS, D, N, M, NEW = [7, 3], 4, 30, 20, 11
NETWORK = {"widths": [8]}
IN_ONE_GO = {name: method for name, method in METHODS.items() if method.reads != "kerhrm"}


@pytest.fixture
def files(draw_samples: Callable[..., Samples], tmp_path: Path) -> dict[str, Path]:
    """The files that jobs may read."""
    paths = {name: tmp_path / f"{name}.npz" for name in (*FILES, "features", "test_features")}
    samples, other = (
        draw_samples("classification", SEEDS, n=n, m=M, d=D, environments=2, noise=0.5)
        for n in (N, NEW)
    )
    assert samples.environment is not None
    labels = samples.environment.numpy().astype("int8")
    parts = [
        Split(x.numpy(), y.numpy(), labels[:, : y.shape[-1]])
        for x, y in (
            (samples.x, samples.y),
            (samples.x_validation, samples.y_validation),
            (other.x, other.y),
        )
    ]
    Dataset(*parts, "synthetic", ["a", "b"], SEEDS, "classification").save(paths)
    ntf, problem = pose(samples, build(NetworkOptions(**NETWORK), SEEDS, D))
    problem.save(paths["features"])
    TestFeatures(*ntf.transform(other.x)).save(paths["test_features"])
    paths.pop("test_labels").unlink()  # nothing that trains may need them
    return paths


@pytest.mark.parametrize("method", IN_ONE_GO.values(), ids=IN_ONE_GO)
def test_a_job_gets_a_trial_a_row(method: Method, files: dict[str, Any], tmp_path: Path) -> None:
    if not method.labels:
        files["environments"] = []
    first = small(load(method.options)())
    stops = [{method.path: steps} for steps in (9, 6, 9)] if method.path else [{}]
    options = [small(first, **stop) for stop in stops]
    prepare = load(f"kerhrm.methods.{method.reads}:prepare")
    seeds = {"network": SEEDS, "clustering": SEEDS}
    given = files, seeds, NETWORK, torch.device("cpu")
    train = prepare(load(method.entry), *given, path=method.path)
    rows = train_candidates(options, train, path=method.path)
    assert len(rows) == len(method.rows)
    for trial in rows:
        assert isinstance(trial, Trial)
        for part, size in (("train", N), ("validation", M), ("test", NEW)):
            outputs = getattr(trial, part)
            assert outputs.shape == (len(SEEDS), len(options), size)
            assert bool(outputs.isfinite().all())
            assert not outputs.requires_grad
        environments = trial.environments
        assert environments.shape[:2] == trial.validation.shape[:2]
        assert environments.shape[-1] == N + M
        assert environments.dtype == torch.float32
        assert bool(((environments >= 0) & (environments <= 1)).all())
        if method.infers:  # every point is somewhere
            assert bool((environments.sum(2) > 0.99).all())
        elif method.reads != "whole":
            assert environments.shape[2] == 0
        trial.save(tmp_path / "trial.npz", options=[o.model_dump(mode="json") for o in options])
        again = Trial.load(tmp_path / "trial.npz")
        assert all(torch.equal(getattr(again, n), getattr(trial, n)) for n in Trial.names())


@pytest.mark.parametrize("tested", [None, [], "test.npz"])
def test_whole_methods_are_told_where_the_test_found_nothing(
    files: dict[str, Any], tested: Any, tmp_path: Path
) -> None:
    """If there is its file; and all their rows have the same environments."""
    if tested is not None:
        files["heterogeneity"] = tested and tmp_path / tested
    if tested:
        found, p_value = torch.tensor([False, True]), torch.tensor([0.5, 0.01])
        HeterogeneityTest(p_value, p_value[:, None], p_value, found).save(files["heterogeneity"])
    soft = torch.rand(len(SEEDS), 3, N + M, dtype=torch.float64)
    seen: list[Tensor | None] = []

    def entry(
        network: Network, known: Problem, test: TestFeatures, points: Any, options: ERM,
        none_found: Tensor | None,
    ) -> tuple[list[Predictions], Tensor | None]:  # fmt: skip
        seen.append(none_found)
        assert known.seeds == SEEDS
        assert test.f0.shape == (len(SEEDS), NEW)
        f = [options.steps * network(x) for x in points]
        return [Predictions(*f), Predictions(*(2 * o for o in f))], soft if tested else None

    seeds = {"network": SEEDS, "clustering": SEEDS}
    train = whole.prepare(entry, files, seeds, NETWORK, torch.device("cpu"), path="")
    options = [ERM(steps=steps) for steps in (3, 1, 3)]
    rows = train_candidates(options, train, path="")
    expected = [True, False] if tested else None
    assert [told if told is None else told.tolist() for told in seen] == [expected] * 2
    w0, points = build(NetworkOptions(**NETWORK), SEEDS, D), load_points(files, torch.device("cpu"))
    assert len(rows) == 2
    for factor, trial in enumerate(rows, 1):
        for got, x in zip((trial.train, trial.validation, trial.test), points, strict=True):
            torch.testing.assert_close(
                got, torch.stack([factor * o.steps * w0(x) for o in options], 1)
            )
        inferred = soft.float() if tested else torch.empty(len(SEEDS), 0, N + M)
        assert torch.equal(trial.environments, torch.stack([inferred] * 3, 1))
