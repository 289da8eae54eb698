"""The notebook of your own table draws the rows that the plan has accepted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest

from kerhrm import TangentRidge
from kerhrm.check.facts import LEFT_OUT
from kerhrm.errors import KerhrmError
from kerhrm.tables.shares import MOST_TRAINING
from kerhrm_paper.config.own_table import OwnTable
from kerhrm_paper.config.own_table_rows import check_file

ROOT = Path(__file__).parents[3]
N_CODE_CELLS = 3  #: parameters, the table, and its rows that train and test


@pytest.fixture(autouse=True)
def usual_display() -> Iterator[None]:
    """The notebook shows cells as a whole; other tests do not."""
    with pd.option_context("display.max_colwidth", 50):
        yield


def rows_of_notebook(**parameters: Any) -> dict[str, Any]:
    """Variables of the notebook behind its cells that read and split the table."""
    page = nbformat.read(ROOT / "notebooks/own_table.ipynb", as_version=4)
    cells = [cell for cell in page.cells if cell.cell_type == "code"]
    given, *others = cells[:N_CODE_CELLS]
    variables: dict[str, Any] = {}
    exec(given.source, variables)
    variables |= parameters
    for cell in others:
        exec(cell.source, variables)
    return variables


@pytest.mark.parametrize("held_out", [["2001"], [2001], [2001.0], ["2001.0"]])
def test_a_missing_cell_changes_the_name_of_no_group(
    tmp_path: Path, held_out: list[Any]
) -> None:
    """The cell is of a row without a target; it makes floats of the years."""
    random = np.random.default_rng(0)
    years = np.tile([2000, 2001, 2002], 20)
    table = pd.DataFrame({"x": random.normal(size=60), "year": years})
    table["y"] = random.normal(size=60)
    table.loc[4, ["year", "y"]] = None
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    names = rows_of_notebook(
        path=str(path), target="y", group="year", held_out=held_out
    )
    is_2001 = table["year"] == 2001
    of_2001 = table.index[is_2001]
    assert set(names["groups"]) == {"2000", "2001", "2002"}
    assert set(of_2001) <= set(names["test"].index)
    assert not set(of_2001) & set(names["train"].index)


def test_two_labels_may_be_any_numbers_on_the_page(tmp_path: Path) -> None:
    """scikit-learn takes 1.5 and 2.5 for the numbers of a regression."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x": random.normal(size=60)})
    table["y"] = np.where(table["x"] > 0, 1.5, 2.5)
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    check_file(OwnTable(csv=str(path), target="y"))
    names = rows_of_notebook(path=str(path), target="y")
    assert names["task"] == "classification"
    assert set(names["y"]) == {"1.5", "2.5"}
    TangentRidge(network=(4,)).fit(names["X"], names["y"])


def test_what_the_notebook_is_not_told_is_as_in_the_plan(tmp_path: Path) -> None:
    page = nbformat.read(ROOT / "notebooks/own_table.ipynb", as_version=4)
    cells = [cell for cell in page.cells if cell.cell_type == "code"]
    given: dict[str, Any] = {}
    exec(cells[0].source, given)
    keys = OwnTable(csv="t.csv", target="y")
    for key in ("test_share", "n_environments", "seed"):
        assert given[key] == getattr(keys, key)
    assert given["max_rows"] == MOST_TRAINING


def test_the_plan_refuses_the_rows_that_the_notebook_draws(tmp_path: Path) -> None:
    """Of one row with the other label, whether it trains hangs on the seed."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x": random.normal(size=60)})
    table["y"] = ["no"] * 59 + ["yes"]
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    refused = []
    for seed in range(8):
        keys = OwnTable(csv=str(path), target="y", seed=seed)
        try:
            check_file(keys)
        except KerhrmError as error:
            refused.append(seed)
            reason = error.problem.partition(": ")[2]
            with pytest.raises(KerhrmError, match=reason):
                rows_of_notebook(path=str(path), target="y", seed=seed)
            continue
        names = rows_of_notebook(path=str(path), target="y", seed=seed)
        assert set(names["y"]) == {"no", "yes"}
    assert 0 in refused
    assert len(refused) < 8


def test_what_is_odd_is_cured_by_keys_that_the_target_has(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    days = [f"2020-01-{1 + n % 28:02}" for n in range(60)]
    odd = {
        "either": [f"0{1 + n % 9}/0{1 + n % 7}/2020" for n in range(60)],
        "day": days,
        "almost": [*days[:57], "soon", "soon", "soon"],
        "digits": [int(day.replace("-", "")) for day in days],
        "almost digits": [*[int(day.replace("-", "")) for day in days[:56]], *[7] * 4],
        "[empty]": None,
        "same": "x",
        "number": np.arange(60),
    }
    x = random.normal(size=60)
    y = np.arange(60.0) + random.normal(size=60) / 10
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": x, **odd, "y": y}).to_csv(path, index=False)
    given = {"path": str(path), "target": "y", "task": "regression"}
    names = rows_of_notebook(**given)
    remarks = {name: names["facts"][f"column {name}"] for name in odd}
    days_cure = "write the days since a first day"
    dates = f"it looks like dates: {days_cure}"
    assert remarks["either"] == f"{LEFT_OUT}; {dates}, or drop=either"
    page = pd.Series(names["facts"]).to_frame().to_html()
    assert remarks["day"] in page
    assert remarks["day"] == f"{LEFT_OUT}; {dates}, or drop=day"
    assert remarks["almost"].endswith(f" or correct them, and {days_cure}")
    assert remarks["digits"].endswith(f": {days_cure}, or drop=digits")
    assert remarks["almost digits"].endswith(f" or correct them, and {days_cure}")
    assert remarks["[empty]"] == "it is empty; drop='\"[empty]\"'"
    assert remarks["same"] == "it is constant; drop=same"
    assert "it gives the target away; drop=number unless" in remarks["number"]
    facts = rows_of_notebook(drop=list(odd), **given)["facts"]
    assert not [name for name in facts if name.startswith("column ")]
