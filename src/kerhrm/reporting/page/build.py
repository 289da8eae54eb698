"""The page, put together."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from kerhrm.config.names import STUDIES
from kerhrm.config.presets import FRESH
from kerhrm.errors import KerhrmError
from kerhrm.reporting import results_page
from kerhrm.reporting.components import component_table
from kerhrm.reporting.development import PAGE as DEVELOPMENT
from kerhrm.reporting.layout import SYMBOLS
from kerhrm.reporting.page import charts, evidence, grids, sections
from kerhrm.reporting.page.markup import Place, Token, data_uri, parse, split
from kerhrm.reporting.page.sources import Sources, sources
from kerhrm.reporting.provenance import MADE_WITH
from kerhrm.reporting.tables import full_title
from kerhrm.reporting.titles import title_of
from kerhrm.reporting.wording import TABLES
from kerhrm.storage.arrays import write_text

NAME = "report.html"
#: of the paper, in its order
PRINTED = (*TABLES, "figure2", "figure3")
#: tables beside the paper's, by section of the page
BESIDE = STUDIES | {
    "scale": (
        "full_mnist", "full_mnist_baselines", "full_mnist_eiil",
        "full_mnist_public", "full_mnist_eiil_public",
    )
}  # fmt: skip
#: documents that the page shows itself
ANCHORS = {"docs/claims.md": "claims", "docs/ambiguities.md": "open", "docs/results.md": "tables"}
#: in docs, with the level of the highest heading; but for the first written by code
DOCUMENTS = {"verdicts": 3, "heterogeneity": 3, "clustering": 4, "scale": 4, "speed": 4}
PICTURED = ("scale", "speed")  #: documents whose first picture stands open above them
LIMIT = 5_000_000  #: bytes


def build(folder: Path, checkout: Path, target: Path) -> str:
    """HTML of a run's folder, or of the committed one, as it stands in ``target``.

    Raises
    ------
    KerhrmError
        If the folder has no tables.
    """
    if not any(folder.glob("tables/*.csv")):
        raise KerhrmError(f"{folder} has no tables", "run `snakemake all` first")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kerhrm.reporting.page"), undefined=jinja2.StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    place = Place(target.resolve(), checkout.resolve(), ANCHORS, _reserved(environment))
    found = sources(folder.resolve(), checkout.resolve())
    return environment.get_template("page.html.j2").render(context(found, place))


def write(folder: Path, checkout: Path, target: Path | None = None) -> Path:
    """Write the page, by default ``report.html`` in the folder.

    Raises
    ------
    KerhrmError
        As :func:`build`; or if it is larger than :data:`LIMIT`.
    """
    target = target or folder / NAME
    text = build(folder, checkout, target)
    if (size := len(text.encode())) > LIMIT:
        raise KerhrmError(f"{target} would have {size / 1e6:.1f} MB", "embed smaller pictures")
    write_text(target, text)
    return target


def _reserved(environment: jinja2.Environment) -> set[str]:
    """Ids that the templates give themselves."""
    assert environment.loader is not None
    texts = [environment.loader.get_source(environment, n)[0] for n in environment.list_templates()]
    fixed = {name for text in texts for name in re.findall(r' id="([\w-]+)"', text)}
    return fixed | {*PRINTED, *(name for names in BESIDE.values() for name in names)}


def context(found: Sources, place: Place) -> dict[str, Any]:
    """Everything that the templates use."""
    cells = evidence.named(found.results.cells)
    results = found.results
    checkout = found.checkout
    earlier = found.is_told and results_page.is_earlier(results.config, checkout)
    prose = _prose(found, place, earlier)
    shown = {
        table: {
            "name": table, "title": _title(found, table, own), "about": _about(found, place, table),
            "tall": _is_tall(own), "grids": grids.shown(own, place, tall=_is_tall(own)),
            "figures": _figures(found, str(table)),
        }
        for table, own in cells.groupby("table", sort=False)
    }  # fmt: skip
    told: dict[str, Any] = {
        "preset": results.config["preset"],
        "seeds": results_page.names(results)["seeds"],
        "is_told": found.is_told,
        "earlier": earlier,
        "findings": sections.without_tracks(_findings(found, place, earlier)),
        "said": partial(_said, prose),
        "reading": [t for t in prose.get("", []) if t["type"] == "list"],
        "tracks": sections.tracks(found),
        "printed": PRINTED,
        "tables": TABLES,
        "studies": BESIDE,
        "charts": charts.beside_paper(results) if found.is_told else [],
        "marks": {"WIDTH": charts.WIDTH, "LEFT": charts.LEFT, "RIGHT": charts.RIGHT},
        "looks": [grids.badge(name) for name in SYMBOLS],
        "shown": shown,
        "titles": {one.table: one.title for one in sections.experiments(checkout).values()},
        "claims": sections.claims(found, place),
        "open": sections.ambiguities(found, place),
        "components": _components(found, place),
        "alarms": sections.heterogeneity(found),
        "times": sections.times(found, place),
        "frozen": found.frozen,
        "is_fresh": results.config["preset"] == FRESH,
        "versions": results.versions,
        "made": results.versions.get(MADE_WITH, {}),
    }
    told["documents"] = {
        name: sections.document(found, place, name, top) for name, top in DOCUMENTS.items()
    }
    compared = found.differences is not None
    told["development"] = sections.document(found, place, DEVELOPMENT.stem, 3) if compared else []
    told["pictures"] = {}
    for name in PICTURED:
        picture, told["documents"][name] = sections.lifted(told["documents"][name])
        told["pictures"][name] = picture
    told["evidence"] = evidence.records(found, cells)
    told["files"] = [
        (place.relative(path), place.link(str(path), path), digest)
        for path, digest in found.hashes()
    ]
    return told


def _prose(found: Sources, place: Place, earlier: bool) -> Mapping[str, list[Token]]:
    """What ``docs/results.md`` says, by heading."""
    if not found.is_told:
        return {}
    source = place.checkout / results_page.PAGE
    text = results_page.render(
        found.results, results_page.TEMPLATE, earlier=earlier, link=str(found.folder)
    )
    parts = split(parse(text, place, source, top=2), 3)
    return {heading: sections.without_tracks(tokens) for heading, tokens in parts.items()}


def _said(prose: Mapping[str, list[Token]], heading: str) -> list[Token]:
    """What stands below the first heading that begins so."""
    return next((tokens for name, tokens in prose.items() if name.startswith(heading)), [])


def _findings(found: Sources, place: Place, earlier: bool) -> list[Token]:
    """What the README says, at first."""
    if not found.is_told:
        return []
    text = results_page.render(found.results, results_page.SECTION_TEMPLATE, earlier=earlier)
    source = place.checkout / results_page.README
    return parse(text, place, source, top=3, title="EIIL by selection rule")


def _title(found: Sources, table: str, cells: Any) -> str:
    titles = {n: e["title"] for n, e in found.experiments.items() if e["table"] == table}
    title = title_of(titles) or table
    return full_title(title, cells, found.results.config["preset"])


def _about(found: Sources, place: Place, table: str) -> list[Token]:
    """What the experiment's file says of a table."""
    texts = [e["about"] for e in found.experiments.values() if e["table"] == table]
    return parse("\n\n".join(dict.fromkeys(texts)), place, place.page, top=5)


def _figures(found: Sources, table: str) -> list[str]:
    """The picture of a table, and those of its variants, as ``figure3-variants``."""
    every = sorted(found.figures().items())
    own = [path for name, path in every if name == table or name.startswith(f"{table}-")]
    return [data_uri(found.note(path)) for path in own]


def _is_tall(cells: Any) -> bool:
    """Whether a table that the paper lacks has many settings and few methods."""
    return cells["table"].iloc[0] not in PRINTED and (
        cells["setting"].nunique() > cells["method"].nunique()
    )


def _components(found: Sources, place: Place) -> list[Token]:
    """What the spread over seeds comes from, where streams of chance were crossed."""
    scores = found.scores
    own = scores[scores["table"] == "crossed"]
    if own.empty:
        return []
    return parse(component_table(own), place, place.page, top=4, title="Standard deviations")
