"""A job that fails loses its old output; what was made of that is made again, too."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout, Job, edited, names, replace, with_descendants

from kerhrm.workflow.replaced import JOURNAL

pytestmark = pytest.mark.dag

TABLE = "results/smoke/tables/table1.csv"
SETTING = "results/smoke/classification/r2=0.70"
ERM = f"{SETTING}/predictions/erm.npz"
SCORES = f"{SETTING}/scores.csv"


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """A file that cannot be read for a while, and looks as old as before."""
    content, times = path.read_bytes(), path.stat()
    path.write_bytes(content[:100])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    yield
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.fixture
def copy(smoke: Checkout, tmp_path: Path) -> Checkout:
    return smoke.copy(tmp_path / "copy")


def test_a_change_survives_a_failure(copy: Checkout) -> None:
    """ERM is to be trained anew and fails: the table must not look up to date afterwards."""
    table = copy.folder / TABLE
    before = table.read_bytes()
    preset = copy.folder / "config" / "presets" / "smoke.yaml"
    with edited(preset, replace("steps: 20\n", "steps: 400\n")):
        with damaged(copy.folder / SETTING / "data" / "train.npz"):
            done = copy.snakemake(ERM, *SMOKE)
        assert done.returncode != 0
        assert not (copy.folder / ERM).exists()
        for target in ("table1", "all", TABLE):
            planned = names(copy.plan(target, *SMOKE))
            assert f"train_method {ERM}" in planned
            assert any(n.startswith("summarise results/smoke/tables/table1") for n in planned)
        copy.run("table1", *SMOKE)
        after = table.read_bytes()
        assert after != before
        copy.run("table1", "--forcerun", ERM, *SMOKE)
        assert table.read_bytes() == after
        assert copy.plan("table1", *SMOKE) == []
    assert not (copy.folder / JOURNAL).exists()


def test_what_is_removed_by_hand_stays_away(copy: Checkout) -> None:
    """Features may go to save room: nobody was about to replace them."""
    for folder in (copy.folder / "results" / "smoke").glob("*/*/ntf"):
        shutil.rmtree(folder)
    assert copy.plan("all", *SMOKE) == []


def test_a_file_lost_in_another_run_is_made_when_it_is_asked_for(
    copy: Checkout, dag: list[Job]
) -> None:
    with damaged(copy.folder / SETTING / "data" / "test_labels.npz"):
        done = copy.snakemake(SCORES, "--force", *SMOKE)
    assert done.returncode != 0
    copy.run("table3", *SMOKE)  # succeeds, and knows nothing of that file
    assert SCORES in (copy.folder / JOURNAL).read_text()
    planned = names(copy.plan("table1", *SMOKE))
    expected = with_descendants(dag, lambda job: job.rule == "score" and SCORES in job.output)
    assert planned >= {name for name in expected if "table1" in name}
