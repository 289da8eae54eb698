"""A small configuration of one's own, written to files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from kerhrm.paper.config import Config

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
        "tuning": {"settings": ["a"], "n_seeds": 2},
        "settings": {
            "a": {},
            "b": {"options": {"r2": 0.8}, "network": {"widths": [4]}},
        },
    },
    "learners.yaml": {
        "erm": {
            "method": "erm",
            "titles": {"model": "ERM"},
            "options": {"evaluate_every": 5},
            "grid": {"learning_rate": [0.1, 0.2], "steps": [10, 20]},
            "at": {"made/b": {"options": {"evaluate_every": 7}}},
        },
        "erm_short": {"like": "erm", "mark": "steps=1", "options": {"steps": 1}},
        "kerhrm": {
            "method": "kerhrm",
            "titles": {"network": "KerHRM", "linear": "linear"},
            "steps": True,
            "options": {"k": 5},
        },
    },
    "selected/made.yaml": {
        "erm": {"pooled validation": {"steps": 20, "learning_rate": 0.1}}
    },
    "tables/one.yaml": {
        "title": "One",
        "learners": ["erm", "erm_short"],
        "settings": {
            "made/a": {},
            "made/b": {"label": "B", "learners": ["erm", "kerhrm"]},
        },
    },
    "tables/other.yaml": {
        "title": "Other",
        "in_all": False,
        "choices": ["erm"],
        "learners": ["erm", "kerhrm"],
        "outputs": {"kerhrm*": ["linear"]},
        "settings": ["made/a"],
    },
    "choices.yaml": {
        "start": {
            "title": "Starts",
            "paper": [{"words": "w", "where": "section 1"}],
            "authors_code": "One.",
            "default": "Ten.",
            "because": "Optima.",
            "alternatives": [
                {
                    "to": "one",
                    "where": ["made"],
                    "mark": "n_init=1",
                    "set": {"n_init": 1},
                },
                {
                    "to": "fewer",
                    "where": ["made"],
                    "mark": "n_test=20",
                    "data": {"n_test": 20},
                },
                {
                    "to": "wider",
                    "where": ["made"],
                    "network": {"widths": [16]},
                    "mark": "wide",
                },
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
        path.write_text(
            content
            if isinstance(content, str)
            else yaml.safe_dump(content, sort_keys=False)
        )
    return folder
