"""A few lines about a table become an experiment, and are what its errors name."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from configtools import Told, Write

from kerhrm.config.resolve import resolve
from kerhrm.errors import KerhrmError

CSV = "size,age,price\n" + "".join(f"{i},{i % 7},{i % 11}\n" for i in range(60))
BLOCK: dict[str, Any] = {"path": "../../data/mine.csv", "target": "price"}
SMALL: dict[str, Any] = {"kerhrm": {"k": [5]}, "per_seed": {"k": [5]}}


@pytest.fixture(autouse=True)
def table(folder: Path) -> Path:
    """A table beside the folder of the configuration."""
    path = folder.parent / "data" / "mine.csv"
    path.parent.mkdir()
    path.write_text(CSV)
    return path


def test_a_file_is_an_experiment_of_its_name(folder: Path, write: Write) -> None:
    write("datasets/mine", BLOCK | {"options": SMALL, "seeds": 3})
    one = resolve({}, folder).experiments["dataset_mine"]
    assert (one.title, one.table, one.notebook) == ("mine", "dataset_mine", "dataset")
    assert (one.protocol, one.in_all) == ("groups", False)
    assert one.seeds.data == [0, 1, 2]
    assert list(one.settings) == ["mine"]
    setting = one.settings["mine"]
    assert setting.run == ["erm", "dro", "eiil", "hrm", "kerhrm", "igd", "per_seed"]
    assert setting.methods.kerhrm.k == [5]
    assert setting.data.path == "data/mine.csv"
    assert (setting.data.kind, setting.data.max_rows) == ("regression", 5000)


def test_a_preset_lies_over_it(folder: Path, write: Write) -> None:
    write("datasets/mine", BLOCK | {"options": SMALL})
    changed = {"experiments": {"dataset_mine": {"seeds": 2, "data": {"max_rows": 40}}}}
    one = resolve(changed, folder).experiments["dataset_mine"]
    assert one.seeds.data == [0, 1]
    assert one.settings["mine"].data.max_rows == 40


def test_a_file_of_the_command_line_may_hold_it(folder: Path, tmp_path: Path) -> None:
    """Paths then count from that file."""
    other = tmp_path / "elsewhere" / "mine.yaml"
    other.parent.mkdir()
    (other.parent / "here.csv").write_text(CSV)
    block = {"path": "here.csv", "target": "price", "options": SMALL, "methods": ["erm"]}
    top = {"datasets": {"mine": block}}
    other.write_text(yaml.safe_dump(top))
    one = resolve(top, folder, [other]).experiments["dataset_mine"].settings["mine"]
    assert one.data.path == "elsewhere/here.csv"
    assert one.run == ["erm"]
    with pytest.raises(KerhrmError, match=r"^--config: datasets.mine.path = 'here.csv': there is"):
        resolve(top, folder)


def test_the_shipped_ones_are_of_a_known_source(folder: Path) -> None:
    found = resolve({}, folder).experiments
    for name in ("dataset_king_county_zip", "dataset_semi_synthetic"):
        (setting,) = found[name].settings.values()
        assert setting.data.source == "king_county"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"path": "mine.csv"}, "path = 'mine.csv': there is no file "),
        ({"path": None}, "path is missing; add it"),
        ({"targt": "price"}, "targt = 'price': no such key; did you mean 'target'?"),
        ({"target": None}, "target is missing; add it"),
        ({"target": "prize"}, "data/mine.csv has no column 'prize'; did you mean 'price'?"),
        ({"task": "clustering"}, "task = 'clustering': choose 'auto', 'classification' or"),
        ({"task": True}, "task = True: choose"),
        ({"methods": ["emr"]}, "methods.0 = 'emr': no such method; did you mean 'erm'?"),
        ({"methods": ["igd"]}, "methods = ['igd']: igd needs kerhrm; add kerhrm to run"),
        ({"options": {"kerhrm": {"kk": 5}}}, "options.kerhrm.kk = 5: no such key"),
        (
            {"options": SMALL | {"kerhrm": {"k": [5], "clustering": {"clusters": 60}}}},
            "options.kerhrm.clustering.clusters = 60: K=60 clusters exceed the n=48",
        ),
        ({"seeds": 0}, "seeds = 0: "),
        ({"groups": {"quantile": 2, "column": "age"}}, "groups.quantile = 2: "),
        ({"groups": {"random": 0.3, "values": [1]}}, "write one of values, quantile and random"),
        ({"inject": {"share": 0}}, "inject.share = 0: write a number above 0"),
        ({"path": "raw:king_county"}, "raw data may not be there yet; write classification or"),
        ({"path": "raw:mars"}, "path = 'raw:mars': no such raw data"),
    ],
)
def test_errors_name_the_file_and_its_own_key(
    write: Write, told: Told, changed: dict[str, Any], said: str
) -> None:
    block = {"options": SMALL} | BLOCK | changed
    write("datasets/mine", {key: value for key, value in block.items() if value is not None})
    message = told({})
    assert message.startswith("config/datasets/mine.yaml: ")
    assert said in message


def test_too_large_a_k_is_told_of_the_file(write: Write, told: Told) -> None:
    (Path("data") / "mine.csv").write_text(CSV[:60])
    write("datasets/mine", BLOCK | {"task": "regression"})
    assert "training points; lower k or raise n" in told({})
