"""Sections of hand-written pages that come from a run.

``snakemake --rulegraph mermaid-js all | python -m kerhrm.reporting.readme dag docs/workflow.md``
puts the picture of the rules into one.
"""

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.reporting.layout import excerpt
from kerhrm.reporting.restarts import restart_counts
from kerhrm.reporting.summaries import comparison_counts, selection_cost, verdict_counts
from kerhrm.reporting.tables import full_title, read_table
from kerhrm.reporting.times import compute_times, of_run, read_benchmarks
from kerhrm.reporting.titles import title_of
from kerhrm.scoring.comparisons import CHAMPIONS
from kerhrm.storage.arrays import write_text

#: the sections that pages have
PAGES = {
    Path("README.md"): ("findings",),
    Path("docs/tables.md"): ("tables", "verdicts", "comparisons", "selection", "restarts"),
    Path("docs/workflow.md"): ("times",),
}
#: what the files with a table's comparisons have behind its name
COMPARISONS = "-comparisons"


def sections(run: Path, experiments: Mapping[str, Any], link: str) -> dict[str, str]:
    """Markdown by the name of the section, from the files of ``run``, ``results/<preset>``.

    Those of :func:`committed`, and two that need more than tables: ``restarts`` and ``times``.
    ``experiments`` are the configuration's.
    """
    reports = [run / "restarts" / f"{name}.csv" for name in sorted(experiments)]
    starts = {path.stem: pd.read_csv(path) for path in reports if path.exists()}
    jobs = of_run(read_benchmarks(run / "benchmarks"), experiments)
    return committed(run, experiments, link) | {
        "restarts": restart_counts(starts, ["experiment", "iteration"]),
        "times": f"{compute_times(jobs, sorted(experiments))}\n{in_all(jobs['seconds'])}\n",
    }


def committed(folder: Path, experiments: Mapping[str, Any], link: str) -> dict[str, str]:
    """Sections for which the tables suffice, of a run or of ``results/reference``.

    ``tables``: the first block of each table that the paper prints, with a ``link`` to the
    folder of the others; ``verdicts``: how many of their cells agree; ``comparisons``: the
    network against other methods; ``selection``: what selection rules cost.
    """
    pairs = sorted(folder.glob(f"tables/*{COMPARISONS}.csv"))
    cells = read_table(*sorted({*folder.glob("tables/*.csv")} - {*pairs}))
    cells = cells[cells.groupby("table")["paper"].transform("count") > 0]
    shown = []
    for table, own in cells.groupby("table"):
        own_titles = {n: e["title"] for n, e in experiments.items() if e["table"] == table}
        more = f"All metrics and selection rules: [{table}.md]({link}/{table}.md).\n"
        shown.append(f"{excerpt(own, full_title(title_of(own_titles), own, 'paper'))}\n{more}")
    return {
        "tables": "\n".join(shown),
        "verdicts": verdict_counts(cells, ["table", "metric"]),
        "comparisons": comparison_counts(_compared(pairs), "table"),
        "selection": selection_cost(cells, ["table", "method"]),
    }


def in_all(seconds: Collection[float]) -> str:
    """Number and sum of the jobs' times."""
    return f"The run's {len(seconds)} jobs took {sum(seconds) / 60:.0f} minutes in all."


def _compared(paths: Sequence[Path]) -> pd.DataFrame:
    """What several tables say of the first champion; their names stand in the column ``table``."""
    named = {path.stem.removesuffix(COMPARISONS): pd.read_csv(path) for path in paths}
    frames = [frame.assign(table=name) for name, frame in named.items()]
    compared = pd.concat([pd.DataFrame(columns=["method"]), *frames], ignore_index=True)
    return compared[compared["method"] == CHAMPIONS[0]]


def written(checkout: Path, parts: Mapping[str, str]) -> dict[Path, str]:
    """What the pages of a checkout are with these sections, by path; nothing is written.

    Raises
    ------
    KerhrmError
        If a page lacks a section's marks.
    """
    pages: dict[Path, str] = {}
    for page, names in PAGES.items():
        own = {name: parts[name] for name in names if name in parts}
        if own:
            path = checkout / page
            pages[path] = with_sections(path.read_text(encoding="utf-8"), own, str(page))
    return pages


def with_sections(text: str, parts: Mapping[str, str], page: str = "the page") -> str:
    """``text`` with parts between the marks ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.

    Raises
    ------
    KerhrmError
        If a mark is missing.
    """
    for name, content in parts.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            what = f"{page} has no section '{name}'"
            raise KerhrmError(what, f"put {begin} and {end} into it")
        text = f"{before}{begin}\n{content.rstrip()}\n{end}{after}"
    return text


def main() -> None:
    """Put Mermaid text from standard input into a section of a file."""
    name, path = sys.argv[1], Path(sys.argv[2])
    graph = sys.stdin.read().strip()
    if not graph:
        sys.exit("no picture came: see what snakemake says")
    picture = f"```mermaid\n{graph}\n```"
    write_text(path, with_sections(path.read_text(encoding="utf-8"), {name: picture}))


if __name__ == "__main__":
    main()
