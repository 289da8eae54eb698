"""Fits with a time limit: what ends them, and what is left of each."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from refusals import refusal

from kerhrm import NetworkOptions
from kerhrm.features.options import FeatureOptions
from kerhrm.methods.options import ERMOptions
from kerhrm_paper.runs import fit_process as program
from kerhrm_paper.runs.arrays import load_records, save_arrays
from kerhrm_paper.runs.checkpoints import Checkpoint
from kerhrm_paper.runs.limited import Answer, FitProcess, failed, limit_in_words
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


def interrupted(inputs, options):
    raise KeyboardInterrupt


def ugly(inputs, options):
    raise ValueError("a\\udcff\\x1b[31mb")  # neither is text of a UTF-8 file


def asking(inputs, options):
    input("Which one? ")


def endless(inputs, options):
    while True:
        try:
            torch.ones(2, 2).sum()
        except:
            pass
"""
REASONS = {
    "good": "",
    "raising": "line 14: RuntimeError: no luck with these data",
    "leaving": "SystemExit: 0",
    "wrong_shape": "output model must be a tensor of shape",
    "nothing": "train must return a Fitted; got NoneType",
    "not_finite": "",
    "gone": "the process of the fit ended with status 7",
    "interrupted": "KeyboardInterrupt",
    "ugly": "ValueError: a\\udcff\\x1b[31mb",
    "asking": "EOFError",
    "endless": "timed out after 2 seconds",
}


#: what methods do to the process that trains them, and a fit after each
WAYS = """
import multiprocessing
import os
import random
import signal
import time

import numpy as np
import torch

from kerhrm.methods.inputs import Fitted


def constant(value):
    return Fitted(networks={"model": lambda x: torch.full((len(x),), float(value))})


def forking(inputs, options):
    is_copy = os.fork() == 0
    if is_copy:
        time.sleep(0.2)
    return constant(2.0 if is_copy else 1.0)


def slow(inputs, options):
    time.sleep(1.0)
    return constant(3.0)


def leaving(inputs, options):
    os.chdir("/")
    return constant(4.0)


def raising(inputs, options):
    raise RuntimeError("no luck")


def drawing(inputs, options):
    return constant(random.random() + np.random.rand() + float(torch.rand(())))


def killed(inputs, options):
    os.kill(os.getpid(), signal.SIGKILL)


def crashing(inputs, options):
    os.kill(os.getpid(), signal.SIGSEGV)


def several(inputs, options):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(time.sleep, [600, 600])


def too_large(inputs, options):
    from kerhrm.memory import TooLittleMemory

    raise TooLittleMemory("a step needs at least 9.0 GB of memory", "use fewer points")
"""


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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
    assert caplog.text.encode("utf-8")  # a log file can hold it
    # no process outlives the job
    children = psutil.Process().children()
    assert set(children) <= set(of_other_tests)


def test_the_log_says_what_is_not_tried_and_repeats_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A start after an interruption waits for no fit again that took too long."""
    ours = regression(tmp_path)
    options = {"options": {}, "entries": {}, "timeout": 1.0}
    learner = LEARNER | options | {"name": "slow"}
    params = SimpleNamespace(
        data=ours.data.params(), learners=[learner], device="cpu", threads=1
    )
    reasons = iter(["timed out after 1 minute"])
    monkeypatch.setattr(
        FitProcess, "fit", lambda *_: Answer(None, next(reasons, "tried again"))
    )
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    output = str(tmp_path / "slow.npz")
    expected = ["timed out after 1 minute", "not tried, as replicate 0 timed out"]
    for _ in range(2):
        with checkpoint.shown():
            train_learners(ours.files, params, [output], checkpoint)
            assert str(checkpoint.fits) == "fits: 1 of 1, the last one slow,seed=0"
        found = load_records(Predictions, output)
        assert [record.reason for record in found] == expected
        checkpoint.save()
        checkpoint = Checkpoint(tmp_path / "checkpoint")
    late = "data/slow, replicate 0: timed out after 1 minute"
    assert f"{late}; its other replicates (1) are not tried" in caplog.messages


def test_a_traceback_is_shown_once(
    process: FitProcess, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        assert fitted(process, "raising").arrays is None
    first, second = caplog.messages
    assert "Traceback" in first
    assert second == "raising, replicate 0: line 36: RuntimeError: no luck"


def test_a_failure_of_a_method_that_infers_is_one_environment(tmp_path: Path) -> None:
    ours = regression(tmp_path)
    learner = LEARNER | {"infers": True}
    predictions = failed(ours, 0, learner, "why")
    assert predictions.memberships is not None
    n_known = SIZES["train"] + SIZES["validation"]
    assert predictions.memberships.shape == (n_known, 1)
    assert limit_in_words(10) == "10 minutes"
    assert limit_in_words(1) == "1 minute"
    assert limit_in_words(0.05) == "3 seconds"


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FitProcess]:
    """Of a job in ``tmp_path``, whose files have relative names."""
    (tmp_path / "ways_for_tests.py").write_text(WAYS)
    before = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(tmp_path), before])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("OF_TEST", str(os.getpid()))
    monkeypatch.chdir(tmp_path)
    ours = regression(Path())
    params = SimpleNamespace(data=ours.data.params(), device="cpu", threads=1)
    process = FitProcess(ours.files, params, tmp_path)
    yield process
    process.end()


def fitted(process: FitProcess, function: str, seconds: float = 300.0) -> Answer:
    learner = LEARNER | {"name": function, "timeout": seconds / 60, "options": {}}
    learner["entries"] = {
        "train": f"ways_for_tests:{function}",
        "options": "kerhrm.methods.options:ERMOptions",
    }
    return process.fit(learner, 0)


def value_of(answer: Answer) -> float:
    assert answer.arrays is not None, answer.reason
    return float(answer.arrays["test"][0, 0])


def test_a_copy_of_the_process_answers_nothing(process: FitProcess) -> None:
    """Its predictions would be those of the next fit."""
    assert value_of(fitted(process, "forking")) == 1.0
    assert value_of(fitted(process, "slow")) == 3.0


def test_a_method_may_change_its_folder(process: FitProcess) -> None:
    for _ in range(2):
        assert value_of(fitted(process, "leaving")) == 4.0


def test_draws_without_a_seed_repeat(process: FitProcess) -> None:
    """Whatever ran before; in a process of its own, too."""
    first = value_of(fitted(process, "drawing"))
    assert value_of(fitted(process, "drawing")) == first
    process.end()
    assert value_of(fitted(process, "drawing")) == first


def test_processes_of_a_method_end_with_its_time(process: FitProcess) -> None:
    """They hold the pipe to the job, which would wait for them."""
    fitted(process, "slow")  # PyTorch is imported, so that the time is the method's
    started = time.monotonic()
    answer = fitted(process, "several", seconds=2.0)
    assert answer.reason == "timed out after 2 seconds"
    assert time.monotonic() - started < 300
    started_by_it = [
        other
        for other in psutil.process_iter(["cmdline", "environ"])
        if program.__name__ in (other.info["cmdline"] or [])
        and str(os.getpid()) in (other.info["environ"] or {}).get("OF_TEST", "")
    ]
    # a busy machine takes a while to end what was killed
    _, alive = psutil.wait_procs(started_by_it, timeout=60)
    assert alive == []


def test_a_kill_from_outside_is_no_result(process: FitProcess) -> None:
    """As by a system that is short of memory: another start of the job may succeed."""
    for _ in range(2):
        with refusal("the process of a fit was killed by signal 9; free memory"):
            fitted(process, "killed")
    assert value_of(fitted(process, "slow")) == 3.0


def test_too_little_memory_is_no_result(process: FitProcess) -> None:
    """Another machine may have enough."""
    with refusal("a step needs at least 9.0 GB of memory; use fewer points"):
        fitted(process, "too_large")
    assert value_of(fitted(process, "slow")) == 3.0


def test_a_crash_of_the_method_is_a_result(process: FitProcess) -> None:
    answer = fitted(process, "crashing")
    assert answer.reason == "the process of the fit ended with status -11"


def test_a_limit_of_years_is_one(process: FitProcess) -> None:
    """Longer than a system call can wait."""
    assert value_of(fitted(process, "slow", seconds=1e12)) == 3.0
