"""The ``data`` section of the configuration reaches the generator that it names."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from kerhrm.config.data import Data
from kerhrm.data import classification, colored_mnist, houses, mnist, regression
from kerhrm.data.dataset import Dataset, Split
from kerhrm.data.generators import generate

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
}  # fmt: skip


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Prepared raw data, as the workflow hands them over."""
    folder = tmp_path_factory.mktemp("raw")
    mnist.stand_in().save(folder / "mnist.npz")
    houses.stand_in().save(folder / "houses.npz")
    return {"colored_mnist": folder / "mnist.npz", "houses": folder / "houses.npz"}


def section(name: str, **changed: Any) -> dict[str, Any]:
    """The whole section, with the defaults of the schema, as a rule gets it."""
    model = TypeAdapter(Data).validate_python({"generator": name, **changed})
    return model.model_dump(mode="json")


def assert_equal(data: Dataset, expected: Dataset) -> None:
    for part in ("train", "validation", "test"):
        got, own = getattr(data, part), getattr(expected, part)
        for name in Split.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(got, name), getattr(own, name))
    assert data.source == expected.source
    assert list(data.test_environments) == list(expected.test_environments)
    assert list(data.seeds) == list(expected.seeds) == SEEDS
    assert data.task == expected.task


@pytest.mark.parametrize("name", SECTIONS)
def test_options_go_to_the_generator_by_name(name: str, raw: dict[str, Path]) -> None:
    """Defaults of the schema are those of the generators, too."""
    options = SECTIONS[name]
    data = generate(section(name, **options), SEEDS, raw.get(name))
    direct = {
        "classification": lambda: classification.generate(SEEDS, **options),
        "colored_mnist": lambda: colored_mnist.generate(SEEDS, mnist.stand_in(), **options),
        "houses": lambda: houses.generate(SEEDS, houses.stand_in(), **options),
        "regression": lambda: regression.generate(SEEDS, **options),
    }
    assert_equal(data, direct[name]())
    assert data.task == ("regression" if name in ("houses", "regression") else "classification")


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
def test_the_schema_knows_the_number_of_points(name: str, raw: dict[str, Path]) -> None:
    model = TypeAdapter(Data).validate_python({"generator": name, **SECTIONS[name]})
    data = generate(model.model_dump(mode="json"), SEEDS, raw.get(name))
    assert data.train.y.shape == (len(SEEDS), model.n_points)
