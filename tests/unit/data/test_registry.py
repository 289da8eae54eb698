"""Every data set of the registry: its entry points, options, raw data and generator."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from kerhrm.data.dataset import Split
from kerhrm.data.registry import DATA_SETS, RAW, fetch, generate, source_of, task_of
from kerhrm.data.sources.king_county import Houses
from kerhrm.data.sources.king_county_table import Sales
from kerhrm.data.sources.mnist import Digits
from kerhrm.entries import check, load
from kerhrm.errors import KerhrmError
from kerhrm.sections import Section

SEEDS = [101, 3]
SECTIONS: dict[str, dict[str, Any]] = {
    "classification": {
        "r2": 0.8, "n_train_per_environment": 20, "n_validation_per_environment": 10, "n_test": 15,
        "scramble": "per_seed",
    },
    "colored_mnist": {
        "n_per_environment": 20, "n_validation_per_environment": 10, "n_test": 15,
        "train_flip": [0.3, 0.4],
    },
    "houses": {"train_fraction": 0.4, "scale": "all"},
    "regression": {"r": 1.9, "n_train": [30, 10], "n_validation": 8, "n_test": 5},
    "tabular": {
        "path": "raw:king_county", "target": "price", "task": "regression", "drop": ["date"],
        "max_rows": 100, "groups": {"column": "zipcode", "values": [98004, 98039]},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Prepared raw data, as the workflow hands them over."""
    folder = tmp_path_factory.mktemp("raw")
    Digits.stand_in().save(folder / "mnist.npz")
    Houses.stand_in().save(folder / "houses.npz")
    Sales.stand_in().save(folder / "king_county.npz")
    sources = {name: source_of(model(name, **said)) for name, said in SECTIONS.items()}
    return {name: folder / f"{source}.npz" for name, source in sources.items() if source}


def model(name: str, **changed: Any) -> Any:
    return load(DATA_SETS[name].options)(generator=name, **changed)


def section(name: str, **changed: Any) -> dict[str, Any]:
    """The whole section, with the defaults of the schema, as a rule gets it."""
    return model(name, **changed).model_dump(mode="json")


def test_entry_points_exist() -> None:
    for name, entries in DATA_SETS.items():
        assert entries.name == name
        for entry in (entries.options, entries.entry, entries.truths):
            if entry:
                check(entry)
    for entry in RAW.values():
        check(entry)
    assert {source_of(model(n, **s)) for n, s in SECTIONS.items()} - {None} == RAW.keys()
    assert SECTIONS.keys() == DATA_SETS.keys()


def test_the_registry_is_light() -> None:
    """It is imported wherever the configuration is read."""
    heavy = {"numpy", "pandas", "scipy", "torch", "requests", "pooch", "pydantic"}
    code = f"import sys, kerhrm.data.registry; print(*({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", SECTIONS)
def test_every_option_says_what_it_is_and_takes_no_truth_value(name: str) -> None:
    options: type[Section] = load(DATA_SETS[name].options)
    for key, field in options.model_fields.items():
        assert field.description, key
        with pytest.raises(ValidationError):
            options(**{"generator": name} | {key: True})
        if isinstance(field.default, list | tuple):
            with pytest.raises(ValidationError):
                model(name, **{key: [True, *field.default[1:]]})


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("classification", {"r2": 1.2}),
        ("classification", {"r_test": -0.1}),
        ("classification", {"d": 0}),
        ("classification", {"noise_unit": "sd"}),
        ("classification", {"scramble": "yes"}),
        ("colored_mnist", {"label_noise": 1.5}),
        ("colored_mnist", {"train_flip": (0.1, -0.2)}),
        ("colored_mnist", {"train_flip": ()}),
        ("colored_mnist", {"side": 7}),
        ("houses", {"clip": "all"}),
        ("houses", {"price": "euro"}),
        ("regression", {"r": 1.0}),
        ("regression", {"r": float("nan")}),
        ("regression", {"test_r": [-1.9, 0.0]}),
        ("regression", {"test_r": [float("-inf")]}),
        ("regression", {"test_r": []}),
        ("regression", {"scenario": 3}),
        ("regression", {"scramble": "identity"}),
        ("regression", {"constants": "mine"}),
        ("regression", {"beta": float("inf")}),
        ("regression", {"n_validation": 1}),
        ("regression", {"n_s": 2}),
    ],
)
def test_what_no_generator_could_use_is_refused(name: str, changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(changed))):
        model(name, **changed)


def test_what_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    for options, raw, problem in (
        ({"generator": "mine"}, None, "no data set is called 'mine'; known are: classification"),
        ({"generator": "houses"}, None, "houses is made from raw data; give the file of houses"),
        ({"generator": "houses"}, tmp_path / "absent.npz", "absent.npz does not exist"),
    ):
        with pytest.raises(KerhrmError) as caught:
            generate(options, SEEDS, raw)
        assert problem in str(caught.value)


@pytest.mark.parametrize("name", RAW)
def test_raw_data_are_fetched_by_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KERHRM_OFFLINE", "1")
    raw = fetch(name)
    assert raw.is_stand_in
    raw.save(tmp_path / "raw.npz")
    again = type(raw).load(tmp_path / "raw.npz")
    for key, value in vars(raw).items():
        np.testing.assert_array_equal(getattr(again, key), value)
    with pytest.raises(KerhrmError, match=r"cannot get .*switched off"):
        fetch(name, tmp_path, "fail")


@pytest.mark.parametrize("name", SECTIONS)
def test_options_and_raw_data_reach_the_generator(name: str, raw: dict[str, Path]) -> None:
    options = model(name, **SECTIONS[name])
    data = generate(section(name, **SECTIONS[name]), SEEDS, raw.get(name))
    sources = {"mnist": Digits, "houses": Houses, "king_county": Sales, None: None}
    own = sources[source_of(options)]
    expected = load(DATA_SETS[name].entry)(options, SEEDS, *([own.stand_in()] if own else []))
    for part in ("train", "validation", "test"):
        for array in Split.__dataclass_fields__:
            got, wanted = (getattr(getattr(d, part), array) for d in (data, expected))
            np.testing.assert_array_equal(got, wanted)
    assert data.source == expected.source
    assert list(data.seeds) == SEEDS


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_is_left_as_it_was(name: str, raw: dict[str, Path]) -> None:
    options = section(name, **SECTIONS[name])
    before = dict(options)
    generate(options, SEEDS, raw.get(name))
    assert options == before


@pytest.mark.parametrize("name", SECTIONS)
def test_a_seed_does_not_depend_on_its_company(name: str, raw: dict[str, Path]) -> None:
    options = section(name, **SECTIONS[name])
    both, one = (generate(options, s, raw.get(name)) for s in (SEEDS, SEEDS[1:]))
    for part in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(both, part).x[1], getattr(one, part).x[0])
        np.testing.assert_array_equal(getattr(both, part).y[1], getattr(one, part).y[0])
    assert not np.array_equal(both.train.x[0], both.train.x[1])


@pytest.mark.parametrize("name", SECTIONS)
def test_the_schema_knows_how_many_points_and_predictors(name: str, raw: dict[str, Path]) -> None:
    options = model(name, **SECTIONS[name])
    data = generate(options.model_dump(mode="json"), SEEDS, raw.get(name))
    assert data.train.y.shape == (len(SEEDS), options.n_points)
    inputs = data.train.x.shape[-1]
    assert options.n_inputs == (1 if name == "tabular" else inputs)  # of raw data nothing is known
    assert data.task == task_of(options)
