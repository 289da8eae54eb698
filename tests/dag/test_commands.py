"""Targets and commands that users call on a finished run."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from dagtools import SMOKE, Checkout, Job

pytestmark = pytest.mark.dag


def kerhrm(checkout: Checkout, *words: str):  # type: ignore[no-untyped-def]
    """The command ``kerhrm`` in a copy."""
    code = "import sys; from kerhrm.cli import main; sys.exit(main())"
    return checkout.call(sys.executable, "-c", code, *words)


@pytest.fixture(scope="module")
def copy(smoke: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return smoke.copy(tmp_path_factory.mktemp("commands") / "kerhrm")


def test_every_file_is_a_rules(results: Path, smoke: Checkout, dag: list[Job]) -> None:
    declared = {f for job in dag for f in (*job.output, *job.log, job.benchmark) if f}
    found = {
        str(p.relative_to(smoke.folder)) for p in results.rglob("*") if p.is_file()
    }
    stray = {
        f
        for f in found - declared
        if f.split("/")[2] not in ("provenance", "temporary")
    }
    assert stray == set()
    assert not declared - found


def outside(folder: Path) -> dict[str, bytes]:
    """Files that no run may write, and what they hold."""
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    ours = {("results", "smoke"), (".snakemake",)}
    return {
        str(name): (folder / name).read_bytes()
        for name in found
        if "__pycache__" not in name.parts
        and not {name.parts[:1], name.parts[:2]} & ours
    }


def test_nothing_is_written_outside_the_results(
    smoke: Checkout, pristine: Path
) -> None:
    before, after = outside(pristine), outside(smoke.folder)
    assert [name for name in before if after.get(name) != before[name]] == []
    new = after.keys() - before.keys()
    assert [name for name in new if not name.startswith(".no-cache/")] == []


def test_the_same_run_is_verified_and_another_is_not(
    copy: Checkout, raw_dir: str | None
) -> None:
    if raw_dir is None:
        pytest.skip("needs KERHRM_RAW_DIR: results of fallback data are not published")
    run, reference = copy.folder / "results/smoke", copy.folder / "own"
    done = kerhrm(copy, "publish", "results/smoke", "--reference", "own")
    assert done.returncode == 0, done.stdout
    done = kerhrm(copy, "verify", "results/smoke", "--reference", "own")
    assert done.returncode == 0, done.stdout
    path = reference / "smoke" / "tables" / "table3.csv"
    table = pd.read_csv(path)
    row = table.index[table["method"] == "EIIL"][0]
    table.loc[row, ["mean", "ci_low", "ci_high"]] += 1e6
    table.to_csv(path, index=False)
    done = kerhrm(copy, "verify", "results/smoke", "--reference", "own")
    assert done.returncode != 0
    assert "EIIL" in done.stdout
    assert "Traceback" not in done.stdout
    assert run.exists()


def test_costs_are_predicted(copy: Checkout) -> None:
    """Of jobs that have not run."""
    done = kerhrm(copy, "cost", "table1", "--config", "preset=paper")
    assert done.returncode == 0, done.stdout
    assert re.search(r"[1-9]\d+ jobs: [\d.]+ (min|h) on 2 cores", done.stdout)


def test_the_report_shows_the_run(copy: Checkout) -> None:
    copy.run("report", *SMOKE)
    text = (copy.folder / "results/smoke/report.html").read_text(encoding="utf-8")
    assert "KerHRM (linear predictor)" in text
    assert not re.search(r"""(src|href)=["']https?://[^"']*\.(js|css|png)""", text)
    assert copy.plan("report", *SMOKE) == []
    # another table that is there is shown, too
    tables = copy.folder / "results/smoke/tables"
    shutil.copy(tables / "table1.csv", tables / "mechanism.csv")
    planned = {job.rule for job in copy.plan("report", *SMOKE)}
    (tables / "mechanism.csv").unlink()
    assert "render_report" in planned
    assert "make_table" not in planned


def test_ones_own_table(copy: Checkout, tmp_path: Path) -> None:
    """Names and cells of the table run no script in the page."""
    random = np.random.default_rng(0)
    n = 160
    x = random.normal(size=(n, 3))
    frame = pd.DataFrame(
        x, columns=["fee_$_to_$", "<img src=x onerror=alert(1)>", "a|b"]
    )
    frame["y"] = (
        x[:, 0] + x[:, 1] * random.choice([-1, 1], n) + 0.1 * random.normal(size=n)
    )
    frame.to_csv(tmp_path / "mine.csv", index=False)
    copy.run(
        "own_table", "--config", f"csv={tmp_path}/mine.csv", "target=y", "preset=smoke"
    )
    folder = copy.folder / "results/smoke/own_table"
    cells = json.loads((folder / "mine.ipynb").read_text(encoding="utf-8"))["cells"]
    assert any(cell.get("outputs") for cell in cells)
    page = (folder / "mine.html").read_text(encoding="utf-8")
    assert "fee_" in page
    assert "<img src=x" not in page


def test_the_search_selects_the_best_candidates(copy: Checkout) -> None:
    """At tiny sizes, of one data set; its choices are a configuration."""
    small = ("--configfile", "config/presets/smoke.yaml", "--config", "preset=tuning")
    copy.run("results/tuning/selected/classification.yaml", *small)
    selected = copy.folder / "results/tuning/selected"
    scores = pd.read_csv(selected / "classification.csv")
    choices = yaml.safe_load(
        (selected / "classification.yaml").read_text(encoding="utf-8")
    )
    bases = scores["learner"].str.partition("+")[0]
    assert choices.keys() == set(bases)
    for learner, group in scores.groupby(bases):
        for criterion, options in choices[learner].items():
            best = group.loc[group["options"].map(json.loads) == options, criterion]
            assert best.max() == group[criterion].max(), (learner, criterion)
    target = copy.folder / "config/selected"
    shutil.copy(selected / "classification.yaml", target)
    assert copy.plan("table1", *SMOKE)
