"""Fitted estimators go to a file without pickle, and predict the same when they come back."""

from pathlib import Path
from typing import Any

import factories
import numpy as np
import pandas as pd
import pytest

from kerhrm import EIIL, ERM, HRM, KerHRM, KerHRMClassifier, KerHRMRegressor
from kerhrm.errors import KerhrmError
from kerhrm.storage.arrays import load_arrays, save_arrays

SMALL: dict[str, Any] = {"k": 3, "n_init": 2, "n_iterations": 1, "network": (16,)}
MODELS = {
    "classifier": KerHRMClassifier(**SMALL, random_state=0),
    "network": KerHRMClassifier(**SMALL, predictor="network", cosine_weight=1.0),
    "module": KerHRMClassifier(**dict(SMALL, network="factories:wide", k=(2, 3))),
    "callable": KerHRMClassifier(**dict(SMALL, network=factories.mlp, k=np.array([2]))),
    "options": KerHRMClassifier(**SMALL, options=KerHRM(end="last")),
    "generator": KerHRMClassifier(**SMALL, random_state=np.random.RandomState(1)),
    "regressor": KerHRMRegressor(**SMALL, when_homogeneous="ignore", random_state=0),
    "pooled": KerHRMRegressor(**SMALL, random_state=0),
    "ERM": ERM(network=(8,), steps=20),
    "EIIL": EIIL(network=(8,), steps=20, inference_steps=10),
    "HRM": HRM(task="regression", iterations=1, cluster_steps=20, gate_steps=20),
}


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.notices.KerhrmWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_file_predicts_the_same(name: str, labels: Any, null: Any, tmp_path: Path) -> None:
    model = MODELS[name]
    classifies = model._task == "classification"
    table = labels if classifies else null
    x = pd.DataFrame(table.x, columns=[f"x{j}" for j in range(table.x.shape[1])])
    y = np.where(table.y > 0, "yes", "no").astype(object) if classifies else table.y
    path = tmp_path / "model.npz"
    model.fit(x, y).save(path)
    with np.load(path, allow_pickle=False) as archive:
        assert len(archive.files) > 3
    back = type(model).load(path)
    np.testing.assert_array_equal(back.predict(x), model.predict(x))
    assert back.predict(x).dtype == model.predict(x).dtype
    if classifies:
        np.testing.assert_array_equal(back.predict_proba(x), model.predict_proba(x))
    if hasattr(model, "environments_"):
        np.testing.assert_array_equal(back.environments_, model.environments_)
    if hasattr(model, "environment_proba_"):
        for attribute in ("environment_proba_", "theta_", "singular_values_"):
            np.testing.assert_array_equal(getattr(back, attribute), getattr(model, attribute))
        np.testing.assert_array_equal(
            back.predict_environment_proba(x, y), model.predict_environment_proba(x, y)
        )
        for attribute in ("selected_", "history_", "converged_", "n_iter_", "predictor_"):
            assert getattr(back, attribute) == getattr(model, attribute)
        assert str(back.heterogeneity_) == str(model.heterogeneity_)
    same = {"network", "random_state", "k"}  # by name, by the seed that came of it, as numbers
    assert {n: v for n, v in back.get_params().items() if n not in same} == {
        n: v for n, v in model.get_params().items() if n not in same
    }
    with pytest.raises(ValueError, match="other columns than in the fit"):
        back.predict(x.rename(columns={"x0": "z"}))
    back.fit(x, y)


def test_other_files_are_refused(labels: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    ERM(network=(4,), steps=2).fit(labels.x, labels.y).save(path)
    with pytest.raises(KerhrmError, match=r"holds no HRM of this version; use ERM\.load"):
        HRM.load(path)
    save_arrays(path, {}, {})
    with pytest.raises(
        KerhrmError, match="holds no HRM of this version; give a file that an estimator's save"
    ):
        HRM.load(path)
    path.write_bytes(b"PK nothing")
    with pytest.raises(KerhrmError, match="is damaged"):
        HRM.load(path)


@pytest.mark.parametrize("n_inputs", ["touch started", True, 0, 2.0, None])
def test_a_file_runs_no_command(
    n_inputs: Any, labels: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ERM(network=(4,), steps=2).fit(labels.x, labels.y).save("model.npz")
    arrays, facts = load_arrays("model.npz")
    network = facts["predictor"]["network"]
    network["n_inputs"], network["network"]["module"] = n_inputs, "posix:system"
    save_arrays("model.npz", arrays, facts)
    with pytest.raises(KerhrmError, match="is no number of inputs of a network; give a file"):
        ERM.load("model.npz")
    assert not Path("started").exists()


def test_what_has_no_place_in_a_file_is_refused(
    labels: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.npz"
    model = ERM(network=(4,), steps=2).fit(labels.x, labels.y)
    model.set_params(device=object())
    with pytest.raises(KerhrmError, match=r"device=<object .* has no place in a file"):
        model.save(path)
    model.set_params(device="cpu", network="__main__:net")
    with pytest.raises(KerhrmError, match="'__main__:net' is defined in the main script"):
        model.save(path)
    assert not path.exists()


def test_nothing_of_the_training_rows_is_in_the_file(labels: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    KerHRMClassifier(**SMALL, random_state=0).fit(labels.x, labels.y).save(path)
    arrays, _ = load_arrays(path)
    of_rows = {name for name, array in arrays.items() if len(labels.y) in array.shape}
    assert of_rows == {"environments_", "environment_proba_"}
