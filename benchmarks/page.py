"""``docs/speed.md``, its plot, and the README's section, from the tables of a run.

``python -m benchmarks.page`` writes page and plot; ``python -m benchmarks.page README.md`` puts the
section ``speed`` into a file that has its marks.
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from benchmarks import plot
from benchmarks.records import COLUMNS, OK, OURS, Row, Tables, folder, read_json
from kerhrm.reporting.readme import with_sections
from kerhrm.storage.arrays import write_text

PAGE = Path("docs/speed.md")
TEMPLATE = Path(__file__).with_name("speed.md.j2")
RATES = {"gflops": "GFLOP/s", "percent_of_gemm": "% of GEMM"}
NAMES = {
    "median_s": "median s", "spread_s": "spread s", "times_ours": "times ours", "before_mb":
    "before MB", "peak_mb": "peak MB", "increase_mb": "increase MB", "standard_error": "standard "
    "error", **RATES,
}  # fmt: skip


def markdown(rows: Iterable[Row], columns: Sequence[str]) -> str:
    """A table of some columns; cases that were not run say so where the time would stand."""
    shown = [{c: _cell(row, c) for c in columns} for row in rows]
    frame = pd.DataFrame(shown, columns=list(columns)).rename(columns=NAMES)
    return str(frame.to_markdown(index=False, disable_numparse=True))


def text(where: Path, page: Path = PAGE) -> str:
    """The page."""
    tables, machine = Tables.read(where), read_json(where / "machine.json")
    rows = {name: [*tables.rows[name].values()] for name in COLUMNS}
    series = {(r["stage"], r["axis"]): r for r in rows["growth"]}
    others = {_machine_of(path): Tables.read(path) for path in elsewhere(where)}
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True
    )
    environment.globals["table"] = markdown
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        machine=machine,
        rates=_rates(machine),
        rows=rows,
        others=[*others],
        limits=[row | _limits_elsewhere(row, others) for row in rows["limits"]],
        fits=[_fit(rows["growth"], stage, axis) for stage, axis in series],
        summary=summary(tables, machine),
        folder=os.path.relpath(where, page.parent),
        versions={n: machine["packages"].get(n, "") for n in ("torch", "numpy", "scikit-learn")},
    )


def elsewhere(where: Path) -> list[Path]:
    """Runs of other machines: folders within that of this one."""
    return sorted(path.parent for path in where.glob("*/machine.json"))


def summary(tables: Tables, machine: dict[str, Any]) -> str:
    """One row a task: the released loop, the peers, this, and the machine's limit, in seconds."""
    gemm, rows = plot.rate(machine), []
    for panel in plot.panels(tables):
        found = plot.bars(tables, panel, gemm)
        others = [
            f"{name} {plot.two_digits(s)}"
            for name, s in found.items()
            if name not in (OURS, plot.LIMIT)
        ]
        row = {"task (seconds)": panel.title, "others": ", ".join(others)}
        rows.append(
            row
            | {
                "this": f"**{plot.two_digits(found[OURS])}**",
                "limit": plot.two_digits(found[plot.LIMIT]),
            }
        )
    for task in ("SVD, Table 1", "SVD, Colored MNIST", "training, Table 1",
                 "training, Colored MNIST"):  # fmt: skip
        same = [r for r in tables.rows["peers"].values() if r["task"] == task and r["status"] == OK]
        ours = [r for r in same if r["contender"] == OURS]
        others = [
            f"{r['contender']} {plot.two_digits(float(r['median_s']))}"
            for r in same
            if r not in ours
        ]
        if ours:
            shown = f"**{plot.two_digits(float(ours[0]['median_s']))}**"
            rows.append({"task (seconds)": task, "others": ", ".join(others), "this": shown})
    columns = ["task (seconds)", "others", "this", "limit"]
    frame = pd.DataFrame(rows, columns=columns).fillna("")
    return str(frame.to_markdown(index=False, disable_numparse=True))


def readme_section(where: Path, readme: Path) -> str:
    """The README's table and plot, from the tables of a run."""
    tables, machine = Tables.read(where), read_json(where / "machine.json")
    to = os.path.relpath(where, readme.parent)
    about = (
        f"{machine['cores']} cores, {machine['processor']}, {plot.rate(machine):.0f} GFLOP/s in"
        " float32; limit: the result's matrix products at that rate, those of a Gram matrix without"
        " its symmetry, which halves them here. Everything of that run:"
        f" [docs/speed.md]({os.path.relpath(PAGE, readme.parent)})."
    )
    return f"{summary(tables, machine)}\n\n{about}\n\n![Seconds]({to}/speed.png)"


def _machine_of(where: Path) -> str:
    """Another machine, as the head of a column."""
    machine = read_json(where / "machine.json")
    return f"{machine['processor']}, {machine['date']}"


def _limits_elsewhere(row: Row, others: Mapping[str, Tables]) -> Row:
    """What other machines measured, and whether it meets the limit."""
    found = {name: tables.rows["limits"].get((row["name"],), {}) for name, tables in others.items()}
    return {
        name: f"{_number(other['measured'])}, {other['met']}" if "measured" in other else "not run"
        for name, other in found.items()
    }


def _fit(rows: Sequence[Row], stage: str, axis: str) -> Row:
    """A series in one row."""
    own = [r for r in rows if (r["stage"], r["axis"]) == (stage, axis)]
    done = [r for r in own if r["status"] == OK]
    facts = {"stage": stage, "axis": axis, "sizes": ", ".join(str(r["value"]) for r in own)}
    times = ", ".join(_number(r["median_s"]) for r in done) or own[0]["status"]
    errors = {name: own[-1].get(name) for name in ("exponent", "standard_error")}
    return facts | {"seconds": times} | errors


def _rates(machine: dict[str, Any]) -> list[Row]:
    """GEMM rates before and after, by precision and threads."""
    before, after = (machine.get(f"gemm_gflops_{when}", {}) for when in ("before", "after"))
    return [{"product": n, "before": r, "after": after.get(n)} for n, r in before.items()]


def _cell(row: Row, column: str) -> str:
    if column == "median_s" and row.get("status", OK) != OK:
        return str(row["status"])
    return _number(row.get(column))


def _number(value: Any) -> str:
    """Three digits, without exponents where they are small."""
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main() -> None:
    where = folder()
    if len(sys.argv) > 1:
        readme = Path(sys.argv[1])
        parts = {"speed": readme_section(where, readme)}
        write_text(readme, with_sections(readme.read_text(encoding="utf-8"), parts))
        return
    plot.write(Tables.read(where), read_json(where / "machine.json"), where)
    write_text(PAGE, text(where))


if __name__ == "__main__":
    main()
