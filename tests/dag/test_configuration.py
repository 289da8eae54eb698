"""The configuration as it was used."""

from pathlib import Path

import pytest
import yaml
from dagtools import Checkout
from expected import EXPERIMENTS

from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Config

pytestmark = pytest.mark.dag


def test_resolved_configuration(results: Path, smoke: Checkout) -> None:
    content = yaml.safe_load((results / "config.yaml").read_text(encoding="utf-8"))
    config = Config.model_validate(content)
    assert config.plain() == content
    resolved = resolve({"preset": "smoke"}, smoke.folder / "config")
    assert config.plain() == resolved.plain()
    # It is whole: every field of every section is spelled out.
    kerhrm = content["experiments"]["classification"]["settings"]["r2=0.70"]["methods"]["kerhrm"]
    assert kerhrm["clustering"]["max_label_information"] == 0.5


def test_the_whole_dag_has_every_method_and_every_generator() -> None:
    """Else the smoke run would leave code of the workflow untried."""
    every = resolve({}, Path(__file__).parents[2] / "config").experiments
    paper = {name: e for name, e in every.items() if e.in_all}
    for what in (
        lambda setting: set(setting.run),
        lambda setting: {setting.data.generator},
    ):
        tried, known = (
            set.union(*(what(s) for e in experiments.values() for s in e.settings.values()))
            for experiments in (EXPERIMENTS, paper)
        )
        assert tried == known
    # The small convolutional network is the smoke preset's own: no table of the paper.
    assert EXPERIMENTS.keys() == paper.keys() | {"cnn"}
    assert {name for name, e in EXPERIMENTS.items() if e.network.module} == {"cnn"}
    for name, experiment in EXPERIMENTS.items():
        assert len(experiment.seeds.names) > 1
        if name in paper:
            assert (experiment.tuning is None) == (paper[name].tuning is None)
