"""The published endpoints follow the published band, whichever of them is published."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from folders import complete, recorded

from kerhrm.methods.base import POOLED
from kerhrm_paper.config.endpoints import load_endpoints
from kerhrm_paper.reporting.publish import publish
from kerhrm_paper.reporting.run import BAND, ENDPOINTS, Run
from kerhrm_paper.runs import provenance

ROOT = Path(__file__).parents[3]
SPEC = load_endpoints(ROOT / "config/endpoints.yaml")
METHOD = SPEC.band.method
GRID_TABLES = [*SPEC.band.tables.values()]
SETTINGS = ("r2=0.7", "r2=0.75", "r2=0.8")
PICTURE = "figures/endpoints.png"
Make = Callable[..., Path]
Band = Callable[[float], Run]

pytestmark = pytest.mark.usefixtures("no_page")


def printed(*endings: str, level: float = 0.5) -> pd.DataFrame:
    """Scores of the algorithm as printed, three seeds around a level."""
    rows = []
    for setting, ending, seed in product(SETTINGS, endings or ("",), range(3)):
        value = level + 0.01 * seed
        rows.append({"setting": f"{setting}{ending}", "seed": seed, "value": value})
    of_every_row = {"data": "classification", "learner": "printed", "method": METHOD}
    of_every_row |= {"metric": "test_acc", "selection": POOLED}
    of_every_row |= {"data_source": "synthetic", "reason": ""}
    return pd.DataFrame(rows).assign(**of_every_row)


def write_band(folder: Path, lowest: float) -> None:
    """A band of Table 1 alone."""
    row = {"table": "table1", "part": "", "method": METHOD, "lowest": lowest}
    row |= {"highest": 0.9, "outcome": "open"}
    pd.DataFrame([row]).to_csv(folder / BAND, index=False)


def lowest_of(target: Path) -> float:
    """The lowest mean of the band, as the published endpoints have it."""
    rows = Run(target).endpoints()
    is_whole = (rows["table"] == "table1") & rows["part"].isin(["", None])
    is_whole |= (rows["table"] == "table1") & rows["part"].isna()
    (row,) = rows[is_whole & (rows["method"] == METHOD)].to_dict("records")
    return float(row["lowest"])


def check_notes(target: Path) -> None:
    """Every published file has the digest that is noted."""
    for name, digest in Run(target).provenance["files"].items():
        assert provenance.digest(target / name) == digest, name


@pytest.fixture
def whole(make_run: Make) -> Run:
    """A run of Table 1, with endpoints that are of no band."""
    run = complete(make_run(printed()))
    (run.folder / "figures").mkdir()
    (run.folder / PICTURE).write_bytes(b"of no band")
    return recorded(run)


@pytest.fixture
def of_grid(make_run: Make) -> Band:
    """A run of one table of the grid, with a band."""

    def make(lowest: float) -> Run:
        folder = make_run(printed(), table=GRID_TABLES[0], name="grid")
        write_band(folder, lowest)
        return recorded(Run(folder))

    return make


def test_endpoints_follow_a_band_that_is_published_alone(
    tmp_path: Path, whole: Run, of_grid: Band
) -> None:
    target = publish(whole, tmp_path / "published", root=ROOT)
    assert (target / ENDPOINTS).read_bytes() == (whole.folder / ENDPOINTS).read_bytes()
    for lowest in (0.25, 0.125):
        publish(of_grid(lowest), target, [GRID_TABLES[0]], ROOT)
        assert lowest_of(target) == lowest
        assert (target / PICTURE).read_bytes().startswith(b"\x89PNG")
        check_notes(target)
    noted = Run(target).provenance["endpoints"]
    assert noted["files"] == [ENDPOINTS, PICTURE]
    assert noted["command"].endswith(f"grid {GRID_TABLES[0]}")
    publish(whole, target, root=ROOT)
    assert lowest_of(target) == 0.125  # the run's own are of no band
    check_notes(target)


def test_a_whole_run_keeps_endpoints_that_are_of_the_band_published_with_it(
    tmp_path: Path, whole: Run
) -> None:
    write_band(whole.folder, 0.25)
    band_digest = provenance.digest(whole.folder / BAND)
    recorded(whole)
    path = whole.folder / ENDPOINTS
    provenance.write(whole.folder, "made", [path], {BAND: band_digest}, {})
    target = publish(whole, tmp_path / "published", root=ROOT)
    assert (target / ENDPOINTS).read_bytes() == path.read_bytes()
    assert "endpoints" not in Run(target).provenance


def test_the_band_is_of_the_scores_that_are_published(
    tmp_path: Path, whole: Run, make_run: Make
) -> None:
    """Where all of its tables are there; else it would be of a part of them."""
    target = publish(whole, tmp_path / "published", root=ROOT)
    constants = product(*SPEC.band.grid.values())
    endings = [f",alpha={alpha},cosine_weight={weight}" for alpha, weight in constants]
    for name in GRID_TABLES:
        folder = make_run(printed(*endings, level=0.25), table=name, name=name)
        write_band(folder, 0.125)
        publish(recorded(Run(folder)), target, [name], ROOT)
    assert lowest_of(target) == pytest.approx(0.26)
    check_notes(target)
