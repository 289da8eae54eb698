"""Units that were computed are not computed again, and come back with their bits."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kerhrm.progress import progress
from kerhrm_paper.runs.checkpoints import Checkpoint, Result


def compute(unit: int) -> Result:
    rng = np.random.default_rng(unit)
    return {"x": rng.standard_normal(5), "n": np.array(unit)}


def computed(checkpoint: Checkpoint, n_units: int) -> list[int]:
    """The units that are computed, and not taken from the checkpoint; all results are
    right."""
    calls = []
    for unit in range(n_units):

        def once(unit: int = unit) -> Result:
            calls.append(unit)
            return compute(unit)

        result = checkpoint.once(f"seed={unit},candidate=0", once)
        for name, array in compute(unit).items():
            assert_array_equal(result[name], array)
    return calls


def test_work_that_was_done_is_not_done_again(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    checkpoint = Checkpoint(folder, interval=0)
    assert computed(checkpoint, 3) == [0, 1, 2]
    more = Checkpoint(folder, interval=0)
    assert computed(more, 5) == [3, 4]
    again = Checkpoint(folder)
    assert computed(again, 5) == []
    again.remove()
    assert not folder.exists()


def test_nothing_is_written_before_the_interval_or_a_stop(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    checkpoint = Checkpoint(folder, interval=1e6)
    computed(checkpoint, 3)
    assert not folder.exists()
    checkpoint.save()
    checkpoint.save()
    assert len(list(folder.iterdir())) == 1
    assert computed(Checkpoint(folder), 4) == [3]


def test_a_long_job_says_how_far_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "kerhrm")
    now = 0.0

    def once(unit: int, seconds: float) -> None:
        def fit() -> Result:
            nonlocal now
            for _ in progress(range(2), "training steps"):
                now += seconds / 2
            return compute(unit)

        checkpoint.once(f"seed={unit}", fit)

    checkpoint = Checkpoint(tmp_path / "state", interval=0, clock=lambda: now)
    with checkpoint.shown():
        checkpoint.lines.beat()
        now = 60
        checkpoint.lines.beat()  # as the job's thread does
        checkpoint.expect(4)
        once(0, seconds=30)
        once(1, seconds=90)
    now += 1000
    checkpoint.lines.beat()
    assert caplog.messages == [
        "working; 60 s so far",
        "fits: 1 of 4, the last one seed=0; training steps: 1 of 2; 2 min so far; "
        "about 4 min left",
    ]
    caplog.clear()
    checkpoint = Checkpoint(tmp_path / "state", interval=0, clock=lambda: now)
    with checkpoint.shown():
        checkpoint.expect(4)
        once(0, seconds=0)
        once(1, seconds=0)
        once(2, seconds=50)  # the first that takes time
        once(3, seconds=40)
    assert caplog.messages == [
        "fits: 3 of 4, the last one seed=2; training steps: 1 of 2; 70 s so far; "
        "about 30 s left"
    ]


def test_each_seed_is_a_unit_of_its_number(tmp_path: Path) -> None:
    """Of the names that checkpoints of interrupted runs have."""
    folder = tmp_path / "state"
    checkpoint = Checkpoint(folder, interval=0)
    checkpoint.once("seed=1", lambda: compute(7))
    checkpoint.once("erm,seed=0", lambda: compute(8))
    more = Checkpoint(folder)
    numbers = [int(result["n"]) for result in more.each_seed(3, compute)]
    assert numbers == [0, 7, 2]
    of_learner = more.each_seed(2, compute, prefix="erm,")
    assert [int(result["n"]) for result in of_learner] == [8, 1]
