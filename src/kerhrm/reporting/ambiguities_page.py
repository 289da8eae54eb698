"""``docs/ambiguities.md``: every choice that the paper leaves open, and what it changes.

``python -m kerhrm.reporting.ambiguities_page`` writes it into the checkout at hand, from the
catalogue and from what has been published of its study.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.config.ambiguities import Ambiguity, Catalogue, Flip, Tree, changes, load_catalogue
from kerhrm.config.resolve import resolve
from kerhrm.reporting.ambiguities import COLUMNS, KINDS, results_shown
from kerhrm.reporting.tables import metric_name
from kerhrm.scoring.statistics import LEVEL
from kerhrm.storage.arrays import write_text

#: what each flipped setting says otherwise, by kind of data and mark
Changes = Mapping[tuple[str, str], Tree]
PUBLISHED = Path("results/reference/ambiguities")
HEAD = """\
# What the paper leaves open

*`python -m kerhrm.reporting.ambiguities_page` makes this page from `config/ambiguities.yaml` and
`results/reference/ambiguities`; `snakemake study_ambiguities` measures, `snakemake
publish_ambiguities` publishes.*

{n} choices that the paper leaves open or makes in two ways.  {measured} of them can be flipped,
each alone, by an option that stands beside it; {rest} cannot, and say why.  Effects are differences
of the test result, flipped less default, paired over seeds, with 95 % t intervals; errors of the
houses are means of the five later periods.  In **bold**: significant at 5 % after Holm's correction
over all results on the same kind of data, {tests} in all.  A choice *changes* a result if the
interval is without zero and the difference above the margin of the [verdicts](verdicts.md); it is
*negligible* if the interval is within that margin.
"""


def page(catalogue: Catalogue, found: pd.DataFrame, told: Changes) -> str:
    """The page, of effects as :func:`kerhrm.reporting.ambiguities.effects` gives them."""
    n, measured = len(catalogue.entries), sum(bool(e.flips) for e in catalogue.entries.values())
    shown = results_shown(found)
    parts = [HEAD.format(n=n, measured=measured, rest=n - measured, tests=len(shown))]
    parts += _what_matters(shown)
    parts.append("## Choice by choice\n")
    for name, entry in catalogue.entries.items():
        parts += _section(entry, shown[shown["entry"] == name], told)
    return "\n".join(parts)


def write_page(checkout: Path) -> tuple[Path, str]:
    """The page's path in a checkout, and its text."""
    catalogue = load_catalogue(checkout / "config" / "ambiguities.yaml")
    measured = checkout / PUBLISHED / "ambiguities.csv"
    found = pd.read_csv(measured) if measured.exists() else pd.DataFrame(columns=COLUMNS)
    told = changes(resolve({"preset": "paper"}, checkout / "config").experiments)
    return checkout / "docs" / "ambiguities.md", page(catalogue, found, told)


def _what_matters(shown: pd.DataFrame) -> Iterator[str]:
    """Flips that change a result, the largest effects first, by kind of data."""
    yield "## What matters\n"
    if shown.empty:
        yield "Nothing has been published yet.\n"
        return
    for kind, title in KINDS.items():
        here = shown[shown["experiment"] == kind]
        if here.empty:
            continue
        changed = here[here["outcome"] == "changes"]
        counts = here["outcome"].value_counts()
        told = ", ".join(f"{n} {name}" for name, n in counts.items())
        metric = metric_name(here["metric"].iloc[0])
        yield f"**{title[0].upper()}{title[1:]}** ({metric}), {len(here)} effects: {told}.\n"
        if len(changed):
            order = changed["difference"].abs().sort_values(ascending=False).index
            yield _table(changed.loc[order], ["flip", "row", "default", "flipped", "difference"])


def _section(entry: Ambiguity, shown: pd.DataFrame, told: Changes) -> Iterator[str]:
    yield f"### {entry.title}\n"
    for quotation in entry.paper:
        yield f"> {quotation.words} ({quotation.where})\n"
    yield f"Released code: {entry.released}  Here: {entry.default}  {entry.because}\n"
    if entry.unmeasured:
        yield f"Not measured: {entry.unmeasured}\n"
        return
    for flip in entry.flips:
        yield f"- `{flip.name}`: {flip.to}; {_how(flip, told)}"
    yield ""
    if len(shown):
        columns = ["flip", "data", "row", "default", "flipped", "difference", "outcome"]
        yield _table(shown, columns)


def _how(flip: Flip, told: Changes) -> str:
    """The option of a flip, as it stands in an experiment's file."""
    if flip.mark is None:
        return "both are rows of the tables"
    found = {
        text: kind for kind in flip.where for text in [_options(told.get((kind, flip.mark), {}))]
    }
    return " or ".join(f"`{text}`" for text in found)


def _options(tree: Tree, above: str = "") -> str:
    """A tree in one line: ``methods.kerhrm.k: [10]``."""
    parts = []
    for key, value in tree.items():
        if isinstance(value, dict):
            parts.append(_options(value, f"{above}{key}."))
        else:
            parts.append(f"{above}{key}: {value if isinstance(value, str) else json.dumps(value)}")
    return ", ".join(parts)


def _table(rows: pd.DataFrame, columns: list[str]) -> str:
    cells = pd.DataFrame([_cells(row) for row in rows.to_dict("records")])[columns]
    return cells.to_markdown(index=False, disable_numparse=True) + "\n"


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    change = f"{row['difference']:+.3f} [{row['ci_low']:+.3f}, {row['ci_high']:+.3f}]"
    return {
        "flip": f"`{row['flip']}`",
        "data": KINDS[row["experiment"]],
        "row": row["method"],
        "default": f"{row['base']:.3f}",
        "flipped": f"{row['flipped']:.3f}",
        "difference": f"**{change}**" if row["p_holm"] <= LEVEL else change,
        "outcome": row["outcome"],
    }


if __name__ == "__main__":
    write_text(*write_page(Path.cwd()))
