"""What a job gives a method, and what it takes from one."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from kerhrm import NetworkOptions, NTFMap, Problem, build
from kerhrm.errors import KerhrmError
from kerhrm.methods.base import POOLED, WORST_INFERRED
from kerhrm.methods.inputs import Fitted
from kerhrm.paper.runs.arrays import save_arrays, save_stacked
from kerhrm.paper.runs.training import Replicates

N, M, TEST, D, K = 12, 7, 5, 3, 4
NETWORK = {"widths": [6]}


def replicates(
    folder: Path, features: bool = False, **params: Any
) -> tuple[Replicates, Any]:
    """Two seeds of a small regression, as a job reads them."""
    random = np.random.default_rng(0)
    sizes = {"train": N, "validation": M, "test_inputs": TEST}
    files: dict[str, str] = {}
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for name, n in sizes.items():
        x = random.standard_normal((2, n, D)).astype(np.float32)
        arrays[name] = {"x": x, "y": x[..., 0], "auxiliary": x[..., :1]}
        files[name] = str(folder / f"{name}.npz")
        save_arrays(files[name], arrays[name])
    if features:
        x, x_validation, x_test = (
            torch.from_numpy(one["x"][0]) for one in arrays.values()
        )
        found = NTFMap.fit(build(NetworkOptions(**NETWORK), 0, D), x, K)
        labels = x[:, 0], x_validation[:, 0], "regression", 0
        problem = Problem.from_features(found, x_validation, *labels).arrays()
        files["features"] = str(folder / "features.npz")
        save_stacked(files["features"], [problem, problem])
        psi, f0 = (one.numpy() for one in found.transform(x_test))
        files["test_features"] = str(folder / "test_features.npz")
        save_stacked(files["test_features"], [{"psi": psi, "f0": f0}] * 2)
    given = {
        "seeds": {"network": [0, 1], "clustering": [0, 1]},
        "network": NETWORK,
        "task": "regression",
        "outputs": ["model"],
    }
    bag = SimpleNamespace(**given | params)
    bag.get = lambda name, default=None: getattr(bag, name, default)
    return Replicates(files, bag, torch.device("cpu"), "mine"), arrays


def test_what_a_method_writes_stays_with_it(tmp_path: Path) -> None:
    """Inputs are copies: the next candidate sees the data as they were."""
    ours, arrays = replicates(tmp_path, features=True)
    first, problem = ours.inputs(0), ours.problems[0]
    before = problem.psi_train.clone()
    for tensor in (first.x, first.y, first.x_validation, first.auxiliary):
        tensor.fill_(7.0)
    first.problem.u.fill_(7.0)
    first.problem.y.fill_(7.0)
    again = ours.inputs(0)
    for name, file in (("x", "train"), ("y", "train"), ("auxiliary", "train")):
        assert np.array_equal(getattr(again, name).numpy(), arrays[file][name][0])
    assert np.array_equal(again.x_validation.numpy(), arrays["validation"]["x"][0])
    assert torch.equal(again.problem.psi_train, before)
    assert torch.equal(ours.problems[0].psi_train, before)
    fitted = Fitted(directions={"model": torch.ones(K)})
    outputs = ours.predictions(0, fitted)["model/train"]
    expected = problem.f0_train + before @ torch.ones(K, dtype=before.dtype)
    np.testing.assert_allclose(outputs, expected.numpy(), rtol=1e-6)


def test_outputs_of_all_parts(tmp_path: Path) -> None:
    ours, arrays = replicates(tmp_path)
    environments, chosen = torch.ones(N + M, 2), {"a": 2, "b": torch.tensor(3.0)}
    first = {"model": lambda x: x[:, 0]}
    found = ours.predictions(1, Fitted(first, {}, environments, chosen))
    for part in ("train", "validation", "test"):
        x = arrays["test_inputs" if part == "test" else part]["x"][1]
        assert np.array_equal(found[f"model/{part}"], x[:, 0])
    assert found["environments"].shape == (N + M, 2)
    assert (float(found["chosen/a"]), float(found["chosen/b"])) == (2.0, 3.0)


def network(x: torch.Tensor) -> torch.Tensor:
    return x[:, 0]


def fitted(**parts: Any) -> Fitted:
    return Fitted(**{"networks": {"model": network}} | parts)


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (None, "train must return a Fitted; got NoneType"),
    "dict": ({"model": network}, "train must return a Fitted; got dict"),
    "other output": (fitted(networks={"net": network}), "lacks the output model"),
    "no dict": (fitted(networks=network), "networks of its Fitted must be a dict"),
    "outputs": (
        fitted(networks={"model": torch.ones(N)}),
        f"networks['model'] must be a function of points; got shape ({N},)",
    ),
    "features": (
        fitted(directions={"model": torch.ones(K)}),
        "directions['model'] need the reduced features; declare needs_features=True",
    ),
    "NumPy": (
        fitted(networks={"model": lambda x: x[:, 0].numpy()}),
        f"output model must be a tensor of shape ({N},) for {N} points; got ndarray",
    ),
    "column": (
        fitted(networks={"model": lambda x: x[:, :1]}),
        f"must be a tensor of shape ({N},) for {N} points; got shape ({N}, 1)",
    ),
    "one too few": (
        fitted(networks={"model": lambda x: x[1:, 0]}),
        f"for {N} points; got shape ({N - 1},)",
    ),
    "rows of memberships": (
        fitted(environments=torch.ones(N, 2)),
        f"must be a tensor of shape ({N + M}, K), a row for each training and",
    ),
    "labels": (
        fitted(environments=torch.ones(N + M)),
        f"must be a tensor of shape ({N + M}, K), a row for each training and",
    ),
    "NumPy memberships": (fitted(environments=np.ones((N + M, 2))), "got ndarray"),
    "choices": (fitted(chosen={"k": [1, 2]}), "chosen['k'] must be a number; got [1"),
    "choice": (fitted(chosen={"k": "many"}), "must be a number; got 'many'"),
}


@pytest.mark.parametrize(("returned", "problem"), WRONG.values(), ids=WRONG)
def test_what_is_no_trained_method_is_refused(
    returned: Any, problem: str, tmp_path: Path
) -> None:
    ours, _ = replicates(tmp_path)
    with pytest.raises(KerhrmError) as error:
        ours.predictions(0, returned)
    text = str(error.value)
    assert text.startswith("learner mine: ")
    assert problem in text
    assert error.value.hint
    assert "\n" not in text


@pytest.mark.parametrize("theta", [np.ones(K), torch.ones(K, 1), torch.ones(K - 1)])
def test_a_direction_has_a_number_for_each_feature(theta: Any, tmp_path: Path) -> None:
    ours, _ = replicates(tmp_path, features=True)
    with pytest.raises(KerhrmError, match=rf"must be a tensor of shape \({K},\); got"):
        ours.predictions(0, Fitted(directions={"model": theta}))


def test_environments_that_a_criterion_needs_are_there(tmp_path: Path) -> None:
    ours, _ = replicates(tmp_path, criteria=[POOLED, WORST_INFERRED])
    with pytest.raises(KerhrmError, match=r"no environments, but .* infers=True; add"):
        ours.predictions(0, fitted())
    ours.predictions(0, fitted(environments=torch.ones(N + M, 1)))


def test_iterations_that_a_table_shows_are_there(tmp_path: Path) -> None:
    ours, _ = replicates(tmp_path, features=True, iterations=True)
    with pytest.raises(KerhrmError, match="learner mine: its Fitted has no iterations"):
        ours.predictions(0, Fitted(directions={"model": torch.ones(K)}))
