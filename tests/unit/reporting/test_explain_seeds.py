"""Seeds of an explained cell: all of them, also crossed ones, or an error."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from refusals import refusal

from kerhrm_paper.evaluation.tables import where
from kerhrm_paper.reporting.explain import explain
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs import provenance

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "results" / "reference"
CELL = ("crossed", "r2=0.7", "KerHRM (linear predictor)", "test_acc")
SCORES = "scores/crossed.csv.gz"


def test_a_cell_of_crossed_seeds_has_all_its_replicates() -> None:
    """Its number of seeds is that of the data sets."""
    run = Run(REFERENCE)
    found = explain(run, *CELL, root=ROOT)
    assert found["cell"]["n_seeds"] == 4
    table, setting, method, metric = CELL
    own = where(run.scores(table), setting=setting, method=method, metric=metric)
    values = [seed["value"] for seed in found["seeds"]]
    assert values == own["value"].tolist()
    assert len(values) == 64


@pytest.mark.parametrize("is_published", [True, False])
def test_scores_that_lack_a_data_set_have_a_cure(
    tmp_path: Path, is_published: bool
) -> None:
    """No one can make a published file again by deleting it."""
    folder = tmp_path / "run"
    for name in ("config.yaml", SCORES, "tables/crossed.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REFERENCE / name, folder / name)
    path = folder / SCORES
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    seed = Run(REFERENCE).scores("crossed")["seed"].iloc[0]
    of_data, _, _ = str(seed).partition(",")
    kept = [line for line in lines if of_data not in line]
    assert len(kept) < len(lines)
    path.write_bytes(gzip.compress("".join(kept).encode()))
    cure = "delete it and run again"
    if is_published:
        digests = {}
        for name in (SCORES, "tables/crossed.csv"):
            digests[name] = provenance.digest(folder / name)
        noted = json.dumps({"files": digests})
        (folder / "provenance.json").write_text(noted)
        cure = f"restore it: git checkout {path}"
    with refusal(rf"it has 3 of the cell's 4 seeds\); {cure}"):
        explain(Run(folder), *CELL, root=ROOT)
