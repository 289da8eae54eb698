"""The commands and files of docs/tutorial.md, as a reader would type them."""

from pathlib import Path

import pytest
from dagtools import Checkout
from pagetools import ROOT, blocks, commands, files

pytestmark = pytest.mark.dag
PAGE = ROOT / "docs/tutorial.md"


def halves(diff: str) -> tuple[str, str]:
    """What a diff's lines replace, and what they put there."""
    lines = diff.splitlines(keepends=True)
    return tuple("".join(x[1:] for x in lines if x[0] != sign) for sign in "+-")  # type: ignore[return-value]


def test_one_thing_is_changed_and_its_table_is_marked(
    smoke: Checkout, tmp_path: Path
) -> None:
    copy = smoke.copy(tmp_path / "kerhrm")
    data, learners = map(halves, blocks(PAGE, "diff"))
    assert data[0] in (ROOT / "config/tables/table1.yaml").read_text()
    (mine,) = files(PAGE).values()
    assert learners[0] in mine
    (copy.folder / "mine.yaml").write_text(mine.replace(*learners))
    for words in commands(PAGE):
        if words[:2] == ["snakemake", "--cores"]:
            copy.run(*words[3:])
    table = (copy.folder / "results/smoke/tables/mine.md").read_text()
    assert "r2=0.6,K=3" in table
    assert "One more r2: smoke sizes" in table
    cell = copy.folder / "results/smoke/classification+r2=0.6/erm/scores.csv"
    assert "test_acc" in cell.read_text()
