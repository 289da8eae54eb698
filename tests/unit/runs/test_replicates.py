"""What a job gives a method, and what it takes from one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusal

from kerhrm import NetworkOptions, NTFMap, Problem, build
from kerhrm.errors import KerhrmError
from kerhrm.features.options import FeatureOptions
from kerhrm.methods.inputs import Fitted
from kerhrm_paper.runs.arrays import load_records, save_arrays, save_stacked
from kerhrm_paper.runs.predicting import predict
from kerhrm_paper.runs.predictions import Predictions, aligned
from kerhrm_paper.runs.replicates import Replicates
from kerhrm_paper.runs.replication import Replication, Seeds
from kerhrm_paper.runs.training import inputs_of

N = 12
M = 7
TEST = 5
D = 3
K = 4
NETWORK = NetworkOptions(widths=[6])
LEARNER = {"name": "mine", "outputs": ["model"], "infers": False, "iterates": False}


def replicates(folder: Path, features: bool = False) -> tuple[Replicates, Any]:
    """Two seeds of a small regression, as a job reads them."""
    random = np.random.default_rng(0)
    sizes = {"train": N, "validation": M, "test_inputs": TEST}
    files: dict[str, str] = {}
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for name, n in sizes.items():
        draws = random.standard_normal((2, n, D))
        x = draws.astype(np.float32)
        y = x[..., 0]
        auxiliary = x[..., :1]
        arrays[name] = {"x": x, "y": y, "auxiliary": auxiliary}
        files[name] = str(folder / f"{name}.npz")
        save_arrays(files[name], arrays[name])
    if features:
        x_of_parts = {part: array["x"][0] for part, array in arrays.items()}
        x = torch.from_numpy(x_of_parts["train"])
        x_validation = torch.from_numpy(x_of_parts["validation"])
        x_test = torch.from_numpy(x_of_parts["test_inputs"])
        network = build(NETWORK, 0, D)
        ntf = NTFMap.fit(network, x, K)
        y = x[:, 0]
        y_validation = x_validation[:, 0]
        problem = Problem.from_features(
            ntf, x_validation, y, y_validation, "regression", 0
        )
        reduced = problem.arrays()
        files["features"] = str(folder / "features.npz")
        save_stacked(files["features"], [reduced, reduced])
        psi, f0 = ntf.transform(x_test)
        of_test = {"psi": psi.numpy(), "f0": f0.numpy()}
        files["test_features"] = str(folder / "test_features.npz")
        save_stacked(files["test_features"], [of_test, of_test])
    seeds = Seeds.alike(2, 0)
    features_options = FeatureOptions(k=K)
    of = Replication("data", "regression", NETWORK, features_options, seeds)
    return Replicates(files, of, torch.device("cpu")), arrays


def test_what_a_method_writes_stays_with_it(tmp_path: Path) -> None:
    """Inputs are copies: the next candidate sees the data as they were."""
    ours, arrays = replicates(tmp_path, features=True)
    first = inputs_of(ours, 0)
    problem = ours.problems[0]
    before = problem.psi_train.clone()
    for tensor in (first.x, first.y, first.x_validation, first.auxiliary):
        tensor.fill_(7.0)
    first.problem.u.fill_(7.0)
    first.problem.y.fill_(7.0)
    again = inputs_of(ours, 0)
    of_training = {name: array[0] for name, array in arrays["train"].items()}
    assert_array_equal(again.x, of_training["x"])
    assert_array_equal(again.y, of_training["y"])
    assert_array_equal(again.auxiliary, of_training["auxiliary"])
    x_validation = arrays["validation"]["x"][0]
    assert_array_equal(again.x_validation, x_validation)
    assert torch.equal(again.problem.psi_train, before)
    assert torch.equal(ours.problems[0].psi_train, before)

    fitted = Fitted(directions={"model": torch.ones(K)})
    predictions = predict(ours, 0, fitted, LEARNER)
    outputs = predictions.output("model", "train")
    theta = torch.ones(K, dtype=before.dtype)
    expected = problem.f0_train + before @ theta
    assert_allclose(outputs, expected.numpy(), rtol=1e-6)


def test_outputs_of_all_parts_come_back_from_disk(tmp_path: Path) -> None:
    ours, arrays = replicates(tmp_path)
    environments = torch.ones(N + M, 2)
    chosen = {"a": 2, "b": torch.tensor(3.0)}
    functions = {"model": lambda x: x[:, 0], "other": lambda x: x[:, 1]}
    method = Fitted(functions, {}, environments, chosen)
    learner = LEARNER | {"outputs": ["other", "model"]}
    made = predict(ours, 1, method, learner)
    path = tmp_path / "predictions.npz"
    save_stacked(path, aligned([made.arrays()]))
    (found,) = load_records(Predictions, path)
    files = {"train": "train", "validation": "validation", "test": "test_inputs"}
    for part, file in files.items():
        x = arrays[file]["x"][1]
        model = found.output("model", part)
        other = found.output("other", part)
        assert_array_equal(model, x[:, 0])
        assert_array_equal(other, x[:, 1])
    assert found.memberships is not None
    assert found.memberships.shape == (N + M, 2)
    assert found.chosen.tolist() == ["a", "b"]
    assert found.choices.tolist() == [2.0, 3.0]
    assert found.iterations is None


def test_replicates_that_infer_and_choose_less_are_filled_up(tmp_path: Path) -> None:
    ours, _ = replicates(tmp_path)
    one_environment = torch.ones(N + M, 1)
    one = fitted(environments=one_environment, chosen={"a": 1.0})
    two_environments = torch.ones(N + M, 2)
    two = fitted(environments=two_environments, chosen={"b": 2.0})
    units = []
    for seed, method in enumerate((one, two)):
        predictions = predict(ours, seed, method, LEARNER)
        units.append(predictions.arrays())
    path = tmp_path / "predictions.npz"
    save_stacked(path, aligned(units))
    first, second = load_records(Predictions, path)
    assert first.memberships is not None
    total = first.memberships.sum(0)
    assert total.tolist() == [N + M, 0]
    assert first.chosen.tolist() == ["a", "b"]
    assert second.chosen.tolist() == ["a", "b"]
    assert_array_equal(first.choices, [1.0, np.nan])
    assert_array_equal(second.choices, [np.nan, 2.0])


def network(x: torch.Tensor) -> torch.Tensor:
    return x[:, 0]


def fitted(**parts: Any) -> Fitted:
    """With one network, but for the parts given."""
    defaults = {"networks": {"model": network}}
    return Fitted(**defaults | parts)


def with_network(function: Any) -> Fitted:
    """With this function of points, or what shall pass for one."""
    return fitted(networks={"model": function})


def inferred(environments: Any) -> Fitted:
    """With memberships."""
    return fitted(environments=environments)


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (None, "train must return a Fitted; got NoneType"),
    "dict": ({"model": network}, "train must return a Fitted; got dict"),
    "other output": (fitted(networks={"net": network}), "lacks the output model"),
    "no dict": (fitted(networks=network), "networks of its Fitted must be a dict"),
    "outputs": (
        with_network(torch.ones(N)),
        f"networks['model'] must be a function of points; got shape ({N},)",
    ),
    "features": (
        fitted(directions={"model": torch.ones(K)}),
        "directions['model'] need the reduced features; declare needs_features=True",
    ),
    "NumPy": (
        with_network(lambda x: x[:, 0].numpy()),
        f"output model must be a tensor of shape ({N},) for {N} points; got ndarray",
    ),
    "column": (
        with_network(lambda x: x[:, :1]),
        f"must be a tensor of shape ({N},) for {N} points; got shape ({N}, 1)",
    ),
    "one too few": (
        with_network(lambda x: x[1:, 0]),
        f"for {N} points; got shape ({N - 1},)",
    ),
    "rows of memberships": (
        inferred(torch.ones(N, 2)),
        f"must be a tensor of shape ({N + M}, K), a row for each training and",
    ),
    "labels": (
        inferred(torch.ones(N + M)),
        f"must be a tensor of shape ({N + M}, K), a row for each training and",
    ),
    "memberships that are no numbers": (
        inferred(torch.full((N + M, 2), torch.nan)),
        "environments of its Fitted must be finite; got NaN",
    ),
    "memberships below 0": (
        inferred(torch.tensor([[2.0, -1.0]] * (N + M))),
        "must be memberships from 0 to 1; got -1 to 2",
    ),
    "sparse memberships": (
        inferred(torch.ones(N + M, 2).to_sparse()),
        "must be a dense tensor of real numbers",
    ),
    "sparse outputs": (
        with_network(lambda x: x[:, 0].to_sparse()),
        "output model must be a dense tensor; got torch.sparse_coo",
    ),
    "complex outputs": (
        with_network(lambda x: x[:, 0] * 1j),
        "output model must hold real numbers; got torch.complex64",
    ),
    "outputs without numbers": (
        with_network(lambda x: x[:, 0].to("meta")),
        "output model is on the device meta, which holds no numbers",
    ),
    "NumPy memberships": (inferred(np.ones((N + M, 2))), "got ndarray"),
    "choices": (fitted(chosen={"k": [1, 2]}), "chosen['k'] must be a number; got [1"),
    "choice": (fitted(chosen={"k": "many"}), "must be a number; got 'many'"),
}


@pytest.mark.parametrize(("returned", "problem"), WRONG.values(), ids=WRONG)
def test_what_is_no_trained_method_is_refused(
    returned: Any, problem: str, tmp_path: Path
) -> None:
    ours, _ = replicates(tmp_path)
    with pytest.raises(KerhrmError) as error:
        predict(ours, 0, returned, LEARNER)
    text = str(error.value)
    assert text.startswith("learner mine: ")
    assert problem in text
    assert error.value.hint
    assert "\n" not in text


def test_tensors_that_numpy_does_not_take_are_converted(tmp_path: Path) -> None:
    """Of 16 bits, or with a gradient."""
    ours, _ = replicates(tmp_path)
    weights = torch.ones(1, requires_grad=True)

    @torch.enable_grad()
    def with_gradient(x: torch.Tensor) -> torch.Tensor:
        return x[:, 0] * weights

    plain = predict(ours, 0, fitted(), LEARNER)
    same = fitted(
        networks={"model": with_gradient},
        environments=torch.ones(N + M, 1) * weights,
        chosen={"k": torch.tensor(2.0).bfloat16()},
    )
    found = predict(ours, 0, same, LEARNER)
    assert_array_equal(found.test, plain.test)
    assert found.memberships is not None
    assert (found.memberships == 1).all()
    assert found.choices.tolist() == [2.0]
    for dtype, rounding in ((torch.bfloat16, 2**-8), (torch.float8_e4m3fn, 2**-3)):
        short = with_network(lambda x, dtype=dtype: x[:, 0].to(dtype))
        found = predict(ours, 0, short, LEARNER)
        assert_allclose(found.test, plain.test, rtol=rounding, atol=0.01)


@pytest.mark.parametrize("theta", [np.ones(K), torch.ones(K, 1), torch.ones(K - 1)])
def test_a_direction_has_a_number_for_each_feature(theta: Any, tmp_path: Path) -> None:
    ours, _ = replicates(tmp_path, features=True)
    method = Fitted(directions={"model": theta})
    message = rf"must be a tensor of shape \({K},\); got"
    with refusal(message):
        predict(ours, 0, method, LEARNER)


def test_environments_that_are_declared_are_there(tmp_path: Path) -> None:
    ours, _ = replicates(tmp_path)
    learner = LEARNER | {"infers": True}
    with refusal(r"no environments, but .* infers=True; add"):
        predict(ours, 0, fitted(), learner)
    with_environments = inferred(torch.ones(N + M, 1))
    predict(ours, 0, with_environments, learner)


def test_iterations_that_are_declared_are_there(tmp_path: Path) -> None:
    ours, _ = replicates(tmp_path, features=True)
    learner = LEARNER | {"iterates": True}
    theta = torch.ones(K)
    without_iterations = Fitted(directions={"model": theta})
    with refusal("learner mine: its Fitted has no iterations"):
        predict(ours, 0, without_iterations, learner)

    steps = {0: (theta, None), 1: (2 * theta, torch.ones(N, 2))}
    with_iterations = Fitted({}, {"model": 2 * theta}, iterations=steps)
    found = predict(ours, 0, with_iterations, learner)
    assert found.iterations is not None
    assert found.iterations.tolist() == [0, 1]
    assert found.iteration_train is not None
    last_outputs = found.iteration_train[1]
    assert_allclose(last_outputs, found.output("model", "train"))
    memberships = found.iteration_memberships
    assert memberships is not None
    total = memberships.sum((1, 2))
    assert total.tolist() == [0, 2 * N]


@pytest.mark.parametrize("part", ["training", "validation"])
def test_memberships_hold_points_of_both_parts(part: str, tmp_path: Path) -> None:
    """Those of none would have an infinite score."""
    ours, _ = replicates(tmp_path)
    memberships = torch.ones(N + M, 2)
    rows = slice(0, N) if part == "training" else slice(N, None)
    memberships[rows] = 0
    with refusal(f"environments of its Fitted hold no {part} point; give every point"):
        predict(ours, 0, inferred(memberships), LEARNER | {"infers": True})
