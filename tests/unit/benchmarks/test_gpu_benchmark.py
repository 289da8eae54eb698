"""The benchmark of a GPU, at tiny sizes with the CPU in the card's place."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import gpu
from benchmarks.gpu_stages import product_tflop
from kerhrm import NetworkOptions, build
from kerhrm.features.ntf import FactoredNTF, extract

ROOT = Path(__file__).parents[3]
PARTS = ["machine", "features", "iteration", "transfers"]


def bench(folder: Path, *arguments: str, card: str) -> subprocess.CompletedProcess[str]:
    """The command with some arguments, results in a folder."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    variables = {"BENCH": "tiny", "BENCH_CARD": card, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.gpu", "--out", str(folder)]
    return subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        env=os.environ | variables | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_parts_are_measured_once_and_drawn(tmp_path: Path) -> None:
    done = bench(tmp_path, *PARTS, card="cpu")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert list(found) == PARTS
    table = gpu.compared(found)
    iteration = {"M_c, n = 60, defaults", "M_p, n = 60, as in Table 4"}
    tasks = {"Gram matrix, n = 60", "top-3 SVD, n = 120", *iteration}
    assert tasks <= set(table.index)
    assert (table[["card", "cpu"]] > 0).all(axis=None)
    agreement = [row for row in gpu.rows(found) if "agreement" in row["task"]]
    deviations = [
        value for row in agreement for value in row.values() if isinstance(value, float)
    ]
    assert len(deviations) == 6  # two of features at two sizes, one of two iterations
    assert max(deviations) < 1e-12
    before = (tmp_path / "gpu.json").read_bytes()
    again = bench(tmp_path, *PARTS, card="cpu")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "gpu.json").read_bytes() == before
    assert (tmp_path / "gpu.png").stat().st_size > 5000


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_without_a_card_it_says_so_before_any_work(tmp_path: Path) -> None:
    done = bench(tmp_path, card="cuda")
    line = (
        "benchmarks.gpu: error: device=cuda, but PyTorch sees 0 GPUs; use device=auto"
    )
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1
    assert done.returncode == 1
    assert not list(tmp_path.iterdir())


def test_products_of_a_symmetric_kernel_are_counted() -> None:
    """Blocks of rows on and above the diagonal, by hand."""
    network = build(NetworkOptions(widths=[4]), seed=0, d=3)
    phi, _ = extract(network, torch.randn(5, 3))
    assert isinstance(phi, FactoredNTF)
    entries = 2 * 5 + 2 * 3 + 1 * 1
    by_hand = 2 * entries * (3 + 4 + 4)  # inputs of both layers, the hidden deltas
    assert product_tflop(phi, n_rows=2) == pytest.approx(1e-12 * by_hand)


def test_the_page_has_the_numbers_of_the_file() -> None:
    found = gpu.load(ROOT / "results" / "gpu" / "gpu.json")
    rows = {(row["task"], row.get("device")): row for row in gpu.rows(found)}
    whole = rows["Table 4 by the workflow", "workflow"]
    agreement = rows["Table 4 against the published one", None]
    gram = rows["Gram matrix, n = 50000", "card"]
    small, large = gpu.together(found)
    said = [
        f"{agreement['numbers']} numbers {agreement['within_.01']} are within .01",
        f"takes {whole['seconds']:.0f} s",
        f"{whole['card_gb']:.1f} GB for eight jobs",
        f"{100 * gram['gemm_share']:.0f} % of the rate",
    ]
    page = (ROOT / "docs" / "studies.md").read_text("utf-8")
    section = " ".join(page.partition("## On a GPU")[2].split())
    for text in said:
        assert text in section, text
    for line in (small, large):
        times = float(line.rsplit(", ", 1)[1].split()[0])
        digits = 0 if times >= 10 else 1
        assert f"{times:.{digits}f} times" in section, line
