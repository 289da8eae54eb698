"""``docs/results.md`` and what the README says of results, from the committed tables.

``python -m kerhrm.reporting.results_page`` writes both into the checkout at hand.
"""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from kerhrm.config.resolve import resolve
from kerhrm.methods.registry import ORACLE
from kerhrm.reporting import wording
from kerhrm.reporting.freeze import digest
from kerhrm.reporting.layout import SYMBOLS
from kerhrm.reporting.published import ABSENT, Published, load
from kerhrm.reporting.readme import committed, written
from kerhrm.reporting.summaries import selection_cost
from kerhrm.scoring.statistics import LEVEL
from kerhrm.scoring.verdicts import CRITERIA
from kerhrm.storage.arrays import write_text

REFERENCE, PAGE, README = Path("results/reference"), Path("docs/results.md"), Path("README.md")
TEMPLATE, SECTION = "results.md.j2", "findings"  #: the latter has a template of its own, too
SECTION_TEMPLATE = f"{SECTION}.md.j2"
RELEASED, LITERAL, STATIC = "KerHRM (released)", "KerHRM (literal)", "KerHRM-s"
#: words of the templates; each takes the committed results first
WORDS = (
    wording.reproduction, wording.track_answer, wording.overview, wording.goals, wording.leaders,
    wording.against_best, wording.grid, wording.periods, wording.claims,
)  # fmt: skip


def names(results: Published) -> dict[str, Any]:
    """What templates and checked sentences may use."""
    return {
        **{word.__name__: partial(word, results) for word in WORDS},
        **{name: getattr(wording, name) for name in ("span", "spread", "told", "against")},
        **{
            name: getattr(results, name)
            for name in (
                "cell", "row", "rows", "has", "settings", "course", "variants", "best", "outcomes",
                "welch", "printed", "claim",
            )
        },
        "rules": partial(rules, results),
        "seeds": _seeds(results.config),
        "results": results, "tracks": wording.KERHRM, "looks": tuple(SYMBOLS), "absent": ABSENT,
        "network": wording.NETWORK, "released": RELEASED, "literal": LITERAL, "static": STATIC,
        "ntf": "KerHRM (NTF)", "per_seed": "KerHRM (per seed)", "oracle": ORACLE,
        "criteria": CRITERIA, "level": LEVEL, "tables": wording.TABLES,
    }  # fmt: skip


def rules(results: Published, table: str, method: str) -> str:
    """A method's result by each selection rule, the mean over the settings of a table."""
    own = results.cells[(results.cells["table"] == table) & (results.cells["method"] == method)]
    return selection_cost(own, ["table", "method"]).rstrip() if len(own) else ABSENT


def _seeds(config: Mapping[str, Any]) -> str:
    """First and last seed of the data, over the experiments of `all`, or those there are."""
    experiments = config["experiments"].values()
    own = [e for e in experiments if e.get("in_all", True)] or experiments
    every = sorted({seed for experiment in own for seed in experiment["seeds"]["data"]})
    return f"{every[0]} to {every[-1]}"


def is_earlier(config: Mapping[str, Any], checkout: Path) -> bool:
    """Whether committed results are of another configuration than the checkout's."""
    if not (checkout / "config" / "config.yaml").exists():
        return False
    now = resolve({"preset": config["preset"]}, checkout / "config").plain()
    return digest(now["experiments"], seeds=False) != digest(config["experiments"], seeds=False)


def render(results: Published, template: str, **more: Any) -> str:
    """Markdown of a template of this package."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kerhrm.reporting", "."), undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(template).render(names(results) | more)


def pages(reference: Path, checkout: Path) -> tuple[str, dict[str, str]]:
    """Markdown of :data:`PAGE`, and of those sections of other pages that committed files give."""
    results = load(reference)
    earlier = is_earlier(results.config, checkout)
    link = os.path.relpath(reference, (checkout / PAGE).parent)
    sections = committed(reference, results.config["experiments"], f"{link}/tables")
    section = render(results, SECTION_TEMPLATE, earlier=earlier)
    return render(results, TEMPLATE, earlier=earlier, link=link), sections | {SECTION: section}


def write(reference: Path, checkout: Path) -> None:
    """Write the page, and other pages' sections.

    Raises
    ------
    KerhrmError
        If a page lacks a section.
    """
    page, sections = pages(reference, checkout)
    others = written(checkout, sections)
    write_text(checkout / PAGE, page)
    for path, text in others.items():
        write_text(path, text)


if __name__ == "__main__":
    write(REFERENCE, Path())
