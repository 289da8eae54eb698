"""The page on many points tells the tables of its studies."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from benchmarks import learning_curve, scale

ROOT = Path(__file__).parents[3]
COLUMNS = ("setting", "method", "metric", "mean", "std", "selection")


def table(folder: Path, name: str, *rows: tuple[object, ...]) -> None:
    (folder / name).mkdir(parents=True)
    pd.DataFrame(rows, columns=COLUMNS).to_csv(folder / name / f"{name}.csv", index=False)


def test_accuracies_stand_side_by_side(tmp_path: Path) -> None:
    table(
        tmp_path, "full_mnist",
        ("14x14", "ERM", "test_acc", 0.11, 0.004, "pooled validation"),
        ("14x14", "ERM", "train_acc", 0.85, 0.001, "pooled validation"),
        ("14x14", "KerHRM (NTF)", "test_acc", 0.7441, 0.0012, "worst learned environment"),
        ("14x14", "KerHRM (NTF)", "test_acc", 0.9, 0.0, "oracle"),
        ("28x28", "KerHRM (NTF)", "test_acc", 0.75, None, "worst learned environment"),
    )  # fmt: skip
    table(tmp_path, "full_mnist_public", ("public", "IRM", "test_acc", 0.7, 0.01, "as given"))
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in scale.accuracies(tmp_path).splitlines()
    ]
    assert lines[0] == ["method", "14x14", "28x28", "public"]
    assert lines[2:] == [
        ["ERM", "0.110 ± 0.004", "", ""],
        ["KerHRM (NTF)", "0.744 ± 0.001", "0.750", ""],
        ["IRM", "", "", "0.700 ± 0.010"],
    ]


def test_every_way_has_a_row_and_every_dimension_a_column() -> None:
    base = {"spectrum_error": 0.01234, "labels_changed": 0.0005, "seconds": 12.3}
    rows = [
        {"way": way, "landmarks": m, "passes": 0, "k": k} | base
        for way, m in (("Nystrom", 2000), ("landmarks", 2000))
        for k in (25, 600)
    ]
    lines = scale.approximation(pd.DataFrame([{"way": "exact", "seconds": 99.0}, *rows]))
    head, _, *body = lines.splitlines()
    assert "k = 25" in head
    assert "k = 600" in head
    assert len(body) == 2
    assert body[0].count("1.23%, 0.05%") == 2
    assert " 12 " in body[0]


def test_the_best_dimensions_are_told_by_number_of_images() -> None:
    keys = ["seed", "n", "k", "test_acc", "test_acc_nested"]
    rows = [(0, 5000, 25, 0.6, 0.6), (0, 5000, 100, 0.2, 0.7), (0, 50_000, 25, 0.71, 0.7),
            (1, 5000, 25, 0.7, 0.7), (1, 5000, 100, 0.2, 0.5)]  # fmt: skip
    assert scale.best(pd.DataFrame(rows, columns=keys)) == [
        {"n": "5 000", "k": "25", "test_acc": "0.650"},
        {"n": "50 000", "k": "25", "test_acc": "0.710"},
    ]


def test_the_curve_tells_deviations_counts_and_the_first_seeds_times() -> None:
    keys = ["seed", "n", "k", "starts", "exact", "label_splits", "test_acc", "test_acc_nested",
            "features_s", "em_s", "theta_s"]  # fmt: skip
    rows = [(0, 5000, 25, 4, 3, 1, 0.6, 0.6, 11.0, 0.1, 0.02),
            (1.0, 5000.0, 25.0, 4.0, 4.0, 0.0, 0.7, 0.7, 99.0, 99.0, 99.0),
            (0, 50_000, 25, 4, 1, 0, 0.71, 0.7, 39.0, 1.0, 0.0)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=keys)
    _, _, *body = scale.curve(frame).splitlines()
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in body] == [
        ["5000", "25", "2", "8", "7", "1", "0.650 ± 0.071", "0.650 ± 0.071", "11.0", "0.1", "0.0"],
        ["50000", "25", "1", "4", "1", "0", "0.710", "0.700", "39.0", "1.0", "0.0"],
    ]
    accuracy, shares, seconds = learning_curve.draw(frame).axes
    drawn = [list(line.get_ydata()) for line in seconds.lines]
    np.testing.assert_allclose(
        accuracy.containers[0].lines[2][0].get_segments(),
        [[[25, 0.65 - 0.05 * 2**0.5], [25, 0.65 + 0.05 * 2**0.5]]],
    )
    assert [7 / 8] in [list(line.get_ydata()) for line in shares.lines]
    assert drawn == [[pytest.approx(11.12)], [40.0]]


@pytest.mark.skipif(not (ROOT / scale.PAGE).exists(), reason="no study is committed")
def test_the_committed_page_is_that_of_the_committed_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    assert scale.text() == scale.PAGE.read_text(encoding="utf-8")


def test_options_that_are_written_twice_are_the_same() -> None:
    """Those of EIIL's authors, in the table of 28x28 pixels and in that of the others."""
    paths = [ROOT / f"config/experiments/full_mnist{n}.yaml" for n in ("_public", "_eiil_public")]
    two, one = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths)
    assert one["methods"]["eiil"] == two["methods"]["eiil"]
    assert all(one[name] == two[name] for name in ("network", "data", "seeds"))
