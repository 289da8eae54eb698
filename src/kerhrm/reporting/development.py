"""Fresh seeds against the development seeds, cell by cell, and the page of it.

``python -m kerhrm.reporting.development`` writes both again from the committed tables.
"""

from pathlib import Path

import pandas as pd

from kerhrm.config.files import read
from kerhrm.config.fresh import ENLARGED
from kerhrm.config.presets import DEVELOPMENT, FRESH
from kerhrm.methods.registry import CLOSED_FORMS, is_headline
from kerhrm.reporting.differences import differences
from kerhrm.reporting.publication import APPENDIX
from kerhrm.reporting.readme import COMPARISONS
from kerhrm.reporting.tables import RESULTS, metric_name, read_table
from kerhrm.scoring.statistics import LEVEL
from kerhrm.storage.arrays import write_text

REFERENCE = Path("results/reference")
PAGE = Path("docs/development.md")
FILE = "difference.csv"
LISTED = 3  #: cells of a table that the page names

HEAD = """\
# Fresh seeds against the seeds of development

The published tables are the frozen configuration on seeds from 1000 on, which nothing was designed
on ([the freeze](freeze.md)); those of the development seeds are in
`results/reference/development`, the differences of all cells in `difference.csv` there. This page
is made from that file.

A difference is fresh less development, with the 95 % interval of Welch's t test. A cell *differs*
if that leaves out zero. If design had not fitted the development seeds, one cell in twenty would,
by chance: that is the column *expected*. Cells come in groups, as methods share data and metrics
share seeds; and seeds of real data share images or houses, which makes differences rarer.
"""


def page(found: pd.DataFrame) -> str:
    """Markdown of the page, from what :func:`differences` gives."""
    own = list(map(is_headline, found["method"], found["selection"]))
    trained = ~found["method"].isin([row.title for row in CLOSED_FORMS])
    results = found[trained & pd.Series(own, index=found.index) & found["metric"].isin(RESULTS)]
    counted = results[_spread(results)]
    top = counted.assign(size=_size(counted)).sort_values("size", ascending=False, kind="stable")
    top = top.groupby("table", sort=False).head(LISTED).sort_values("table", kind="stable")
    left = found[~_spread(found)]
    moved = int(left["differs"].fillna(False).astype(bool).sum())
    more = int((results["n_fresh"] == ENLARGED).sum())
    return "\n".join([
        HEAD,
        "## Results of each method's own rule\n",
        _counts(results, "table"),
        _counts(results, "method"),
        f"{more} of them have {ENLARGED} fresh seeds.\n",
        "## All cells\n",
        "With other metrics, other selection rules and what nothing was trained for.\n",
        _counts(found, "table"),
        f"Cells without an interval are not counted: {len(left)}.  They have no number, are in one"
        " of the two alone, have a single seed, or are the same in every seed; of the last"
        f" {moved} differ.\n",
        "## The largest differences\n",
        f"{LISTED} results of each table, by the difference in half widths of its interval.\n",
        _listed(top),
    ])  # fmt: skip


def _spread(found: pd.DataFrame) -> pd.Series:
    """Cells whose difference has an interval that is no point."""
    return (found["ci_high"] - found["ci_low"]) > 0


def _size(found: pd.DataFrame) -> pd.Series:
    return (2 * found["difference"] / (found["ci_high"] - found["ci_low"])).abs()


def _counts(found: pd.DataFrame, by: str) -> str:
    """How many cells of each table or method differ, as Markdown."""
    cells = found[_spread(found)]
    groups = [*cells.groupby(by, sort=False), ("all", cells)]
    rows = [
        {
            by: name,
            "cells": len(part),
            "expected": f"{LEVEL * len(part):.1f}",
            "differ": int(part["differs"].sum()),
            "fresh is better": int((part["direction"] == "good").sum()),
            "fresh is worse": int((part["direction"] == "bad").sum()),
        }
        for name, part in groups
    ]
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True) + "\n"


def _listed(cells: pd.DataFrame) -> str:
    rows = [
        {
            "table": c.table, "setting": c.setting, "method": c.method,
            "metric": metric_name(c.metric),
            "fresh": f"{c.fresh:.3f}", "development": f"{c.development:.3f}",
            "difference": f"{c.difference:+.3f} [{c.ci_low:+.3f}, {c.ci_high:+.3f}]",
        }
        for c in cells.itertuples(index=False)
    ]  # fmt: skip
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True) + "\n"


def read_differences(path: Path) -> pd.DataFrame:
    """What :func:`write` wrote."""
    found = pd.read_csv(path)
    return found.assign(direction=found["direction"].astype(object).fillna(""))


def write(reference: Path, target: Path) -> bool:
    """Compare the committed tables, if both are there: the file of differences and the page."""
    sides = ((reference, FRESH), (reference / APPENDIX, DEVELOPMENT))
    for folder, preset in sides:
        path = folder / "config.yaml"
        if not path.exists() or read(path).content["preset"] != preset:
            return False
    fresh, development = (_tables(folder / "tables") for folder, _ in sides)
    file = reference / APPENDIX / FILE
    write_text(file, differences(fresh, development).to_csv(index=False, float_format="%.6g"))
    write_text(target, page(read_differences(file)))
    return True


def _tables(folder: Path) -> pd.DataFrame:
    return read_table(*(p for p in sorted(folder.glob("*.csv")) if COMPARISONS not in p.stem))


if __name__ == "__main__":
    write(REFERENCE, PAGE)
