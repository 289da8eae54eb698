"""Fits with a time limit: what ends them, and what is left of each."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from kerhrm import NetworkOptions
from kerhrm.features.options import FeatureOptions
from kerhrm.methods.options import ERMOptions
from kerhrm_paper.runs.arrays import load_records, save_arrays
from kerhrm_paper.runs.checkpoints import Checkpoint
from kerhrm_paper.runs.limited import failed, in_words
from kerhrm_paper.runs.predictions import Predictions
from kerhrm_paper.runs.replicates import Replicates
from kerhrm_paper.runs.replication import Replication, Seeds
from kerhrm_paper.runs.training import train_learners

SIZES = {"train": 12, "validation": 7, "test_inputs": 5}
LEARNER = {"outputs": ["model"], "infers": False, "iterates": False, "n_seeds": 2}
FITS = """
import os
import torch
from kerhrm.methods.inputs import Fitted
from kerhrm.methods.erm import train_erm


def good(inputs, options):
    print("noise that is no answer")
    return train_erm(inputs, options)


def raising(inputs, options):
    raise RuntimeError("no luck\\nwith these data")


def leaving(inputs, options):
    raise SystemExit(0)


def wrong_shape(inputs, options):
    return Fitted(networks={"model": lambda x: x})


def nothing(inputs, options):
    return None


def not_finite(inputs, options):
    return Fitted(networks={"model": lambda x: torch.full((len(x),), float("nan"))})


def gone(inputs, options):
    os._exit(7)


def endless(inputs, options):
    while True:
        try:
            torch.ones(2, 2).sum()
        except:
            pass
"""
REASONS = {
    "good": "",
    "raising": "RuntimeError: no luck with these data",
    "leaving": "SystemExit: 0",
    "wrong_shape": "output model must be a tensor of shape",
    "nothing": "train must return a Fitted; got NoneType",
    "not_finite": "",
    "gone": "the process of the fit ended with status 7",
    "endless": "timed out after 2 seconds",
}


def regression(folder: Path) -> Replicates:
    """Two replicates of a small regression, as a job reads them."""
    random = np.random.default_rng(0)
    files = {}
    for name, n in SIZES.items():
        draws = random.standard_normal((2, n, 3))
        x = draws.astype(np.float32)
        y = x[..., 0]
        files[name] = str(folder / f"{name}.npz")
        save_arrays(files[name], {"x": x, "y": y})
    data = Replication(
        name="data",
        task="regression",
        network=NetworkOptions(widths=[6]),
        features=FeatureOptions(k=4),
        seeds=Seeds.alike(2, 0),
    )
    return Replicates(files, data, torch.device("cpu"))


def test_each_fit_leaves_predictions_or_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of them ends the job, and the learners after them are trained."""
    (tmp_path / "fits_for_tests.py").write_text(FITS)
    monkeypatch.syspath_prepend(tmp_path)
    before = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(tmp_path), before])
    monkeypatch.setenv("PYTHONPATH", path)
    ours = regression(tmp_path)
    of_other_tests = psutil.Process().children()
    learners: list[dict[str, Any]] = []
    entries = {"options": "kerhrm.methods.options:ERMOptions"}
    options = ERMOptions(steps=3).model_dump(mode="json")
    for name in [*REASONS, "unlimited"]:
        function = "good" if name == "unlimited" else name
        learner = LEARNER | {"name": name, "options": options}
        learner["entries"] = entries | {"train": f"fits_for_tests:{function}"}
        learner["timeout"] = 2 / 60 if name == "endless" else 5.0
        learners.append(learner)
    del learners[-1]["timeout"]
    params = SimpleNamespace(
        data=ours.data.params(),
        learners=learners,
        device="cpu",
        threads=1,
    )
    names = [learner["name"] for learner in learners]
    outputs = [str(tmp_path / f"{name}.npz") for name in names]
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    train_learners(ours.files, params, outputs, checkpoint)
    found = {}
    for name, output in zip(names, outputs, strict=True):
        found[name] = load_records(Predictions, output)
    for name, words in REASONS.items():
        first, second = found[name]
        assert words in first.reason
        assert (words == "") == (first.reason == "")
        assert first.test.shape == (1, SIZES["test_inputs"])
        is_good = name == "good"
        assert np.isfinite(first.test).all() == is_good
        assert np.isfinite(second.train).all() == is_good
    assert found["endless"][1].reason == "not tried, as replicate 0 timed out"
    assert found["gone"][1].reason == REASONS["gone"]
    # the process computes what the job itself does, bit by bit
    pairs = zip(found["good"], found["unlimited"], strict=True)
    for limited, unlimited in pairs:
        for part in ("train", "validation", "test"):
            ours_of_part = getattr(limited, part)
            assert np.array_equal(ours_of_part, getattr(unlimited, part))
        assert limited.failed is None
    # no process outlives the job
    children = psutil.Process().children()
    assert set(children) <= set(of_other_tests)


def test_a_failure_of_a_method_that_infers_is_one_environment(tmp_path: Path) -> None:
    ours = regression(tmp_path)
    learner = LEARNER | {"infers": True}
    predictions = failed(ours, 0, learner, "why")
    assert predictions.memberships is not None
    n_known = SIZES["train"] + SIZES["validation"]
    assert predictions.memberships.shape == (n_known, 1)
    assert in_words(10) == "10 minutes"
    assert in_words(1) == "1 minute"
    assert in_words(0.05) == "3 seconds"
