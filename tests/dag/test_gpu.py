"""Every rule that can use a GPU gives there what it gives on a CPU, from the same
input."""

import shutil

import numpy as np
import pytest
import torch
from dagtools import SMOKE, Checkout
from numpy.testing import assert_allclose

from kerhrm_paper.runs.arrays import load_arrays

pytestmark = [
    pytest.mark.dag,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]

DATA = "results/smoke/classification+r2=0.7"
#: largest difference, relative to the array's largest entry; networks are trained in
#: float32, the algebra of KerHRM is done in float64 on features that come from float32
TOLERANCES = {
    "features/training.npz": 1e-4,
    "features/test.npz": 1e-4,
    "kerhrm/iterations/1/environments.npz": 1e-4,
    "kerhrm/iterations/1/directions.npz": 1e-6,
    "kerhrm/iterations/2/environments.npz": 1e-4,
    "kerhrm/predictions.npz": 1e-3,
    "kerhrm_as_printed/predictions.npz": 1e-3,
    "kerhrm_authors_code/predictions.npz": 1e-3,
    "true_environments/predictions.npz": 1e-6,
    "erm/predictions.npz": 1e-3,
    "dro/predictions.npz": 1e-3,
    "eiil/predictions.npz": 1e-3,
    "hrm/predictions.npz": 1e-3,
    "irm/predictions.npz": 1e-3,
    "iga/predictions.npz": 1e-3,
}


@pytest.fixture(scope="module")
def copy(smoke: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return smoke.copy(tmp_path_factory.mktemp("gpu") / "copy")


@pytest.mark.parametrize("name", TOLERANCES)
def test_a_gpu_computes_the_same(smoke: Checkout, copy: Checkout, name: str) -> None:
    file = f"{DATA}/{name}"

    def made_on(device: str) -> dict[str, np.ndarray]:
        # Only --force makes the rule run, on what is there; its input is of one device.
        shutil.copytree(smoke.folder / DATA, copy.folder / DATA, dirs_exist_ok=True)
        flags = ("--force", "--rerun-triggers", "mtime")
        copy.run(file, *flags, *SMOKE, f"device={device}")
        arrays, _ = load_arrays(copy.folder / file)
        return arrays

    expected = made_on("cpu")
    found = made_on("cuda")
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        scale = np.abs(array[np.isfinite(array)]).max(initial=0)
        assert_allclose(
            found[key], array, rtol=0, atol=TOLERANCES[name] * scale, err_msg=key
        )
