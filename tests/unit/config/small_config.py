"""A small configuration of one's own, written to files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import Config, load_config

A = "made+r2=0.7"  #: data of both tables
B = "made+r2=0.8"  #: data of the first table, on which `at` changes options
ERM = {"method": "erm", "titles": {"model": "ERM"}}  #: another learner, without more
TREE: dict[str, Any] = {
    "config.yaml": {"preset": "paper"},
    "presets/paper.yaml": {},
    "presets/small.yaml": {"data": {"made": {"seeds": 2, "options": {"n_test": 10}}}},
    "presets/tuning.yaml": {"search": True},
    "data/made.yaml": {
        "title": "Made",
        "generator": "classification",
        "seeds": 3,
        "options": {"n_train_per_environment": 40},
        "network": {"widths": [8]},
        "features": {"k": 5},
        "at": {B: {"network": {"widths": [4]}}},
        "tuning": {"data": [A], "seeds": 2},
    },
    "learners.yaml": {
        "erm": {
            "method": "erm",
            "titles": {"model": "ERM"},
            "options": {"evaluate_every": 5},
            "grid": {"learning_rate": [0.1, 0.2], "steps": [10, 20]},
            "at": {B: {"options": {"evaluate_every": 7}}},
        },
        "kerhrm": {
            "method": "kerhrm",
            "titles": {"network": "KerHRM", "linear": "linear"},
            "checkpoint_iterations": True,
            "options": {"k": 5},
        },
    },
    "selected/made.yaml": {
        "erm": {
            "pooled": {"steps": 20, "learning_rate": 0.1},
            "oracle": {"steps": 10, "learning_rate": 0.2},
        }
    },
    "tables/one.yaml": {
        "title": "One",
        "learners": ["erm", "erm+steps=1"],
        "data": {A: {}, B: {"label": "B", "learners": ["erm", "kerhrm"]}},
    },
    "tables/other.yaml": {
        "title": "Other",
        "in_all": False,
        "choices": ["erm"],
        "learners": ["erm", "kerhrm"],
        "outputs": {"kerhrm": ["linear"]},
        "data": [A],
    },
    "choices.yaml": {
        "start": {
            "title": "Starts",
            "paper": [{"words": "w", "where": "section 1"}],
            "authors_code": "One.",
            "default": "Ten.",
            "because": "Optima.",
            "alternatives": [
                {"to": "one", "where": ["made"], "learner": "kerhrm+n_init=1"},
                {"to": "fewer", "data": "made+n_test=20"},
                {"to": "wider", "data": "made+network.widths=16"},
            ],
        }
    },
}

Load = Callable[..., Config]


def write(folder: Path, tree: dict[str, Any]) -> Path:
    """Files of a configuration below ``folder/config``."""
    for name, content in tree.items():
        path = folder / "config" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content
        if not isinstance(content, str):
            text = yaml.safe_dump(content, sort_keys=False)
        path.write_text(text)
    return folder


def options(config: Config, learner: str, data: str = A) -> dict[str, Any]:
    """Options of a learner that are in force."""
    resolved = config.learner(data, learner)
    return resolved.options.model_dump(mode="json")


def refused(load: Load, content: dict[str, Any]) -> KerhrmError:
    """The error, in one line, that a further file makes."""
    load()  # writes the small configuration
    Path("mine.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(KerhrmError) as error:
        load_config({}, ["mine.yaml"], Path())
    message = str(error.value)
    assert len(message.splitlines()) == 1
    return error.value
