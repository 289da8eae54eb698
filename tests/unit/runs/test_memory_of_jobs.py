"""Jobs that need more memory than there is: all replicates count, before any work."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal

from kerhrm import NetworkOptions, Problem, memory
from kerhrm.features.map import NTFMap
from kerhrm.features.options import FeatureOptions
from kerhrm_paper.runs.arrays import load_arrays, save_arrays, save_stacked
from kerhrm_paper.runs.checkpoints import Checkpoint
from kerhrm_paper.runs.extraction import extract_features
from kerhrm_paper.runs.iterations import write_environments
from kerhrm_paper.runs.replication import Replication, Seeds

N, M, TEST, D, K, SEEDS = 400, 50, 1600, 3, 6, 3
CPU = torch.device("cpu")
#: arrays of one problem, in double precision
OF_PROBLEM = 8 * (N * K + K + M * K + 2 * N + 2 * M)


def memory_of(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr(memory, "memory_limit", lambda: n_bytes)


def points(folder: Path) -> dict[str, str]:
    """Files of random points, in single precision."""
    random = np.random.default_rng(0)
    files = {}
    for name, n in {"train": N, "validation": M, "test_inputs": TEST}.items():
        x = random.standard_normal((SEEDS, n, D), np.float32)
        files[name] = str(folder / f"{name}.npz")
        save_arrays(files[name], {"x": x, "y": x[..., 0]})
    return files


def test_a_file_that_memory_does_not_hold_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.npz"
    save_arrays(path, {"x": np.zeros(1000)})
    size = path.stat().st_size
    memory_of(monkeypatch, size)
    load_arrays(path)
    memory_of(monkeypatch, size - 1)
    with refusal(r"reading .*large.npz needs at least .* GB of memory"):
        load_arrays(path)


def test_clustering_counts_the_features_of_all_replicates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = points(tmp_path)
    files["features"] = str(tmp_path / "features.npz")
    random = torch.Generator().manual_seed(0)
    y = torch.randn(N + M, generator=random).double()
    problem = Problem(
        u=torch.randn(N, K, generator=random).double(),
        s=torch.ones(K).double(),
        psi_validation=torch.randn(M, K, generator=random).double(),
        f0_train=torch.zeros(N).double(),
        f0_validation=torch.zeros(M).double(),
        y=y[:N],
        y_validation=y[N:],
        task="regression",
        seed=0,
    )
    save_stacked(files["features"], [problem.arrays()] * SEEDS)
    options = {"k": [K], "n_init": 2, "clustering_ridge": [1e-2]}
    params = SimpleNamespace(learner={"options": options, "n_seeds": SEEDS})
    read = SimpleNamespace(**files, environments=[], directions=[])
    starts = 8 * 2 * N * 2
    products = 8 * N * (K * (K + 1) // 2 + K)
    needed = SEEDS * OF_PROBLEM + 8 * N * K + products + 3 * starts

    def write() -> None:
        checkpoint = Checkpoint(tmp_path / "checkpoint")
        write_environments(read, params, 1, CPU, str(output), checkpoint)

    output = tmp_path / "environments.npz"
    memory_of(monkeypatch, needed - 1)
    with refusal(r"clustering step \(M_c\) of 400 points with k=6 needs at least"):
        write()
    assert not output.exists()
    assert not (tmp_path / "checkpoint").exists()
    memory_of(monkeypatch, needed)
    write()
    assert output.exists()


@pytest.mark.parametrize(
    ("n_landmarks", "needed", "what"),
    [
        (None, 12 * N * TEST, "kernel of 1600 and 400 points"),
        (
            50,
            # points, features of all parts, and those of two as they are written
            4 * SEEDS * ((N + M + TEST) * (D + 1) + K * (2 * (N + M) + TEST)),
            "features of 3 times 2050 points with k=6",
        ),
    ],
    ids=["exact", "landmarks"],
)
def test_features_are_refused_before_the_first_replicate(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_landmarks: int | None,
    needed: int,
    what: str,
) -> None:
    """Those of test points, too, which are mapped last."""
    data = Replication(
        name="data",
        task="regression",
        network=NetworkOptions(widths=[8]),
        features=FeatureOptions(k=K, n_landmarks=n_landmarks),
        seeds=Seeds.alike(SEEDS, 0),
    )
    files = points(tmp_path)
    outputs = SimpleNamespace(
        training=str(tmp_path / "training.npz"), test=str(tmp_path / "test.npz")
    )

    def write() -> None:
        checkpoint = Checkpoint(tmp_path / "checkpoint")
        extract_features(files, data.params(), CPU, outputs, checkpoint)

    def works(*_: Any) -> None:
        pytest.fail("the job has begun")

    with monkeypatch.context() as patch:
        patch.setattr(NTFMap, "fit", works)
        memory_of(patch, needed - 1)
        with refusal(what):
            write()
    memory_of(monkeypatch, 10 * needed)
    write()
    assert Path(outputs.test).exists()
