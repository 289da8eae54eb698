"""What follows from the published scores, again: after a change of rules."""

from pathlib import Path

from matplotlib.figure import Figure

from kerhrm.errors import KerhrmError
from kerhrm.files import quoted, visible_files, write_text
from kerhrm.threads import one_blas_thread, torch_threads
from kerhrm_paper.claims.check import evaluate
from kerhrm_paper.config.endpoints import Endpoints
from kerhrm_paper.evaluation.tables import load_paper_values
from kerhrm_paper.reporting.draw import table_figures
from kerhrm_paper.reporting.publication import PUBLISHED, write_provenance
from kerhrm_paper.reporting.publish import REPORT, write_report
from kerhrm_paper.reporting.publish_checks import check_published, check_replaced
from kerhrm_paper.reporting.publish_lock import publishing
from kerhrm_paper.reporting.published_endpoints import (
    PICTURES,
    draw,
    endpoints_of,
    has_grid,
    write_band,
    write_endpoints,
    write_picture,
)
from kerhrm_paper.reporting.restored import restored_on_error
from kerhrm_paper.reporting.run import BAND, ENDPOINTS, Run
from kerhrm_paper.runs.arrays import reading
from kerhrm_paper.runs.origin import origin

FILES = ["claims.csv", ENDPOINTS]


def publish_again(reference: Path, root: Path = Path()) -> Path:
    """Compute endpoints and claims again from the published scores, draw all figures
    that were published, and make the report.

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
        If nothing, or nothing with scores, is published there; if a file that is not
        computed again was edited since, or one of the user's would be replaced; if
        another process publishes there.  After any error the folder is as it was.
    """
    if not Run(reference).provenance:
        problem = f"{reference} holds no published files"
        raise KerhrmError(problem, "name the folder that `kerhrm publish` has written")
    _check_scores(reference)
    with publishing(reference):
        _compute_again(reference, root)
    return reference


def _check_scores(reference: Path) -> None:
    """Refuse a folder without scores, as that of a preset below the published one."""
    if _has_scores(reference):
        return
    problem = f"{reference} was published without scores, from which --again computes"
    hint = "name the folder that has them"
    above = reference.parent
    if _has_scores(above):
        hint += f": kerhrm publish {quoted(above)} --again"
    raise KerhrmError(problem, hint)


def _has_scores(folder: Path) -> bool:
    """Whether scores of a table were published to a folder."""
    noted = Run(folder).provenance.get("files") or {}
    return any(name.startswith("scores/") for name in noted)


def _compute_again(reference: Path, root: Path) -> None:
    """Write what :func:`publish_again` does."""
    run = Run(reference)
    spec = endpoints_of(root)
    has_tables_of_band = has_grid(run, spec)
    files = [BAND, *FILES] if has_tables_of_band else [*FILES]
    figures = reference / "figures"
    with reading(figures):
        paths = visible_files(figures, "*.png")
    noted = run.provenance.get("files") or {}
    pictures = [path for path in paths if f"figures/{path.name}" in noted]
    files += [f"figures/{path.name}" for path in pictures]
    written = [*files, REPORT]
    check_published(reference, written)
    check_replaced(reference, dict.fromkeys(written), "move it")
    again = {
        "preset": PUBLISHED,
        "command": f"kerhrm publish {reference} --again",
        "files": files,
        **origin(root),
    }
    with restored_on_error(reference):
        paper = load_paper_values(root / "config" / "paper_values.yaml")
        if has_tables_of_band:
            write_band(run, spec, paper)
        write_endpoints(run, spec, paper)
        for path in pictures:
            drawn = _draw(run, path.stem, spec)
            write_picture(drawn, path)
        # as the rule: the small runs' digits depend on the number of threads
        with torch_threads(1), one_blas_thread():
            scores = visible_files(reference / "scores", "*.csv.gz")
            claims = evaluate(scores, PUBLISHED)
        text = claims.to_csv(index=False, float_format="%.6g")
        write_text(reference / "claims.csv", text)
        write_provenance(reference, files, {"again": again, "endpoints": None})
        write_report(reference, root)
        write_provenance(reference, [REPORT], {})


def _draw(run: Run, name: str, spec: Endpoints) -> Figure:
    """A published figure, which has a table's name or one of two others."""
    if name in PICTURES:
        return draw(run, name, spec)
    first, *_ = table_figures(run, name)
    return first
