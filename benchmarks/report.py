"""Tables and limits of a run: ``python -m benchmarks.report
results/bench/speed.json``."""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.cases import CMNIST, TABLE1

MISSING = "missing"
NAN = float("nan")
#: columns of the table of stages, and of that of growth
SHOWN = ["task", "who", "median", "iqr", "seconds", "memory_mb", "percent_of_gemm"]
GROWTH = ["stage", "axis", "value", "median"]
TRAINED = ("network", "erm", "dro", "irm", "eiil", "iga")
#: seconds of the estimators at most
ESTIMATORS = {
    "fit of 400 x 8": 0.7,
    "fit of 4000 x 10": 4,
    "fit of 20000 x 50": 15,
    "100000 predictions": 0.3,
}


def load(path: Path) -> pd.DataFrame:
    """Row per benchmark: task, who, median seconds, interquartile
    range, further facts."""
    rows: list[dict[str, Any]] = []
    run = json.loads(path.read_text())
    for benchmark in run["benchmarks"]:
        row: dict[str, Any] = {"who": "kerhrm", "task": None, "gflop": NAN}
        row |= benchmark["extra_info"]
        for name in ("seconds", "memory_mb", "inside"):
            numbers = row.get(name) or [NAN]
            row[name] = median(numbers)
        stats = benchmark["stats"]
        row["median"] = stats["median"]
        row["iqr"] = stats["iqr"]
        rows.append(row)
    table = pd.DataFrame(rows)
    rate = table["gflop"] / table["median"]
    percent = 100 * rate / table["gemm"]
    return table.assign(percent_of_gemm=percent)


def machine(path: Path) -> pd.DataFrame:
    """One row: when and on what a run was measured.

    ``gemm_gflops`` is the rate of square float32 products, of all threads together.
    """
    run = json.loads(path.read_text())
    info = run["machine_info"]
    cpu = info["cpu"]
    facts = [benchmark["extra_info"] for benchmark in run["benchmarks"]]
    rates = [fact["gemm"] for fact in facts]
    row = {
        "date": run["datetime"][:10],
        "processor": cpu.get("brand_raw", info["processor"]),
        "cores": cpu.get("count"),
        "threads": facts[0]["threads"],
        "gemm_gflops": round(max(rates), 1),
        "python": info["python_version"],
        "torch": version("torch"),
        "kerhrm": version("kerhrm"),
    }
    return pd.DataFrame([row])


def limits(table: pd.DataFrame) -> pd.DataFrame:
    """What the code must reach on two cores, and whether it does.

    ``missing`` stands where a benchmark was left out or failed.
    """

    def value(task: str, column: str = "median", who: str = "kerhrm") -> float:
        is_task = table["task"] == task
        is_row = is_task & (table["who"] == who)
        values = table.loc[is_row, column]
        if values.empty:
            return NAN
        return float(values.iloc[0])

    def ratio(task: str, who: str, column: str = "median") -> float:
        theirs = value(task, column, who)
        return theirs / value(task, column)

    gram = "Gram in a process"
    features = "features and SVD, Table 1"
    rows = [
        (
            "features and top-15 SVD: the authors' loop takes, times ours",
            ">=",
            400,
            ratio(features, "authors' loop"),
        ),
        (
            "Gram from its factors, in times of plain products",
            "<=",
            0.7,
            1 / ratio(f"Gram, {TABLE1}", "plain products"),
        ),
        (
            "Gram of the images: torch.func takes, times ours",
            ">=",
            100,
            ratio(gram, "torch.func", "seconds"),
        ),
        (
            "and needs memory, times ours",
            ">=",
            20,
            ratio(gram, "torch.func", "memory_mb"),
        ),
        (
            "Gram of the images: neural-tangents takes, times ours",
            ">=",
            3,
            ratio(gram, "neural-tangents", "seconds"),
        ),
        (
            "top-25 SVD of that Gram matrix, in times of the Gram matrix",
            "<=",
            1,
            value(f"SVD, {CMNIST}") / value(f"Gram, {CMNIST}"),
        ),
        (
            "iteration, ten seeds of Table 1, seconds",
            "<=",
            2,
            value(f"iteration, random, {TABLE1}"),
        ),
        (
            "the same from the last environments, seconds",
            "<=",
            0.2,
            value(f"iteration, nested, {TABLE1}"),
        ),
        *(
            (
                f"products of {m}'s steps at Colored MNIST's size, % of GEMM's rate",
                ">=",
                60,
                value(f"{m}, {CMNIST}", "percent_of_gemm"),
            )
            for m in TRAINED
        ),
        (
            "steps at Table 1's size, in times of plain PyTorch",
            "<=",
            1,
            1 / ratio(f"training, {TABLE1}", "plain PyTorch"),
        ),
        (
            "one seed, two iterations, a process: the authors' algorithm, times ours",
            ">=",
            10,
            ratio("example", "authors' algorithm"),
        ),
        (
            "the same without imports",
            ">=",
            100,
            ratio("example", "authors' algorithm", "inside"),
        ),
        *(
            (f"{task}, seconds", "<=", most, value(task))
            for task, most in ESTIMATORS.items()
        ),
        (
            "1000000 x 20 predictions of a fit of 20000 rows, seconds",
            "<=",
            5,
            value("many rows: predictions", "seconds"),
        ),
        (
            "TangentRidge of 1000000 x 10, GB",
            "<=",
            4,
            value("many rows: ridge", "memory_mb") / 1000,
        ),
        ("import kerhrm, seconds", "<=", 0.3, value("import kerhrm")),
        ("snakemake all where nothing is to do, seconds", "<=", 3, value("no-op")),
        (
            "plan of 6000 jobs, seconds of CPU",
            "<=",
            15,
            value("plan of 6000 jobs", "seconds"),
        ),
    ]
    columns = ["what", "sense", "limit", "measured"]
    reached = pd.DataFrame(rows, columns=columns)
    measured = reached["measured"]
    is_least = reached["sense"] == ">="
    is_above = measured >= reached["limit"]
    is_below = measured <= reached["limit"]
    met = pd.Series(np.where(is_least, is_above, is_below))
    met = met.astype(object)
    is_known = measured.notna()
    numbers = measured.round(4).astype(object)
    reached["measured"] = numbers.where(is_known, MISSING)
    reached["met"] = met.where(is_known, MISSING)
    return reached


def main(path: Path) -> None:
    """Write and print the tables and limits of a run."""
    table = load(path)
    is_stage = table["task"].notna()
    stages = table[is_stage]
    stages = stages.sort_values(["task", "who"])
    stages = stages[SHOWN]
    growth = table[~is_stage]
    growth = growth.reindex(columns=GROWTH)
    reached = limits(table)
    files = {
        "stages": stages.round(4),
        "growth": growth,
        "limits": reached,
        "machine": machine(path),
    }
    for name, rows in files.items():
        file = path.with_name(f"{name}.csv")
        rows.to_csv(file, index=False)
    for rows in (stages, reached):
        texts = rows.map(_text)
        texts = texts.where(rows.notna(), "")
        text = texts.to_string(index=False)
        print(text, end="\n\n")
    is_known = reached["met"] != MISSING
    met = reached.loc[is_known, "met"]
    met = met.astype(bool)
    sentence = f"{met.sum()} of {len(met)} limits are met"
    n_missing = len(reached) - len(met)
    if n_missing:
        sentence += f"; {n_missing} are missing"
    print(sentence)
    print(f"open {path.with_name('limits.csv')}")


def _text(value: object) -> object:
    """A number with three digits."""
    return f"{value:.3g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
