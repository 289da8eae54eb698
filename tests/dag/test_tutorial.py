"""The commands and files of docs/tutorial.md, as a reader would type them."""

import re
import shlex
from pathlib import Path

import pytest
from dagtools import Checkout

pytestmark = pytest.mark.dag
ROOT = Path(__file__).parents[2]


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs/tutorial.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def test_one_thing_is_changed_and_its_table_is_marked(smoke: Checkout, tmp_path: Path) -> None:
    copy = smoke.copy(tmp_path / "kerhrm")
    first, second, _ = blocks("sh")
    setting, learner = blocks("yaml")
    mine = setting.replace("[erm, irm, kerhrm]", "[erm, irm, kerhrm, kerhrm_no_penalty]") + learner
    (copy.folder / "mine.yaml").write_text(mine)
    for command in (first, second):
        _, cores, _, *words = shlex.split(command)
        assert cores == "--cores"
        copy.run(*words)
    table = (copy.folder / "results/smoke/tables/mine.md").read_text()
    assert "KerHRM without penalty" in table
    assert "smoke sizes; options differ from the published: data.classification" in table
