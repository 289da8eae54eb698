"""What follows from the published scores, again: after a change of rules."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.files import atomic, write_text
from kerhrm_paper.claims.check import evaluate
from kerhrm_paper.config.strict_yaml import read_yaml
from kerhrm_paper.evaluation.bands import bands
from kerhrm_paper.evaluation.endpoints import endpoints
from kerhrm_paper.evaluation.tables import load_paper_values
from kerhrm_paper.reporting import forest
from kerhrm_paper.reporting.figures import save
from kerhrm_paper.reporting.publish import (
    PUBLISHED,
    facts,
    restored_on_error,
    write_provenance,
    write_report,
)
from kerhrm_paper.reporting.run import BAND, Run

#: of :func:`kerhrm_paper.evaluation.tables.load_paper_values`
PaperValues = Mapping[tuple[str, ...], float]
FILES = ["claims.csv", "endpoints.csv", "figures/endpoints.png"]


def publish_again(reference: Path, root: Path = Path()) -> Path:
    """Compute endpoints and claims again from the published scores, and the report.

    The band of the algorithm as printed, too, if the tables that it is of are there.

    Parameters
    ----------
    reference : path
        Folder of what is published.
    root : path
        The checkout, with its rules in ``config``.

    Returns
    -------
    path
        The folder.

    Raises
    ------
    KerhrmError
        If nothing is published there.  After any error the folder is as it was.
    """
    run = Run(reference)
    if not run.provenance:
        problem = f"{reference} holds no published files"
        raise KerhrmError(problem, "name the folder that `kerhrm publish` has written")
    tables = run.provenance["tables"]
    made: dict[str, Any] = dict(tables)
    spec = read_yaml(root / "config" / "endpoints.yaml")
    grid_tables = spec["band"]["tables"].values()
    has_grid = {*grid_tables} <= {*run.tables}
    noted = facts(PUBLISHED, root, "") | {
        "command": f"kerhrm publish {reference} --again",
        "files": [BAND, *FILES] if has_grid else FILES,
    }
    with restored_on_error(reference):
        paper = load_paper_values(root / "config" / "paper_values.yaml")
        if has_grid:
            _write_band(run, spec, paper)
        _write_endpoints(run, spec, paper)
        claims = evaluate(reference, PUBLISHED)
        text = claims.to_csv(index=False, float_format="%.6g")
        write_text(reference / "claims.csv", text)
        write_provenance(reference, made, again=noted)
        write_report(reference, root)
        write_provenance(reference, made, again=noted)
    return reference


def _write_band(run: Run, spec: Mapping[str, Any], paper: PaperValues) -> None:
    """The file of the band."""
    grid_tables = spec["band"]["tables"].values()
    found = bands(
        scores={name: run.scores(name) for name in grid_tables},
        spec=spec,
        paper=paper,
        mark=run.mark(),
    )
    text = found.to_csv(index=False)
    write_text(run.folder / BAND, text)


def _write_endpoints(run: Run, spec: Mapping[str, Any], paper: PaperValues) -> None:
    """The file of the endpoints, and its figure."""
    published = [name for name in spec["tables"] if name in run.tables]
    tests = endpoints(
        scores={name: run.scores(name) for name in published},
        spec=spec,
        paper=paper,
        mark=run.mark(),
        band=run.band(),
    )
    text = tests.to_csv(index=False)
    write_text(run.folder / "endpoints.csv", text)
    with TemporaryDirectory() as folder:
        drawn = Path(folder, "endpoints")
        figure = forest.endpoints(tests)
        save(figure, drawn)
        image = drawn.with_suffix(".png")
        picture = run.folder / "figures" / "endpoints.png"
        with atomic(picture) as handle:
            handle.write(image.read_bytes())
