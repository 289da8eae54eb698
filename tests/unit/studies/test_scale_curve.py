"""The study of methods over the number of images."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from refusals import refusal

from kerhrm.methods.inputs import Fitted
from kerhrm.methods.registry import METHODS
from kerhrm_paper.data.draws import Split
from kerhrm_paper.studies import apart, scale_curve
from kerhrm_paper.studies.registry import STUDIES
from tests.unit.reporting.legible import assert_legible

ROOT = Path(__file__).parents[3]
SELECTED = ROOT / STUDIES["scale_curve"].files_read["selected"]


def test_every_method_has_the_options_that_its_own_criterion_chose() -> None:
    chosen = scale_curve.chosen(str(SELECTED))
    table = pd.read_csv(SELECTED.with_suffix(".csv")).set_index("learner")
    for method in scale_curve.SHOWN:
        of_method = table[table.index.str.startswith(f"{method}+")]
        best = of_method["worst_inferred"].idxmax()
        assert json.loads(of_method.loc[best, "options"]) == chosen[method]
        METHODS[method].options(**chosen[method])  # refuses what it does not know


def test_a_method_for_which_nothing_was_selected_is_refused(tmp_path: Path) -> None:
    """The library's defaults would be in its place, and nobody would know."""
    file = tmp_path / "selected.yaml"
    text = SELECTED.read_text().replace("jtt:", "other:")
    file.write_text(text)
    with refusal(r"worst_inferred has selected no options for jtt; snakemake select"):
        scale_curve.chosen(str(file))


def test_the_code_of_every_method_is_declared() -> None:
    loaded = []
    for name in scale_curve.SHOWN:
        train = METHODS[name].train
        loaded.append(train.__module__)
    assert list(STUDIES["scale_curve"].methods) == loaded


def test_memory_is_without_that_of_the_process_that_started_the_fit() -> None:
    """In which a test has had half of a gigabyte."""
    held = np.ones(64_000_000)
    assert apart.largest_memory() > held.nbytes
    words = "from kerhrm_paper.studies import apart; print(apart.largest_memory())"
    command = [sys.executable, "-c", words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert 5e6 < int(done.stdout) < held.nbytes


def test_a_fit_that_fails_says_where(caplog: pytest.LogCaptureFixture) -> None:
    with refusal(r"the fit of \{\} ended with status 1; see"):
        apart.measured("kerhrm_paper.studies.no_module", {})
    assert "No module named 'kerhrm_paper.studies.no_module'" in caplog.text


def test_seconds_that_grow_like_a_power_have_its_exponent() -> None:
    n = np.array([1000, 5000, 10_000, 20_000, 50_000])
    rows = pd.DataFrame(
        {
            "method": "eiil",
            "n": n,
            "seed": 0,
            "test_acc": 0.5,
            "worst_acc": 0.4,
            # below GROWS another law, which must not count
            "cpu_seconds": np.where(n < scale_curve.GROWS, 1e9, 3e-6 * n**1.5),
            "memory_gb": 1e-5 * n,
        }
    )
    tables = {scale_curve.CURVE: rows}
    tables |= scale_curve.summaries(tables)
    growth = tables[scale_curve.GROWTH].set_index("method")
    assert growth.loc["eiil", "seconds_exponent"] == pytest.approx(1.5)
    assert growth.loc["eiil", "memory_exponent"] == pytest.approx(1)
    assert growth.drop("eiil").isna().all(axis=None)
    (figure,) = scale_curve.figures(tables).values()
    assert_legible(figure)
    texts = {text.get_text() for axis in figure.axes for text in axis.texts}
    exponents = {"EIIL: $n^{1.50}$", "EIIL: $n^{1.00}$"}
    assert texts == exponents | {"growth from 5000 on:"}


def test_accuracies_are_of_the_papers_environment_and_of_the_worst() -> None:
    outputs = torch.tensor([1.0, 1.0, -1.0, 1.0, -1.0, -1.0])
    test = Split(
        x=np.zeros((1, 6, 1), dtype="float32"),
        y=np.array([[1, 1, -1, -1, -1, 1]], dtype="float32"),
        environment=np.array([[0, 0, 1, 1, 2, 2]], dtype="int8"),
    )
    fitted = Fitted(networks={"model": lambda x: outputs})
    found = scale_curve.accuracies(METHODS["afr"], fitted, test)
    assert found == {"test_acc": 1.0, "worst_acc": 0.5}
