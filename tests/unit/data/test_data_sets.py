"""Every data set of the registry: options, raw data, and what one part
may depend on."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from housetools import small
from numpy.testing import assert_allclose

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import load_config
from kerhrm_paper.data import houses
from kerhrm_paper.data.colored_mnist import Digits
from kerhrm_paper.data.draws import Draws, Split
from kerhrm_paper.data.registry import DATA_SETS, RAW, generate
from kerhrm_paper.runs.arrays import load_arrays

SEEDS = [101, 3]
OPTIONS: dict[str, dict[str, Any]] = {
    "classification": {
        "r2": 0.8,
        "n_train_per_environment": 20,
        "n_validation_per_environment": 10,
        "n_test": 15,
        "scramble": "per_seed",
    },
    "colored_mnist": {
        "n_per_environment": 20,
        "n_validation_per_environment": 10,
        "n_test": 15,
        "train_flip": [0.3, 0.4],
    },
    "houses": {"train_fraction": 0.4, "scale": "all", "price_scale": "all"},
    "regression": {"r": 1.9, "n_train": [30, 10], "n_validation": 8, "n_test": 5},
    "temporal": {"n_train": 41, "n_validation": 10, "n_test": 15},
}
#: changes of options, and the parts that they shift
CHANGES: list[tuple[str, dict[str, Any], set[str]]] = [
    ("classification", {"n_train_per_environment": 21}, {"train"}),
    ("classification", {"n_validation_per_environment": 11}, {"validation"}),
    ("classification", {"n_test": 16}, {"test"}),
    ("classification", {"r_test": [0.9]}, {"test"}),
    ("classification", {"r2": 0.2}, {"train", "validation"}),
    ("colored_mnist", {"n_per_environment": 21}, {"train"}),
    ("colored_mnist", {"n_validation_per_environment": 11}, {"validation"}),
    ("colored_mnist", {"n_test": 16}, {"test"}),
    ("colored_mnist", {"test_flip": [0.1]}, {"test"}),
    ("regression", {"n_train": (33, 11)}, {"train"}),
    ("regression", {"n_validation": 12}, {"validation"}),
    ("regression", {"n_test": 6}, {"test"}),
    ("regression", {"test_r": (-2.8, -1.9)}, {"test"}),
    ("regression", {"r": 1.5}, {"train", "validation"}),
    ("temporal", {"n_train": 42}, {"train"}),
    ("temporal", {"p_test": [0.5, 0.2]}, {"test"}),
    ("temporal", {"high": 0.2}, {"train", "validation"}),
    ("houses", {"train_fraction": 0.5}, {"train", "test"}),
    ("houses", {"validation_fraction": 0.2}, {"validation", "test"}),
]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of raw data, by data set."""
    folder = tmp_path_factory.mktemp("raw")
    Digits.fallback().save(folder / "mnist.npz")
    small().save(folder / "houses.npz")
    return {
        name: folder / f"{one.raw}.npz" for name, one in DATA_SETS.items() if one.raw
    }


@pytest.fixture(autouse=True)
def _few_houses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options count the rows of the published file; here those of the small one."""
    years = small().yr_built
    counts = {year: int((years < year).sum()) for year in houses.BUILT_BEFORE}
    monkeypatch.setattr(houses, "BUILT_BEFORE", counts)


def parts(data: Draws) -> dict[str, Split]:
    return {"train": data.train, "validation": data.validation, "test": data.test}


def equal(one: Split, other: Split) -> bool:
    names = ("x", "y", "environment")
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


def test_the_options_here_are_those_of_every_data_set() -> None:
    assert OPTIONS.keys() == DATA_SETS.keys()
    assert {one.raw for one in DATA_SETS.values()} - {None} == RAW.keys()


def test_the_registry_is_light() -> None:
    """It is imported wherever the configuration is read."""
    heavy = {"pandas", "torch", "sklearn", "matplotlib"}
    code = "import sys, kerhrm_paper.data.registry; "
    code += f"print(*({heavy} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", OPTIONS)
def test_shapes_and_types(name: str, raw: dict[str, Path]) -> None:
    data = generate(name, OPTIONS[name], SEEDS, raw.get(name))
    for split in parts(data).values():
        assert split.y.shape == split.environment.shape == split.x.shape[:2]
        assert len(split.y) == len(SEEDS)
        assert (split.x.dtype, split.y.dtype) == (np.float32, np.float32)
        assert split.environment.dtype == np.int8
    assert data.task == DATA_SETS[name].task
    assert len(data.test_environments) == data.test.environment.max() + 1
    if data.task == "classification":
        assert {*np.unique(data.train.y), *np.unique(data.test.y)} == {-1, 1}


@pytest.mark.parametrize(("name", "changed", "shifted"), CHANGES)
def test_a_change_of_one_part_shifts_no_other(
    name: str, changed: dict[str, Any], shifted: set[str], raw: dict[str, Path]
) -> None:
    before = parts(generate(name, OPTIONS[name] | {}, [5], raw.get(name)))
    after = parts(generate(name, OPTIONS[name] | changed, [5], raw.get(name)))
    assert {part for part in before if not equal(before[part], after[part])} == shifted


@pytest.mark.parametrize("name", ["classification", "colored_mnist"])
def test_further_test_environments_come_behind_those_of_the_paper(
    name: str, raw: dict[str, Path]
) -> None:
    """Of each shipped configuration: the first rows are those of the default, alone."""
    config = load_config({"preset": "fresh"})
    further = config.data(name).options.model_dump()
    further |= OPTIONS[name]
    after = generate(name, further, SEEDS, raw.get(name))
    before = generate(name, OPTIONS[name], SEEDS, raw.get(name))
    for part in ("train", "validation"):
        assert equal(getattr(before, part), getattr(after, part))
    n = before.test.y.shape[1]
    first = Split(
        after.test.x[:, :n], after.test.y[:, :n], after.test.environment[:, :n]
    )
    assert equal(before.test, first)
    assert after.test.y.shape[1] == 3 * n
    assert len(before.test_environments) == before.n_headline == after.n_headline
    assert after.test_environments[0] == before.test_environments[0]


def test_the_papers_test_rows_are_those_of_version_0_3(raw: dict[str, Path]) -> None:
    """Numbers that the published code drew for the first seed of the tables."""
    data = generate("classification", {"r2": 0.7, "r_test": [0.1, 0.5]}, [3000])
    expected = [
        [-6.40109, 1.4198521, -2.4972832],
        [1.949009, -3.5855472, 0.83802634],
        [4.2224207, -2.3876116, 0.96732324],
    ]
    assert_allclose(data.test.x[0, [0, 500, 999], :3], expected, rtol=1e-4, atol=1e-5)
    assert data.test.y[0, :8].tolist() == [-1, 1, 1, -1, -1, -1, 1, 1]
    assert data.test.y[0, :1000].sum() == 8
    sizes = {"n_per_environment": 150, "n_validation_per_environment": 60}
    options = {**sizes, "n_test": 100, "test_flip": [0.9, 0.5]}
    data = generate("colored_mnist", options, [3000], raw["colored_mnist"])
    by_channel = data.test.x[0, :100].reshape(100, 2, -1).sum((0, 2), dtype=float)
    assert_allclose(by_channel, [1688.408, 2761.2546], rtol=1e-4)
    signs = [1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, -1]
    assert data.test.y[0, :12].tolist() == signs
    assert data.test.y[0, :100].sum() == -16


@pytest.mark.parametrize("name", OPTIONS)
def test_a_seed_does_not_depend_on_the_others(name: str, raw: dict[str, Path]) -> None:
    both = parts(generate(name, OPTIONS[name], SEEDS, raw.get(name)))
    one = parts(generate(name, OPTIONS[name], SEEDS[1:], raw.get(name)))
    for part, split in one.items():
        second = Split(both[part].x[1:], both[part].y[1:], both[part].environment[1:])
        assert equal(split, second)
    assert not np.array_equal(both["train"].x[0], both["train"].x[1])


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("classification", {"r2": 1.2}),
        ("colored_mnist", {"label_noise": 1.5}),
        ("houses", {"clip": "all"}),
        ("regression", {"r": 1.0}),
        ("regression", {"test_r": [-1.9, 0.0]}),
        ("regression", {"beta": float("inf")}),
        ("regression", {"n_validation": 1}),
        ("regression", {"n_s": 2}),
    ],
)
def test_options_that_no_generator_could_use_are_refused(
    name: str, changed: dict[str, Any]
) -> None:
    with pytest.raises(KerhrmError, match=next(iter(changed))):
        generate(name, changed, SEEDS)


@pytest.mark.parametrize("name", RAW)
def test_raw_data_are_fetched_by_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KERHRM_OFFLINE", "1")
    raw = RAW[name].fetch(on_missing="fallback")
    assert raw.is_fallback
    raw.save(tmp_path / "raw.npz")
    again = type(raw).load(tmp_path / "raw.npz")
    for key, value in vars(raw).items():
        np.testing.assert_array_equal(getattr(again, key), value)
    with pytest.raises(KerhrmError, match=r"cannot get .*switched off"):
        RAW[name].fetch(tmp_path)


def test_auxiliary_variable_is_for_every_method_and_no_feature(
    raw: dict[str, Path], tmp_path: Path
) -> None:
    time = generate("temporal", {"n_train": 4000}, [0])
    agrees = np.sign(time.train.x[0, :, 5:].sum(-1)) == time.train.y[0]
    early = time.train.auxiliary[0, :, 0] < 0.5
    assert np.array_equal(early, time.train.environment[0] == 0)
    # 0.999 and 0.9, less noise
    assert agrees[early].mean() - agrees[~early].mean() > 0.06
    late = generate("houses", {"built_before": 1950}, [0, 1], raw["houses"])
    assert late.train.x.shape[-1] == 16
    assert late.train.auxiliary.max() < 1950
    assert [*np.unique(late.test.environment[1])] == [0, 1, 2, 3]
    files = "train", "validation", "test_inputs", "environments", "test_labels"
    late.save({name: tmp_path / f"{name}.npz" for name in files})
    assert set(load_arrays(tmp_path / "train.npz")[0]) == {"x", "y", "auxiliary"}
    assert set(load_arrays(tmp_path / "test_inputs.npz")[0]) == {"x"}


def test_what_a_generator_returns_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the package and the name, before anything is written."""
    wrong = replace(DATA_SETS["temporal"], generate=lambda options, seeds: None)
    monkeypatch.setitem(DATA_SETS._built_in, "temporal", wrong)
    with pytest.raises(KerhrmError) as error:
        generate("temporal", {}, [0])
    text = "package kerhrm, kerhrm.data_sets: temporal: generate must return Draws;"
    assert str(error.value).startswith(f"{text} got NoneType; return")
