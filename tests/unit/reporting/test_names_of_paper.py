"""Only the paper's tables are called as the paper calls them."""

from pathlib import Path

import pytest

from kerhrm_paper.config.config import load_config
from kerhrm_paper.evaluation.tables import OF_PAPER
from kerhrm_paper.reporting.figures import in_paper
from kerhrm_paper.reporting.run import Run


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("table1", "Table 1"),
        ("figure3", "Figure 3"),
        ("table7", "table7"),
        ("figure9", "figure9"),
        ("prices2", "prices2"),
    ],
)
def test_other_tables_keep_their_names(table: str, name: str) -> None:
    assert in_paper(table) == name


def test_tables_of_the_paper_come_first(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    names = ["alike", "figure2", "prices2", "table4", "table7"]
    for name in names:
        (folder / f"{name}.csv").touch()
    tables = Run(tmp_path).tables
    assert tables == ["table4", "figure2", "alike", "prices2", "table7"]


def test_the_configuration_has_all_tables_of_the_paper() -> None:
    assert set(OF_PAPER) <= {*load_config().tables}
