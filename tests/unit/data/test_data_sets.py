"""Every data set of the registry: options, raw data, and what one part
may depend on."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawtools import parts
from housetools import small
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusal

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.data import houses
from kerhrm_paper.data.census import Adult
from kerhrm_paper.data.draws import Split
from kerhrm_paper.data.mnist import Digits
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
    "confounded_adult": {"n_train": 20, "n_validation": 10, "n_test": 15},
    "houses": {
        "train_fraction": 0.4,
        "scale": "all",
        "price_scale": "all",
    },
    "regression": {
        "r": 1.9,
        "n_train": [30, 10],
        "n_validation": 8,
        "n_test": 5,
    },
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
    ("confounded_adult", {"n_train": 21}, {"train"}),
    ("confounded_adult", {"n_validation": 11}, {"validation"}),
    ("confounded_adult", {"n_test": 16}, {"test"}),
    ("confounded_adult", {"r_test": [0.9]}, {"test"}),
    ("confounded_adult", {"agreement": 0.7}, {"train", "validation"}),
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
    Adult.fallback().save(folder / "adult.npz")
    files = {}
    for name, data_set in DATA_SETS.items():
        if data_set.raw:
            files[name] = folder / f"{data_set.raw}.npz"
    return files


@pytest.fixture(scope="module")
def shipped() -> Config:
    """The configuration of this repository, with all houses."""
    return load_config({"preset": "fresh"})


@pytest.fixture(autouse=True)
def _few_houses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options count the rows of the published file; here those of the small one."""
    years = small().yr_built
    counts = {}
    for year in houses.BUILT_BEFORE:
        is_older = years < year
        counts[year] = int(is_older.sum())
    monkeypatch.setattr(houses, "BUILT_BEFORE", counts)


def equal(one: Split, other: Split) -> bool:
    """Whether all arrays of two parts are the same."""
    for name in ("x", "y", "environment"):
        array = getattr(one, name)
        expected = getattr(other, name)
        if not np.array_equal(array, expected):
            return False
    return True


def test_the_options_here_are_those_of_every_data_set() -> None:
    assert OPTIONS.keys() == DATA_SETS.keys()
    kinds_of_raw_data = set()
    for data_set in DATA_SETS.values():
        kinds_of_raw_data.add(data_set.raw)
    assert kinds_of_raw_data - {None} == RAW.keys()


def test_the_registry_is_light() -> None:
    """It is imported wherever the configuration is read."""
    heavy = {"pandas", "torch", "sklearn", "matplotlib"}
    code = (
        "import sys, kerhrm_paper.data.registry; "
        f"print(*({heavy} & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = done.stdout.split()
    assert imported == []


@pytest.mark.parametrize("name", OPTIONS)
def test_shapes_and_types(name: str, raw: dict[str, Path]) -> None:
    options = OPTIONS[name]
    file = raw.get(name)
    data = generate(name, options, SEEDS, file)
    for split in parts(data).values():
        seeds_and_rows = split.x.shape[:2]
        assert split.y.shape == seeds_and_rows
        assert split.environment.shape == seeds_and_rows
        assert len(split.y) == len(SEEDS)
        assert split.x.dtype == np.float32
        assert split.y.dtype == np.float32
        assert split.environment.dtype == np.int8
    assert data.task == DATA_SETS[name].task
    n_test_environments = data.test.environment.max() + 1
    assert len(data.test_environments) == n_test_environments
    if data.task == "classification":
        of_training = np.unique(data.train.y)
        of_test = np.unique(data.test.y)
        values = set(of_training) | set(of_test)
        assert values == {-1, 1}


@pytest.mark.parametrize(("name", "changed", "shifted"), CHANGES)
def test_a_change_of_one_part_shifts_no_other(
    name: str, changed: dict[str, Any], shifted: set[str], raw: dict[str, Path]
) -> None:
    options = OPTIONS[name]
    changed_options = options | changed
    file = raw.get(name)
    drawn = generate(name, options, [5], file)
    drawn_again = generate(name, changed_options, [5], file)
    before = parts(drawn)
    after = parts(drawn_again)
    differing = set()
    for part in before:
        is_same = equal(before[part], after[part])
        if not is_same:
            differing.add(part)
    assert differing == shifted


@pytest.mark.parametrize("name", ["classification", "colored_mnist"])
def test_further_test_environments_come_behind_those_of_the_paper(
    name: str, raw: dict[str, Path], shipped: Config
) -> None:
    """Of each shipped configuration: the first rows are those of the default, alone."""
    further = shipped.data(name).options.model_dump()
    further |= OPTIONS[name]
    file = raw.get(name)
    after = generate(name, further, SEEDS, file)
    before = generate(name, OPTIONS[name], SEEDS, file)
    assert equal(before.train, after.train)
    assert equal(before.validation, after.validation)
    n = before.test.y.shape[1]
    first = Split(
        x=after.test.x[:, :n],
        y=after.test.y[:, :n],
        environment=after.test.environment[:, :n],
    )
    assert equal(before.test, first)
    n_of_all = after.test.y.shape[1]
    assert n_of_all == 3 * n
    n_headline = len(before.test_environments)
    assert before.n_headline == n_headline
    assert after.n_headline == n_headline
    assert after.test_environments[0] == before.test_environments[0]


def test_the_papers_test_rows_are_those_of_version_0_3(raw: dict[str, Path]) -> None:
    """Numbers that the published code drew for the first seed of the tables."""
    options = {"r2": 0.7, "r_test": [0.1, 0.5]}
    data = generate("classification", options, [3000])
    x = data.test.x[0]
    y = data.test.y[0]
    expected = [
        [-6.40109, 1.4198521, -2.4972832],
        [1.949009, -3.5855472, 0.83802634],
        [4.2224207, -2.3876116, 0.96732324],
    ]
    three_rows = x[[0, 500, 999], :3]
    assert_allclose(three_rows, expected, rtol=1e-4, atol=1e-5)
    first_labels = y[:8]
    assert first_labels.tolist() == [-1, 1, 1, -1, -1, -1, 1, 1]
    assert y[:1000].sum() == 8

    sizes = {"n_per_environment": 150, "n_validation_per_environment": 60}
    options = sizes | {"n_test": 100, "test_flip": [0.9, 0.5]}
    file = raw["colored_mnist"]
    data = generate("colored_mnist", options, [3000], file)
    images = data.test.x[0, :100]
    y = data.test.y[0]
    by_image = images.reshape(100, 2, -1)
    by_channel = by_image.sum((0, 2), dtype=float)
    assert_allclose(by_channel, [1688.408, 2761.2546], rtol=1e-4)
    signs = [1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, -1]
    assert y[:12].tolist() == signs
    assert y[:100].sum() == -16


@pytest.mark.parametrize("name", OPTIONS)
def test_a_seed_does_not_depend_on_the_others(name: str, raw: dict[str, Path]) -> None:
    options = OPTIONS[name]
    file = raw.get(name)
    drawn = generate(name, options, SEEDS, file)
    drawn_alone = generate(name, options, SEEDS[1:], file)
    of_both = parts(drawn)
    of_second = parts(drawn_alone)
    for part, split in of_second.items():
        both = of_both[part]
        x = both.x[1:]
        y = both.y[1:]
        second = Split(x, y, both.environment[1:])
        assert equal(split, second)
    x_of_first, x_of_second = of_both["train"].x
    assert not np.array_equal(x_of_first, x_of_second)


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
    (name_of_option,) = changed
    with refusal(name_of_option):
        generate(name, changed, SEEDS)


@pytest.mark.parametrize("name", RAW)
def test_raw_data_are_fetched_by_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KERHRM_OFFLINE", "1")
    raw = RAW[name].fetch(on_missing="fallback")
    assert raw.is_fallback
    file = tmp_path / "raw.npz"
    raw.save(file)
    again = type(raw).load(file)
    for key, expected in vars(raw).items():
        loaded = getattr(again, key)
        assert_array_equal(loaded, expected)
    with refusal(r"cannot get .*switched off"):
        RAW[name].fetch(tmp_path)


def test_auxiliary_variable_is_for_every_method_and_no_feature(
    raw: dict[str, Path], tmp_path: Path
) -> None:
    time = generate("temporal", {"n_train": 4000}, [0])
    columns = time.train.x[0]
    shaded = columns[:, 5:]
    sign = np.sign(shaded.sum(-1))
    agrees = sign == time.train.y[0]
    moment = time.train.auxiliary[0, :, 0]
    early = moment < 0.5
    in_first_environment = time.train.environment[0] == 0
    assert np.array_equal(early, in_first_environment)
    # 0.999 and 0.9, less noise
    share_of_late = agrees[early].mean()
    difference = share_of_late - agrees[~early].mean()
    assert difference > 0.06

    options = {"built_before": 1950}
    late = generate("houses", options, [0, 1], raw["houses"])
    assert late.train.x.shape[-1] == 16
    assert late.train.auxiliary.max() < 1950
    of_second_seed = late.test.environment[1]
    environments = np.unique(of_second_seed)
    assert environments.tolist() == [0, 1, 2, 3]
    files = {}
    for part in ("train", "validation", "test_inputs", "environments", "test_labels"):
        files[part] = tmp_path / f"{part}.npz"
    late.save(files)
    train, _ = load_arrays(files["train"])
    test_inputs, _ = load_arrays(files["test_inputs"])
    assert set(train) == {"x", "y", "auxiliary"}
    assert set(test_inputs) == {"x"}


def test_what_a_generator_returns_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the package and the name, before anything is written."""

    def nothing(options: Any, seeds: Any) -> None:
        return None

    wrong = replace(DATA_SETS["temporal"], generate=nothing)
    monkeypatch.setitem(DATA_SETS._built_in, "temporal", wrong)
    with pytest.raises(KerhrmError) as error:
        generate("temporal", {}, [0])
    message = (
        "package kerhrm, kerhrm.data_sets: temporal: generate must return Draws; "
        "got NoneType; return"
    )
    assert str(error.value).startswith(message)
