"""Files next to the configuration: what they may say, and how an error reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal

from kerhrm_paper.config.endpoints import EndpointTable, load_endpoints
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.real_tables import load_descriptions
from kerhrm_paper.evaluation.tables import RESULTS

ENDPOINTS = CHECKOUT / "config" / "endpoints.yaml"
REAL_TABLES = CHECKOUT / "config" / "real_tables.yaml"


def edited(file: Path, folder: Path, old: str, new: str) -> Path:
    """A copy of a file with a text replaced where it stands first."""
    text = file.read_text()
    assert old in text
    copy = folder / file.name
    copy.write_text(text.replace(old, new, 1))
    return copy


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("margin: 0.03", "margn: 0.03", "tables.table1.margn: .* mean 'margin'"),
        ("baselines_by:", "baseline_by:", "baseline_by: .* mean 'baselines_by'"),
        ("runs: 5", "runs: 0", r"tables.table4.runs=0: must be greater than 0"),
        ("metric: mean_error, ", "", r"tables.table3.metric: it is missing; add metr"),
        ("mean_error", "mean_eror", r"tables.table3.metric='mean_eror': must be 'te"),
        ("margin: 0.03, ", "", r"tables.table1.margin: is missing; add margin or rel"),
        ("_margin: 0.1", "_margin: 0.1, margin: 1", r"table3.relative_margin: margin"),
        ("pooled vali", "poled vali", "baselines_by: 'poled .* mean 'pooled valid"),
        ("od: KerHRM (as pr", "od: KerHRM (pr", r"band.method: 'KerHRM \(pr.* mean"),
        ("    table2: as", "    tabel2: as", "band.tables.tabel2: .* mean 'table2'"),
        ("[KerHRM (authors", "[KerHRM (author", r"table4.without: .* mean 'KerHRM"),
    ],
)
def test_endpoints_that_do_not_fit_are_refused(
    old: str, new: str, error: str, tmp_path: Path
) -> None:
    file = edited(ENDPOINTS, tmp_path, old, new)
    with refusal(f"endpoints.yaml: .*{error}"):
        load_endpoints(file)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("target: lwage", "targt: lwage", "wage2.targt: .* did you mean 'target'"),
        ("  target: lwage\n", "", "wage2.target: it is missing; add target"),
        ("auxiliary: year", "auxiliary: 3", "cps78_85.auxiliary=3: must be .* string"),
        ("wage2:\n", "wage1: 5\nwage2:\n", "wage1: it has no keys; write 'key: va"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(
    old: str, new: str, error: str, tmp_path: Path
) -> None:
    file = edited(REAL_TABLES, tmp_path, old, new)
    with refusal(f"real_tables.yaml: {error}"):
        load_descriptions(file)


@pytest.mark.parametrize("load", [load_endpoints, load_descriptions])
def test_a_file_that_is_not_there_is_named(
    load: Callable[[Path], Any], tmp_path: Path
) -> None:
    with refusal("gone.yaml: No such file"):
        load(tmp_path / "gone.yaml")


def test_endpoints_can_be_of_every_metric_that_says_how_good_a_method_is() -> None:
    schema = EndpointTable.model_json_schema()
    assert schema["properties"]["metric"]["enum"] == [*RESULTS]


@pytest.mark.parametrize(
    ("margins", "expected"),
    [({"margin": 0.03}, 0.03), ({"relative_margin": 0.1}, 0.5)],
)
def test_a_margin_is_a_number_or_a_share_of_the_reference(
    margins: dict[str, float], expected: float
) -> None:
    table = EndpointTable(metric="mse", runs=10, **margins)
    assert table.margin_at(5.0) == expected
