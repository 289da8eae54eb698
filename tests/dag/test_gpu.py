"""Every rule that can use a GPU gives there what it gives on a CPU, from the same input."""

import shutil

import numpy as np
import pytest
import torch
from dagtools import SMOKE, Checkout

from kerhrm.storage.arrays import load_arrays

pytestmark = [
    pytest.mark.dag,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]

SETTING = "results/smoke/classification/r2=0.70"
#: largest difference, relative to the array's largest entry; networks are trained in float32,
#: the algebra of KerHRM is done in float64 on features that come from float32
TOLERANCES = {
    "features/training.npz": 1e-4,
    "features/test.npz": 1e-4,
    "iterations/1/environments.npz": 1e-4,
    "iterations/1/theta.npz": 1e-6,
    "iterations/2/environments.npz": 1e-4,
    "iterations/2/theta.npz": 1e-6,
    "predictions/kerhrm-ntf.npz": 1e-6,
    "predictions/true_environments.npz": 1e-6,
    "predictions/kerhrm-network.npz": 1e-3,
    "predictions/released.npz": 1e-3,
    # all of Algorithm 1 there, so that differences of its steps add up
    "predictions/kerhrm_grid.npz": 1e-3,
    "predictions/per_seed-ntf.npz": 1e-3,
    "predictions/literal.npz": 1e-3,
    "predictions/erm.npz": 1e-3,
    "predictions/dro.npz": 1e-3,
    "predictions/eiil.npz": 1e-3,
    "predictions/hrm.npz": 1e-3,
    "predictions/irm.npz": 1e-3,
    "predictions/iga.npz": 1e-3,
}


@pytest.fixture(scope="module")
def copy(smoke: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return smoke.copy(tmp_path_factory.mktemp("gpu") / "copy")


@pytest.mark.parametrize("name", TOLERANCES)
def test_a_gpu_computes_the_same(smoke: Checkout, copy: Checkout, name: str) -> None:
    file = f"{SETTING}/{name}"
    # What the rule reads is as the CPU has made it, and no reason for anything but --force.
    shutil.copytree(smoke.folder / SETTING, copy.folder / SETTING, dirs_exist_ok=True)
    before = (copy.folder / file).stat().st_mtime_ns
    copy.run(file, "--force", "--rerun-triggers", "mtime", *SMOKE, "device=cuda")
    assert (copy.folder / file).stat().st_mtime_ns > before
    expected, facts = load_arrays(smoke.folder / file)
    found, facts_found = load_arrays(copy.folder / file)
    assert found.keys() == expected.keys()
    assert facts_found == facts
    for key, array in expected.items():
        scale = np.abs(array[np.isfinite(array)]).max(initial=0)
        np.testing.assert_allclose(
            found[key], array, rtol=0, atol=TOLERANCES[name] * scale, err_msg=key
        )
