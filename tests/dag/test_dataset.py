"""From a CSV to a page by one command, and back when the CSV changes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from dagtools import SMOKE, Checkout, rules

from kerhrm.reporting.tables import read_table

pytestmark = pytest.mark.dag

N = 240
BLOCK = {
    "path": "mine.csv",
    "target": "price",
    "categorical": ["town"],
    "groups": {"column": "town", "values": ["north"]},
    "methods": ["erm", "kerhrm"],
    "options": {"kerhrm": {"k": [5], "iterations": 1}},
    "seeds": 2,
    "network": {"widths": [16]},
}
TARGET = "dataset_mine"


def write_table(path: Path, seed: int = 0) -> None:
    random = np.random.default_rng(seed)
    size, town = random.normal(size=N), random.choice(["north", "south", "west"], N)
    price = 2 * size + random.normal(size=N)
    table = pd.DataFrame({"size": size, "age": random.normal(size=N), "town": town, "price": price})
    table.to_csv(path, index=False)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A table, and a file that says what to do with it."""
    write_table(tmp_path / "mine.csv")
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"datasets": {"mine": BLOCK}}))
    return path


def test_a_csv_becomes_a_table_and_a_page(checkout: Checkout, mine: Path) -> None:
    pytest.importorskip("nbconvert")
    command = (TARGET, "--configfile", str(mine), *SMOKE)
    checkout.run(*command)
    results = checkout.folder / "results" / "smoke"
    table = read_table(results / "tables" / f"{TARGET}.csv")
    assert {"ERM", "KerHRM (NTF)", "KerHRM-s"} < set(table["method"])
    assert set(table["setting"]) == {"mine", "group=north", "group=others"}
    assert set(table["metric"]) == {"overall_error", "worst_error", "group_error"}
    told = json.loads((results / "described" / f"{TARGET}.json").read_text())
    assert told["about"]["rows"] == N
    assert len(told["found"]) == 2
    assert (results / "figures" / f"{TARGET}.png").stat().st_size > 0
    page = (results / "pages" / f"{TARGET}.html").read_text()
    for words in (
        "What was read",
        "mine.csv",
        "KerHRM (NTF)",
        "The environments that KerHRM found",
    ):
        assert words in page
    assert checkout.plan(*command) == []

    (mine.parent / "mine.csv").touch()
    write_table(mine.parent / "mine.csv", seed=1)
    planned = checkout.plan(*command)
    assert rules(planned) > {"generate_data", "train_method", "score", "write_page"}
    assert "fetch_raw" not in rules(planned)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("size,", "town,", "two columns called 'town'; rename or remove one of them"),
        ("north", "1e30", "column 'town' is never 'north' (groups.values)"),
        (",price\n", ",prise\n", "has no column 'price'; did you mean 'prise'?"),
        ("age,", "town2,", "known"),
    ],
)
def test_a_bad_table_ends_the_run_with_one_line(
    checkout: Checkout, mine: Path, old: str, new: str, said: str
) -> None:
    path = mine.parent / "mine.csv"
    path.write_text(path.read_text().replace(old, new))
    if said == "known":
        block = BLOCK | {"drop": ["age"]}
        mine.write_text(yaml.safe_dump({"datasets": {"mine": block}}))
        said = "has no column 'age' (drop); known are: "
    done = checkout.snakemake(TARGET, "--configfile", str(mine), *SMOKE)
    assert done.returncode != 0
    assert said in done.stdout
    assert "Traceback" not in done.stdout


def test_the_shipped_data_sets_have_their_targets_and_are_not_in_all(checkout: Checkout) -> None:
    names = ("king_county_zip", "semi_synthetic")
    planned = checkout.plan(*(f"dataset_{name}" for name in names), *SMOKE)
    made = {file for job in planned for file in job.output}
    assert {f"results/smoke/pages/dataset_{name}.html" for name in names} <= made
    assert "results/smoke/raw/king_county.npz" in made
    truth = [job.rule for job in planned if any("data/environments.npz" in f for f in job.input)]
    assert truth == ["describe_dataset"]
    assert "dataset_" not in checkout.run("--dry-run", "all", *SMOKE)
