"""A GPU against the CPU cores of the same machine: ``python -m benchmarks.gpu``.

Parts are measured one after the other, each in a process of its own, and each is
written when it is done, so that the command continues where it was stopped.  Results
are a JSON file and a picture.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import torch

from benchmarks import gpu_cases, gpu_jobs, gpu_stages
from kerhrm.errors import KerhrmError
from kerhrm.features.map import KERNEL_ENTRY
from kerhrm.files import write_text
from kerhrm.memory import require_on_gpu
from kerhrm.networks.base import resolve_device

ROOT = Path(__file__).parents[1]
Row = dict[str, Any]
#: what is measured, by its name; most things first
PARTS: dict[str, Callable[[], list[Row]]] = {
    "machine": gpu_stages.machine,
    "features": gpu_stages.features,
    "iteration": gpu_stages.iteration,
    "transfers": gpu_stages.transfers,
    "networks": gpu_jobs.networks,
    "table4": gpu_jobs.table4,
    "killed": gpu_jobs.killed,
}
#: colour (Okabe and Ito) and marker of a device
LOOKS = {"cpu": ("#0072B2", "o"), "card": ("#D55E00", "D")}
#: of the algorithm, in words
STEPS = {"M_c": "environments (M_c)", "M_p": "direction (M_p)"}
PART_SECONDS = 600  #: of one part at most


def main(arguments: list[str]) -> int:
    """Measure what is missing, and report; status 1 if a part failed."""
    parser = argparse.ArgumentParser(prog="benchmarks.gpu", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "gpu")
    parser.add_argument("--minutes", type=float, default=45, help="no part after them")
    asked = parser.parse_args(arguments)
    unknown = set(asked.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {min(unknown)}; known are: {', '.join(PARTS)}")
    try:
        check_card()
    except KerhrmError as error:
        print(f"benchmarks.gpu: error: {error}", file=sys.stderr)
        return 1
    target = asked.out / "gpu.json"
    end = time.monotonic() + 60 * asked.minutes
    failed = []
    first, *others = PARTS  # the card's name, which all reports need
    chosen = asked.parts or others
    for part in dict.fromkeys([first, *chosen]):
        if part in load(target):
            continue
        left = end - time.monotonic()
        seconds = min(PART_SECONDS, left)
        if seconds <= 0 or not measured(part, target, seconds):
            failed.append(part)
    found = load(target)
    if found:
        picture = target.with_suffix(".png")
        draw(found, picture)
        report = [*lines(found), *together(found)]
        print("\n".join(report))
    if failed:
        names = ", ".join(failed)
        print(f"benchmarks.gpu: not measured: {names}", file=sys.stderr)
    return bool(failed)


def check_card() -> None:
    """Refuse a machine without a card, or with one that is too small."""
    device = torch.device(gpu_cases.CARD)
    if device.type == "cpu":  # of the tests
        return
    resolve_device(gpu_cases.CARD)
    n = max(gpu_cases.N)
    what = f"the kernel of {n} points"
    require_on_gpu(KERNEL_ENTRY * n**2, what, "free the GPU", device)


def measured(part: str, target: Path, seconds: float) -> bool:
    """Measure a part in a process of its own, within some seconds, and write it."""
    print(f"{part} ...", flush=True)
    command = [sys.executable, "-c", f"import benchmarks.gpu as g; g.part({part!r})"]
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=ROOT, timeout=seconds, stdout=subprocess.PIPE, check=True
        )
    except subprocess.SubprocessError as error:
        print(f"benchmarks.gpu: {part}: {error}", file=sys.stderr)
        return False
    seconds_taken = time.monotonic() - start
    printed = done.stdout.decode()
    *_, last_line = printed.splitlines()
    found = load(target)
    found[part] = {
        "seconds": round(seconds_taken, 1),
        "rows": json.loads(last_line),
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=1)
    write_text(target, f"{text}\n")
    return True


def part(name: str) -> None:
    """Print the rows of one part, as JSON on the last line; the CPU uses all cores."""
    torch.set_num_threads(gpu_cases.CORES)
    measure = PARTS[name]
    found = measure()
    print(json.dumps(found), flush=True)


def load(path: Path) -> dict[str, Any]:
    """Parts that are done."""
    if not path.exists():
        return {}
    text = path.read_text()
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def rows(found: dict[str, Any]) -> list[Row]:
    """Rows of all parts."""
    listed = []
    for name, of_part in found.items():
        for row in of_part["rows"]:
            listed.append({"part": name, **row})
    return listed


def lines(found: dict[str, Any]) -> list[str]:
    """Every row as a line, numbers with three digits."""
    listed = []
    for row in rows(found):
        facts = []
        for name, value in row.items():
            if name in ("part", "task") or value is None:
                continue
            text = f"{value:.3g}" if isinstance(value, float) else value
            facts.append(f"{name} {text}")
        joined = ", ".join(facts)
        listed.append(f"{row['part']}: {row['task']}: {joined}")
    return listed


def compared(found: dict[str, Any]) -> pd.DataFrame:
    """Seconds of every task on the card and on the CPU, and their ratio.

    Of several ways on one device the fastest counts.
    """
    table = pd.DataFrame(rows(found))
    has_seconds = table["seconds"].notna()
    on_either = table["device"].isin(["card", "cpu"])
    timed = table[has_seconds & on_either]
    best = timed.groupby(["task", "device"], sort=False)["seconds"].min()
    by_device = best.unstack("device").dropna()
    return by_device.assign(ratio=by_device["cpu"] / by_device["card"])


def together(found: dict[str, Any]) -> list[str]:
    """Features of one size, one iteration and the networks of all seeds: their sums."""
    if not {"features", "iteration", "networks"} <= found.keys():
        return []
    table = compared(found)
    tasks = [f"networks of {gpu_jobs.SEEDS} seeds"]
    smallest = min(gpu_cases.N)
    for step in ("M_c", "M_p"):
        tasks.append(f"{step}, n = {smallest}, as in Table 4")
    sums = []
    for n in gpu_cases.N:
        stages = ("tangent features", "Gram matrix", f"top-{gpu_cases.K} SVD")
        of_features = [f"{stage}, n = {n}" for stage in stages]
        chosen = [*of_features, *tasks]
        card, cpu = table.loc[chosen, ["card", "cpu"]].sum()
        ratio = cpu / card
        times = f"card {card:.3g} s, cpu {cpu:.3g} s, {ratio:.3g} times as fast"
        summed = "; ".join(chosen)
        sums.append(f"together: {summed}: {times}")
    return sums


def draw(found: dict[str, Any], path: Path) -> None:
    """Seconds of every task on both, and how much sooner one of them ends."""
    if not {"features", "iteration", "networks"} & found.keys():
        return
    mpl.use("agg")
    from matplotlib import pyplot as plt

    table = compared(found)
    of_machine = found["machine"]["rows"]
    facts = {row["task"]: row.get("value") for row in of_machine}
    facts["cpu"] = facts["cores"]
    size = (5.5, 0.33 * len(table) + 1.1)
    fig, axes = plt.subplots(figsize=size, layout="constrained")
    places = range(len(table))
    axes.hlines(places, table["cpu"], table["card"], color="0.8", linewidth=3, zorder=1)
    for device, (colour, marker) in LOOKS.items():
        look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": ""}
        axes.plot(table[device], places, label=facts[device], **look)
    names = []
    for task, row in table.iterrows():
        ratio = row["ratio"]
        sooner = "card" if ratio > 1 else "cores"
        times = max(ratio, 1 / ratio)
        digits = 0 if times >= 10 else 1
        in_words = str(task)
        for step, words in STEPS.items():
            in_words = in_words.replace(step, words)
        names.append(f"{in_words}\n{sooner} {times:.{digits}f} times as fast")
    axes.set_xscale("log")
    axes.set_yticks(places, names, fontsize=8)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.invert_yaxis()
    axes.set_xlabel("seconds, less is better (logarithmic)")
    fig.legend(loc="outside upper center", ncols=2, fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=150)


if __name__ == "__main__":
    os.chdir(ROOT)
    status = main(sys.argv[1:])
    sys.exit(status)
