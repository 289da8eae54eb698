"""The report of the clustering's starts, from files as the workflow leaves them."""

from pathlib import Path

import pandas as pd
import pytest
import torch

from kerhrm.algorithm.records import Environments
from kerhrm.reporting.restarts import restart_counts, restart_report

COUNTS = ["n_starts", "n_label_split", "n_empty", "n_unconverged"]


def leave(folder: Path, k: list[list[int]], first: int) -> Path:
    """Environments whose numbers count on from ``first``, field by field."""
    dimensions = torch.tensor(k)
    grid = torch.arange(dimensions.numel()).reshape(dimensions.shape)
    environments = Environments(
        k=dimensions,
        train=torch.zeros(*dimensions.shape, 3, 2),
        validation=torch.zeros(*dimensions.shape, 2, 2),
        ridge=(first + grid) / 1000,
        held_out=-(first + grid) / 7,
        objective=(first + grid) / 3,
        label_information=(first + grid) / 1e4,
        usable=grid % 2 == 0,
        n_starts=first + grid,
        n_label_split=first + grid + 100,
        n_empty=first + grid + 200,
        n_unconverged=first + grid + 300,
    )
    path = folder / f"{first}.npz"
    environments.save(path)
    return path


def test_one_row_a_setting_iteration_seed_and_dimension(tmp_path: Path) -> None:
    paths = [
        leave(tmp_path, [[10, 15], [10, 15]], first=0),
        leave(tmp_path, [[15], [10]], first=4),
        leave(tmp_path, [[20]], first=6),
    ]
    report = restart_report(paths, [("r2=0.70", 1), ("r2=0.70", 2), ("cmnist,k=extended", 1)])
    head = ["setting", "iteration", "seed", "k"]
    assert [tuple(row) for row in report[head].to_numpy()] == [
        ("r2=0.70", 1, 0, 10),
        ("r2=0.70", 1, 0, 15),
        ("r2=0.70", 1, 1, 10),
        ("r2=0.70", 1, 1, 15),
        ("r2=0.70", 2, 0, 15),
        ("r2=0.70", 2, 1, 10),
        ("cmnist,k=extended", 1, 0, 20),
    ]
    for offset, name in enumerate(COUNTS):
        assert report[name].tolist() == [i + 100 * offset for i in range(7)]
    assert report["ridge"].tolist() == pytest.approx([i / 1000 for i in range(7)])
    assert report["held_out"].tolist() == pytest.approx([-i / 7 for i in range(7)])
    assert report["label_information"].tolist() == pytest.approx([i / 1e4 for i in range(7)])
    assert report["usable"].tolist() == [True, False, True, False, True, False, True]
    assert list(report.columns) == [
        *head, *COUNTS, "ridge", "held_out", "label_information", "usable",
    ]  # fmt: skip


def test_settings_may_share_a_file_and_replicates_have_names(tmp_path: Path) -> None:
    shared = leave(tmp_path, [[10], [15]], first=0)
    searches = [["H=I", 2], ["H=I,weights=shares", 2]]  # as parameters of a rule are
    report = restart_report([shared, shared], searches, replicates=[7, 101])  # type: ignore[arg-type]
    assert report["setting"].tolist() == ["H=I"] * 2 + ["H=I,weights=shares"] * 2
    assert report["seed"].tolist() == [7, 101] * 2
    assert report["k"].tolist() == [10, 15] * 2
    with pytest.raises(ValueError, match="shorter"):
        restart_report([shared, shared], searches[:1])  # type: ignore[arg-type]


def test_without_clustering_the_report_is_empty_and_can_be_read(tmp_path: Path) -> None:
    restart_report([], []).to_csv(tmp_path / "mine.csv", index=False)
    report = pd.read_csv(tmp_path / "mine.csv")
    assert report.empty
    assert restart_counts({"mine": report}) == restart_counts({})
    assert "No method here" in restart_counts({})
