"""The plot of docs/speed.md and the README: others, this code, and what the machine allows."""

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from benchmarks import flops
from benchmarks.records import OK, OURS, Tables
from kerhrm.reporting.style import COLOURS, save_figure, style

WIDTH = 5.5  # inches
LIMIT = "the machine's products"
THEIRS, MINE, BOUND = COLOURS[1], COLOURS[5], "0.6"


class Panel(NamedTuple):
    """Contenders for one task."""

    title: str
    task: str
    gflop: float  #: of its matrix products


def panels(tables: Tables) -> list[Panel]:
    """Features with their SVD, and the largest Gram matrix."""
    found = []
    for task, of_layers in (("NTF and SVD, ", 10), ("Gram, ", 392)):
        rows = [r for r in tables.rows["peers"].values() if r["task"].startswith(task)]
        ours = [r for r in rows if r["contender"] == OURS and r["status"] == OK]
        if ours:
            last = max(ours, key=lambda r: int(r["n"]))
            n, width = int(last["n"]), (int(last["p"]) - 1) // (of_layers + 2)
            sizes = (of_layers, width, 1)
            gflop = flops.factors(n, sizes) + flops.gram(n, sizes)
            shown = (f"{name} = {int(last[name]):,}".replace(",", " ") for name in ("n", "p"))
            title = ", ".join((task.strip(", "), *shown))
            found.append(Panel(title, str(last["task"]), gflop))
    return found


def bars(tables: Tables, panel: Panel, gemm: float) -> dict[str, float]:
    """Seconds of every contender, the slowest first, and of the products at the GEMM rate."""
    rows = [r for r in tables.rows["peers"].values() if r["task"] == panel.task]
    found = {str(r["contender"]): float(r["median_s"]) for r in rows if r["status"] == OK}
    found = dict(sorted(found.items(), key=lambda item: -item[1]))
    return found | {LIMIT: panel.gflop / gemm}


def two_digits(seconds: float) -> str:
    """Two digits, without an exponent where they are many: 0.086, 31, 131."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def rate(machine: dict[str, Any]) -> float:
    """GEMM rate of the run in float32 at its threads, the higher of before and after."""
    name = f"float32, {machine['threads']} threads"
    parts = (machine.get(f"gemm_gflops_{when}", {}) for when in ("before", "after"))
    return max(float(part.get(name, 0)) for part in parts)


def draw(tables: Tables, machine: dict[str, Any]) -> Figure:
    shown = panels(tables)
    with style():
        heights = [len(bars(tables, panel, rate(machine))) for panel in shown]
        size = (WIDTH, 0.7 * len(shown) + 0.27 * sum(heights))
        figure, grid = plt.subplots(
            len(shown), 1, figsize=size, squeeze=False, height_ratios=heights
        )
        for axes, panel in zip(grid[:, 0], shown, strict=True):
            named = bars(tables, panel, rate(machine))
            colours = [{OURS: MINE, LIMIT: BOUND}.get(name, THEIRS) for name in named]
            axes.barh([*named], [*named.values()], color=colours, height=0.7)
            for at, seconds in enumerate(named.values()):
                axes.text(seconds * 1.15, at, f"{two_digits(seconds)} s", va="center", fontsize=8)
            ends = min(named.values()) / 2, 6 * max(named.values())
            axes.set(xscale="log", title=panel.title, xlim=ends)
            axes.grid(axis="x")
            axes.grid(visible=False, axis="y")
            axes.invert_yaxis()
        grid[-1, 0].set_xlabel("seconds, logarithmic; shorter is better")
    return figure


def write(tables: Tables, machine: dict[str, Any], where: Path) -> None:
    """``speed.png`` and ``speed.pdf`` beside the tables."""
    figure = draw(tables, machine)
    save_figure(figure, str(where / "speed"))
    plt.close(figure)
