"""The band, the endpoints and their pictures, computed from the published scores."""

from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matplotlib.figure import Figure

from kerhrm.files import atomic, write_text
from kerhrm_paper.config.endpoints import Endpoints, load_endpoints
from kerhrm_paper.evaluation.bands import bands
from kerhrm_paper.evaluation.endpoints import endpoints
from kerhrm_paper.evaluation.tables import load_paper_values
from kerhrm_paper.reporting import forest
from kerhrm_paper.reporting.figures import save
from kerhrm_paper.reporting.run import BAND, ENDPOINTS, Run
from kerhrm_paper.reporting.selection_figure import selection
from kerhrm_paper.runs import provenance

#: of :func:`kerhrm_paper.evaluation.tables.load_paper_values`
PaperValues = Mapping[tuple[str, ...], float]
PICTURES = ("endpoints", "selection")


def endpoints_of(root: Path) -> Endpoints:
    """What is compared with the paper, as a checkout says."""
    return load_endpoints(root / "config" / "endpoints.yaml")


def has_grid(published: Run, spec: Endpoints) -> bool:
    """Whether all tables that the band is of are published."""
    return {*spec.band.tables.values()} <= {*published.tables}


def is_of_other_band(run: Run, published: Run) -> bool:
    """Whether the endpoints of a run were made of another band than is published."""
    if not published.has(BAND):
        return False
    record = provenance.read(run.folder, ENDPOINTS) or {}
    inputs = record.get("inputs") or {}
    digests = [digest for name, digest in inputs.items() if Path(name).name == BAND]
    return digests != [provenance.digest(published.folder / BAND)]


def write_again(published: Run, root: Path, noted: Collection[str]) -> list[str]:
    """Make band, endpoints and their pictures follow from the published scores.

    Parameters
    ----------
    published : Run
        What is published now.
    root : path
        The checkout.
    noted : collection of str
        Files that were published; others are not made.

    Returns
    -------
    list of str
        Files that were written.
    """
    spec = endpoints_of(root)
    paper = load_paper_values(root / "config" / "paper_values.yaml")
    files = [ENDPOINTS]
    if BAND in noted and has_grid(published, spec):
        write_band(published, spec, paper)
        files.append(BAND)
    write_endpoints(published, spec, paper)
    for name in PICTURES:
        file = f"figures/{name}.png"
        if file in noted:
            figure = draw(published, name, spec)
            write_picture(figure, published.folder / file)
            files.append(file)
    return files


def write_band(published: Run, spec: Endpoints, paper: PaperValues) -> None:
    """The file of the band."""
    grid_tables = spec.band.tables.values()
    found = bands(
        scores={name: published.scores(name) for name in grid_tables},
        spec=spec,
        paper=paper,
        mark=published.mark(),
    )
    text = found.to_csv(index=False)
    write_text(published.folder / BAND, text)


def write_endpoints(published: Run, spec: Endpoints, paper: PaperValues) -> None:
    """The file of the endpoints."""
    tests = endpoints(
        scores=_compared(published, spec),
        spec=spec,
        paper=paper,
        mark=published.mark(),
        band=published.band(),
    )
    text = tests.to_csv(index=False)
    write_text(published.folder / ENDPOINTS, text)


def draw(published: Run, name: str, spec: Endpoints) -> Figure:
    """One of :data:`PICTURES`."""
    if name == "endpoints":
        return forest.endpoints(published.endpoints())
    return selection(_compared(published, spec))


def _compared(published: Run, spec: Endpoints) -> dict[str, Any]:
    """Scores of the published tables that are compared with the paper's."""
    names = [name for name in spec.tables if name in published.tables]
    return {name: published.scores(name) for name in names}


def write_picture(figure: Figure, picture: Path) -> None:
    """A figure in the place of a published one."""
    with TemporaryDirectory() as folder:
        drawn = Path(folder, picture.stem)
        save(figure, drawn)
        image = drawn.with_suffix(".png")
        with atomic(picture) as handle:
            handle.write(image.read_bytes())
