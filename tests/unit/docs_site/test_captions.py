"""Captions for ``snakemake --report``: each output that is looked at has one."""

import re
from pathlib import Path

from kerhrm_paper.config.layout import rule_files

ROOT = Path(__file__).parents[3]
OUTPUT = re.compile(r"^( +)output:\n((?:\1 .*\n)*)", re.MULTILINE)
FILE = re.compile(r"(shown\(\s*)?f?\"<run>/([^\"]+\.(?:csv|html|png))\"")
#: shown as tables/{table}.html; read by select alone; the rows behind a table
NOT_SHOWN = {
    "tables/{table}.csv",
    "selected/{data}.csv",
    "{data}/{learner}/scores.csv",
}


def test_every_table_and_figure_has_a_caption() -> None:
    found = {}
    for rules in rule_files(ROOT):
        for _, output in OUTPUT.findall(rules.read_text("utf-8")):
            found |= {file: bool(shown) for shown, file in FILE.findall(output)}
    assert {file for file in found if not found[file]} == NOT_SHOWN


def test_every_caption_is_used() -> None:
    text = "".join(rules.read_text("utf-8") for rules in rule_files(ROOT))
    captions = set(re.findall(r'shown\(\s*f?"[^"]*",\s*"(\w+)"', text))
    for caption in (ROOT / "workflow" / "report").glob("*.rst"):
        assert caption.stem in captions or f"report/{caption.name}" in text
