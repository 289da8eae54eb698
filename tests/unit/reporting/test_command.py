"""The command that makes a table again does so from the checkout alone."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.strict_yaml import read_overrides
from kerhrm_paper.reporting.command import Command, command_of
from kerhrm_paper.reporting.explain import explain
from kerhrm_paper.reporting.options import RunOptions
from kerhrm_paper.reporting.run import Run

ROOT = Path(__file__).parents[3]
DATA = "classification+r2=0.7"
Make = Callable[..., Path]

OWN_LEARNER = """
tables:
  mine:
    title: "Mine \\U0001F600 \\u2028"
    about: long
    data: [DATA]
    learners: [erm, lin]
  other: {title: Other, data: [DATA], learners: [unused]}
learners:
  lin: {method: erm, titles: {model: My ERM}, options: {steps: 5}, tuned_as: erm}
  unused: {method: erm, titles: {model: Unused}, options: {steps: 6}}
"""
TUNED_AS_OWN = """
tables:
  mine: {title: Mine, data: [DATA], learners: [erm, lin]}
learners:
  lin: {method: erm, titles: {model: My ERM}, tuned_as: searched}
  searched: {method: erm, titles: {model: S}, grid: {steps: [5, 6]}}
selected:
  classification: {searched: {pooled: {steps: 6}}}
"""
OWN_DATA = """
tables:
  mine:
    title: Mine
    data: {near+r2=0.7: {}, far+r2=0.7: {learners: [lin]}, DATA: {}}
    learners: [erm]
data:
  near:
    title: Near
    generator: classification
    options: {n_test: 20}
    seeds: {near: 2, near/erm: 3, near/unused: 4}
    select_on: source
  far: {title: Far, generator: classification, seeds: 1, select_on: classification}
  source: {title: Source, generator: classification, seeds: 1}
  gone: {title: Gone, generator: classification, seeds: 1}
learners:
  lin:
    method: erm
    titles: {model: My ERM}
    at: {gone: {options: {steps: 9}}, far: {options: {steps: 8}}}
  unused: {method: erm, titles: {model: Unused}, options: {steps: 6}}
selected:
  source: {erm: {pooled: {learning_rate: 0.25}}}
labels: {near: near, far: far, gone: gone}
---
tables: {mine: {data: {DATA: null}}}
"""
SELECTED_ON_OWN = """
tables:
  mine: {title: Mine, data: [DATA], learners: [erm+select_on=source]}
data:
  source: {title: Source, generator: classification, seeds: 1}
selected:
  source: {erm: {pooled: {learning_rate: 0.25}}}
"""
CHANGED_TABLE = """
tables:
  table1: {learners: [erm, lin]}
learners:
  lin: {method: erm, titles: {model: My ERM}, options: {steps: 5}}
"""
LEFT_OUT = """
tables:
  choices_classification: null
  mine: {title: Mine, data: [DATA], learners: [erm, kerhrm], choices: [kerhrm]}
"""


def of_run(folder: Path, text: str, table: str, cell: str) -> tuple[Config, Command]:
    """A run's configuration of a user's files, and the command for a cell of it."""
    files = []
    for number, content in enumerate(text.split("---")):
        file = folder / f"{number}.yaml"
        file.write_text(content.replace("DATA", DATA))
        files.append(file)
    config = load_config({"preset": "smoke"}, files, root=ROOT)
    run = folder / "smoke"
    run.mkdir()
    noted = yaml.safe_dump(config.written, sort_keys=False)
    (run / "config.yaml").write_text(noted)
    data, _, learner = cell.partition("/")
    options = RunOptions(Run(run), ROOT)
    return config, command_of(options, table, data, learner)


def given(command: Command) -> dict[str, Any]:
    """What a command gives behind ``--config``, without the run's place."""
    words = shlex.split(command.text)
    overrides = read_overrides(words[words.index("--config") + 1 :])
    del overrides["results"]
    return overrides


@pytest.mark.parametrize(
    ("text", "table", "cell"),
    [
        (OWN_LEARNER, "mine", f"{DATA}/erm"),
        (OWN_LEARNER, "mine", f"{DATA}/lin"),
        (TUNED_AS_OWN, "mine", f"{DATA}/erm"),
        (OWN_DATA, "mine", "near+r2=0.7/erm"),
        (OWN_DATA, "mine", "far+r2=0.7/lin"),
        (OWN_DATA, "mine", "far+r2=0.7/"),
        (SELECTED_ON_OWN, "mine", f"{DATA}/erm+select_on=source"),
        (CHANGED_TABLE, "table1", f"{DATA}/erm"),
        (LEFT_OUT, "mine", f"{DATA}/erm"),
    ],
)
def test_the_checkout_makes_the_table_again(
    tmp_path: Path, text: str, table: str, cell: str
) -> None:
    config, command = of_run(tmp_path, text, table, cell)
    assert not command.refused
    again = load_config(given(command), root=ROOT)
    expected = config.tables[table]
    made = again.tables[table]
    assert made == expected
    for row in expected.rows:
        assert again.data(row.data) == config.data(row.data)
        learner = config.learner(row.data, row.learner)
        assert again.learner(row.data, row.learner) == learner


def test_what_the_table_does_not_need_is_not_given(tmp_path: Path) -> None:
    _, command = of_run(tmp_path, OWN_DATA, "mine", "near+r2=0.7/erm")
    changes = given(command)
    assert {*changes["data"]} == {"near", "far", "source"}
    assert {*changes["learners"]} == {"lin"}
    assert changes["data"]["near"]["seeds"] == {"near": 2, "near/erm": 3}
    assert {*changes["learners"]["lin"]["at"]} == {"far"}
    assert changes["labels"] == {"near": "near", "far": "far"}
    assert {*changes["tables"]["mine"]} == {"title", "data", "learners"}


def test_texts_arrive_as_they_were(tmp_path: Path) -> None:
    """JSON writes one character beyond U+FFFF as two codes, which YAML reads as two."""
    _, command = of_run(tmp_path, OWN_LEARNER, "mine", f"{DATA}/erm")
    assert command.text.isascii()
    assert given(command)["tables"]["mine"]["title"] == "Mine \U0001f600 \u2028"


def test_a_table_that_a_later_run_does_not_know_is_refused(
    make_run: Make, scores: pd.DataFrame
) -> None:
    """Its declaration is nowhere."""
    folder = make_run(scores, "smoke", table="mine")
    config = load_config({"preset": "smoke"}, root=ROOT)
    noted = yaml.safe_dump(config.written, sort_keys=False)
    (folder / "config.yaml").write_text(noted)
    cell = ("mine", "r2=0.7", "ERM", "test_acc")
    explanation = explain(Run(folder), *cell, root=ROOT)
    assert explanation["refused"] == (
        "no table is called 'mine'; give the file that declares it"
    )
    assert json.dumps(explanation)
