"""Processes on a GPU: networks of many seeds, Table 4 by the workflow, a killed job."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks.cases import TINY
from benchmarks.gpu_cases import CARD, CORES
from kerhrm_paper.runs.costs import measured as measured_costs

ROOT = Path(__file__).parents[1]
Row = dict[str, Any]
SEEDS = 2 if TINY else 20
PRESET = "smoke" if TINY else "fresh"
FOLDER = Path(os.environ.get("BENCH_GPU_FOLDER", ROOT / "build" / "gpu"))
RUN = FOLDER / "results" / PRESET
#: of the workflow at most; what is not done then is said
WORKFLOW_SECONDS = float(os.environ.get("BENCH_WORKFLOW_SECONDS", 500))
#: what a job of a minute makes, and its log
LONG = "colored_mnist/kerhrm_as_printed/predictions.npz"
LOG = "logs/train/colored_mnist/kerhrm_as_printed.log"


def networks() -> list[Row]:
    """Train networks of 20 seeds: one after the other, and in processes at once."""
    ways = [
        ("card", CARD, 1, 1),
        ("card", CARD, min(4, SEEDS), 1),
        ("card", CARD, min(10, SEEDS), 1),
        ("cpu", "cpu", 1, CORES),
        ("cpu", "cpu", min(CORES, SEEDS), 1),
    ]
    found = []
    means = {}
    for device, where, n_processes, n_threads in ways:
        seconds, means[device] = at_once(where, n_processes, n_threads)
        row: Row = {"task": f"networks of {SEEDS} seeds", "device": device}
        how = f"{n_processes} processes of {n_threads} threads"
        found.append({**row, "seconds": seconds, "how": how})
    differences = [abs(means["card"][s] - means["cpu"][s]) for s in means["cpu"]]
    found.append({"task": "agreement of mean outputs", "largest": max(differences)})
    found += two_jobs()
    return found


def at_once(
    where: str, n_processes: int, n_threads: int, n_seeds: int = SEEDS
) -> tuple[float, dict[str, float]]:
    """Seconds of the training of all seeds, shared by processes that start together,
    and mean outputs by seed."""
    workers = []
    for number in range(n_processes):
        seeds = map(str, range(number, n_seeds, n_processes))
        workers.append(start_worker(where, n_threads, *seeds))
    for worker in workers:
        read_line(worker)
    start = time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    means: dict[str, float] = {}
    for worker in workers:
        means |= json.loads(read_line(worker))
    seconds = time.perf_counter() - start
    for worker in workers:
        worker.communicate()
    return seconds, means


def start_worker(where: str, n_threads: int, *seeds: str) -> subprocess.Popen[str]:
    """Start one process of :mod:`benchmarks.gpu_worker`."""
    command = [sys.executable, "-m", "benchmarks.gpu_worker", where, str(n_threads)]
    return subprocess.Popen(
        [*command, *seeds],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": str(n_threads)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def read_line(worker: subprocess.Popen[str]) -> str:
    """Next line of a process; RuntimeError if it has ended."""
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError(f"a worker ended with status {worker.wait()}")
    return line


def two_jobs() -> list[Row]:
    """Seconds of the same five seeds alone on the card, and twice at once."""
    few = min(5, SEEDS)
    alone, means = at_once(CARD, 1, 1, few)
    results: list[tuple[float, dict[str, float]]] = []
    both = [
        threading.Thread(target=lambda: results.append(at_once(CARD, 1, 1, few)))
        for _ in range(2)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    (first, means_1), (second, means_2) = results
    return [
        {
            "task": "two jobs on one card",
            "seconds_alone": alone,
            "seconds_together": [first, second],
            "same_numbers": means == means_1 == means_2,
        }
    ]


def snakemake(*arguments: str) -> list[str]:
    """Command that runs the workflow on the card, in a folder of its own."""
    return [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--directory",
        str(FOLDER),
        "--cores",
        str(CORES),
        "--keep-going",
        *arguments,
        "--config",
        f"preset={PRESET}",
        f"device={CARD}",
    ]


def table4() -> list[Row]:
    """Table 4 whole, by the workflow: seconds, where they go, and its numbers against
    the published ones of a CPU."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    table = RUN / "tables" / "table4.csv"
    log = FOLDER / "table4.log"
    command = snakemake(f"results/{PRESET}/tables/table4.csv")
    start = time.perf_counter()
    with log.open("w") as output, memory_watched() as used:
        status = run_limited(command, output)
    seconds = time.perf_counter() - start
    found: list[Row] = [
        {
            "task": "Table 4 by the workflow",
            "device": "workflow",
            "seconds": seconds,
            "status": status,
            "card_gb": max(used, default=None),
            "done": table.exists(),
        }
    ]
    costs = measured_costs(RUN)
    for row in costs.to_dict("records"):
        if row["seconds"] >= 1:
            task = f"job {row['rule']} {row['place']}".strip()
            found.append(
                {
                    "task": task,
                    "device": "workflow",
                    "seconds": row["seconds"],
                    "memory_mb": row["memory_mb"],
                }
            )
    if table.exists():
        found += against_published(table)
    return found


def run_limited(command: list[str], output: Any) -> int | None:
    """Run the workflow for as long as it may take; None if that was too short."""
    process = subprocess.Popen(
        command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        return process.wait(WORKFLOW_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        return None


@contextlib.contextmanager
def memory_watched() -> Iterator[list[float]]:
    """GB that all processes use on the card, twice a second."""
    used: list[float] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            free, total = torch.cuda.mem_get_info()
            used.append(round((total - free) / 1e9, 2))

    thread = threading.Thread(target=watch, daemon=True)
    if CARD != "cpu":
        thread.start()
    try:
        yield used
    finally:
        ended.set()


def against_published(table: Path) -> list[Row]:
    """Differences of every number from the published table, the largest first."""
    keys = ["setting", "method", "metric", "selection"]
    published = ROOT / "results" / "reference" / "tables" / "table4.csv"
    theirs = pd.read_csv(published)
    ours = pd.read_csv(table)
    both = ours.merge(theirs, on=keys, suffixes=("", "_cpu"), how="outer")
    both["difference"] = (both["mean"] - both["mean_cpu"]).abs()
    both = both.sort_values("difference", ascending=False)
    is_near = both["difference"] <= 0.01
    found: list[Row] = [
        {
            "task": "Table 4 against the published one",
            "numbers": len(both),
            "within_.01": int(is_near.sum()),
            "missing": int(both["difference"].isna().sum()),
        }
    ]
    for row in both[~is_near].head(40).to_dict("records"):
        name = ", ".join(str(row[key]) for key in ("method", "metric", "selection"))
        numbers = {"card": row["mean"], "cpu": row["mean_cpu"], "std": row["std_cpu"]}
        found.append({"task": f"differs: {name}", **numbers})
    return found


def killed() -> list[Row]:
    """Kill a job of Table 4's without a warning, and let it go on."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = RUN / LONG
    command = snakemake(f"results/{PRESET}/{LONG}")
    if not path.exists():  # Table 4 makes it, too
        subprocess.run(command, capture_output=True, check=True)
    before = path.read_bytes()
    path.unlink()
    log = RUN / LOG
    log.unlink(missing_ok=True)
    temporary = RUN / "temporary"
    shutil.rmtree(temporary, ignore_errors=True)
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    end = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < end:
        if any(temporary.glob("*/*.npz")):
            break
        time.sleep(0.1)
    saved = len(list(temporary.glob("*/*.npz")))
    was_running = process.poll() is None
    if was_running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    written = path.exists()
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    return [
        {
            "task": "a killed job goes on",
            "was_running": was_running,
            "files_saved": saved,
            "half_written": was_running and written,
            "status": done.returncode,
            "seconds_after": seconds,
            "same_bytes": path.exists() and path.read_bytes() == before,
            "log": log.read_text()[-600:] if log.exists() else done.stdout[-600:],
        }
    ]
