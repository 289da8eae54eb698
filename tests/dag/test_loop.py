"""The library alone, in memory, is what the workflow has on disk."""

from pathlib import Path

import pytest
import torch
from expected import EXPERIMENTS, place
from threadpoolctl import threadpool_limits

from kerhrm.algorithm.loop import fit, iterate
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.features.map import NTFMap
from kerhrm.networks.build import build
from kerhrm.storage.arrays import load_arrays
from kerhrm.storage.records import Record

pytestmark = pytest.mark.dag

SEARCHES = [
    (name, label)
    for name, experiment in EXPERIMENTS.items()
    for label, setting in experiment.settings.items()
    if "kerhrm" in setting.run
]


def assert_same(found: Record, file: Path) -> None:
    """A record is what a file holds, bit for bit."""
    expected, _ = load_arrays(file)
    arrays = found.to_arrays()
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype, (file, name)
        assert array.tobytes() == expected[name].tobytes(), (file, name)


@pytest.mark.parametrize(("experiment", "setting"), SEARCHES)
def test_the_loop_in_memory_is_the_workflows(results: Path, experiment: str, setting: str) -> None:
    """Algorithm 1 by one generator, and by one job for each of its steps."""
    options = EXPERIMENTS[experiment].settings[setting].methods.kerhrm
    features = results / place(experiment, setting, "features") / "features" / "training.npz"
    folder = results / place(experiment, setting, "iterations") / "iterations"
    threads = torch.get_num_threads()
    with threadpool_limits(1), torch.inference_mode():
        torch.set_num_threads(1)  # as in the jobs
        steps = list(iterate(Problem.load(features), options))
    torch.set_num_threads(threads)
    assert len(steps) == options.iterations
    for t, (environments, directions) in enumerate(steps, 1):
        assert_same(environments, folder / str(t) / "environments.npz")
        assert_same(directions, folder / str(t) / "theta.npz")


def test_from_points_to_predictions(results: Path) -> None:
    """Fit, transform and predict on arrays give the predictions of the NTF predictor."""
    experiment, setting = "classification", "r2=0.70"
    options = EXPERIMENTS[experiment]
    folder = results / place(experiment, setting, "direction")
    data = results / place(experiment, setting, "data") / "data"
    x, x_test = (
        torch.from_numpy(load_arrays(data / f"{name}.npz")[0]["x"])
        for name in ("train", "test_inputs")
    )
    stored = Problem.load(folder / "features" / "training.npz")
    network = build(options.network, options.seeds.network, x.shape[-1])
    ntf_map = NTFMap.fit(network, x, stored.s.shape[-1])
    psi, f0 = ntf_map.transform(x_test)
    test = TestFeatures.load(folder / "features" / "test.npz")
    torch.testing.assert_close(f0.double(), test.f0.double(), rtol=1e-5, atol=1e-6)
    kernel, expected = (p @ p.mT for p in (psi.double(), test.psi.double()))
    torch.testing.assert_close(kernel, expected, rtol=1e-4, atol=1e-4)
    final = fit(stored, options.settings[setting].methods.kerhrm).final
    expected_outputs, _ = load_arrays(folder / "predictions" / "kerhrm-ntf.npz")
    outputs = test.f0 + (test.psi @ final.theta.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(
        outputs.double(), torch.from_numpy(expected_outputs["test"]).double().reshape(outputs.shape)
    )


def test_records_come_back_as_they_were(results: Path) -> None:
    folder = results / place("classification", "r2=0.70", "iterations") / "iterations" / "1"
    for kind, name in ((Environments, "environments"), (Directions, "theta")):
        assert_same(kind.load(folder / f"{name}.npz"), folder / f"{name}.npz")
