"""Who watches a long loop sees how far it is; who does not sees and pays nothing."""

import errno
import io
import os
import pickle
import pty
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal
from sklearn.base import clone
from sklearn.datasets import make_regression

from kerhrm import ERM, KerHRMRegressor
from kerhrm.progress import (
    Lines,
    counting,
    duration,
    progress,
    shown_if,
    watched,
)

SMALL = {
    "k": 3,
    "n_init": 2,
    "n_iterations": 2,
    "network": (16,),
    "predictor": "network",
    "if_not_detected": "fit",
    "random_state": 0,
}
SCRIPT = """
import time
from kerhrm.progress import progress, shown_if
with shown_if({verbose}):
    for _ in progress(range(4), "iterations"):
        for _ in progress(range(3), "clusterings"):
            for _ in progress(range(2), "too deep"):
                time.sleep(0.15)
"""


class Time:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def watcher(clock: Time, lines: list[str]) -> Lines:
    return Lines(lines.append, clock)


def on_a_terminal(script: str) -> str:
    """What a script writes to standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", script], stderr=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        written += block
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


def test_a_terminal_has_bars_of_two_loops() -> None:
    shown = on_a_terminal(SCRIPT.format(verbose=1))
    assert "iterations: " in shown
    assert "| 4/4 [" in shown
    assert "clusterings: " in shown
    assert "too deep" not in shown


def test_nothing_is_shown_unless_it_is_asked_for() -> None:
    assert on_a_terminal(SCRIPT.format(verbose=0)) == ""


def test_tqdm_is_imported_by_nobody_who_watches_nothing() -> None:
    script = "import sys, kerhrm.cli, kerhrm.progress; sys.exit('tqdm' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_one_line_a_minute(watcher: Lines, clock: Time, lines: list[str]) -> None:
    with watched(watcher):
        for _ in progress(range(600), "training steps"):
            clock.now += 0.5
    assert len(lines) == 5
    assert lines[0] == "training steps: 120 of 600; 60 s so far; about 4 min left"
    assert lines[4] == "training steps: 600 of 600; 5 min so far; about 0 s left"


def test_a_loop_of_less_than_a_minute_writes_nothing(
    watcher: Lines, clock: Time, lines: list[str]
) -> None:
    with watched(watcher):
        for _ in progress(range(59), "training steps"):
            clock.now += 1
    assert not lines


def test_the_outer_two_loops_and_what_is_left(
    watcher: Lines, clock: Time, lines: list[str]
) -> None:
    with watched(watcher):
        for _ in progress(range(2), "iterations"):
            for _ in progress(iter("abc"), "clusterings", 3):
                for _ in progress(range(2), "too deep"):
                    clock.now += 15
    assert lines == [
        "iterations: 0 of 2; clusterings: 2 of 3; 60 s so far; "
        "about 30 s of these clusterings left",
        "iterations: 1 of 2; clusterings: 1 of 3; 2 min so far; about 60 s left",
        "iterations: 1 of 2; clusterings: 3 of 3; 3 min so far; about 0 s left",
    ]


def test_an_item_that_takes_longer_adds_nothing_to_what_is_left(
    watcher: Lines, clock: Time, lines: list[str]
) -> None:
    with watched(watcher):
        for item in progress(range(3), "fits"):
            clock.now += 10 if item == 0 else 60
            watcher.beat()
    assert lines[0] == "fits: 1 of 3; 70 s so far; about 10 s left"


def test_a_thread_writes_for_a_step_that_is_long(
    watcher: Lines, clock: Time, lines: list[str]
) -> None:
    watcher.beat()
    with watched(watcher), counting("products") as count:
        count()
        clock.now = 61
        beat = threading.Thread(target=watcher.beat)
        beat.start()
        beat.join()
    clock.now = 200
    watcher.beat()  # nothing runs
    assert lines == ["products: 1; 61 s so far"]


def test_loops_that_end_early_are_shown_no_more(watcher: Lines) -> None:
    with watched(watcher):
        for item in progress(range(5), "training steps"):
            if item == 2:
                break
        assert not watcher.loops
        with pytest.raises(TypeError):
            list(map(len, progress(range(5), "training steps")))
    assert not watcher.loops


def test_without_an_outer_number_the_inner_loop_says_what_is_left(
    watcher: Lines, clock: Time, lines: list[str]
) -> None:
    with watched(watcher):
        for _ in progress(iter("a"), "tables"):
            for _ in progress(range(3), "iterations"):
                clock.now += 60
    assert lines[0] == (
        "tables; iterations: 1 of 3; 60 s so far; about 2 min of these iterations left"
    )


def test_without_a_watcher_items_come_as_they_are() -> None:
    items = range(3)
    assert progress(items, "iterations") is items
    with shown_if(0):
        assert progress(items, "iterations") is items


def test_another_thread_has_no_watcher(watcher: Lines) -> None:
    items = range(3)
    same = []
    with watched(watcher):
        thread = threading.Thread(
            target=lambda: same.append(progress(items, "iterations") is items)
        )
        thread.start()
        thread.join()
    assert same == [True]


def test_who_watches_first_watches_on(watcher: Lines) -> None:
    with watched(watcher), shown_if(1):
        loop = iter(progress(range(3), "iterations"))
        next(loop)
        assert [loop.what for loop in watcher.loops] == ["iterations"]


@pytest.mark.parametrize("verbose", [-1, 1.5, "yes", None, True])
def test_what_is_no_verbosity_is_refused(verbose: object) -> None:
    with (
        refusal("verbose must be a whole number"),
        shown_if(verbose),
    ):
        pass


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (99, "99 s"), (100, "2 min"), (5900, "98 min"), (9000, "2.5 h")],
)
def test_times_have_their_largest_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_full_disk_ends_no_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "closed").open("w") as stream:
        pass
    monkeypatch.setattr("kerhrm.progress.LINE_SECONDS", 0.0)

    class Closed:
        write = stream.write
        flush = stream.flush

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stderr", Closed())
    with shown_if(1):
        assert [*progress(range(3), "iterations")] == [0, 1, 2]


class NoTerminal:
    """What notebooks and loggers put in place of standard error."""

    def __init__(self) -> None:
        self.written = ""

    def write(self, text: str) -> None:
        self.written += text


class Gone(io.StringIO):
    """A terminal that takes no more."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [NoTerminal(), Gone(), closed()])
def test_any_standard_error_ends_no_fit(
    monkeypatch: pytest.MonkeyPatch, stream: object
) -> None:
    monkeypatch.setattr("kerhrm.progress.LINE_SECONDS", 0.0)
    monkeypatch.setattr("kerhrm.progress.BAR_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    with shown_if(1):
        assert [*progress(range(3), "iterations")] == [0, 1, 2]
        assert [*progress(range(2), "steps")] == [0, 1]
    if isinstance(stream, NoTerminal):
        assert "iterations: 3 of 3" in stream.written


# --- estimators -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_regression(120, 3, noise=5.0, random_state=0)
    return X, y


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of the loops that are shown."""
    names: list[str] = []
    begin: Callable[[Lines, object], None] = Lines._begin

    def kept(watcher: Lines, loop: object) -> None:
        names.append(loop.what)  # type: ignore[attr-defined]
        begin(watcher, loop)

    monkeypatch.setattr(Lines, "_begin", kept)
    return names


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_a_fit_is_the_same_bit_for_bit_when_it_is_shown(
    table: tuple[np.ndarray, np.ndarray],
    seen: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    X, y = table
    silent = KerHRMRegressor(**SMALL).fit(X, y)
    described = silent.describe(stability=1)
    assert not seen
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "")
    shown = KerHRMRegressor(**SMALL, verbose=1).fit(X, y)
    assert {"iterations", "clusterings", "training steps"} <= {*seen}
    assert str(shown.describe(stability=1)) == str(described)
    assert "splits of half of the rows" in seen
    assert capsys.readouterr().err == ""  # under a minute
    assert shown.theta_.tobytes() == silent.theta_.tobytes()
    assert shown.predict(X).tobytes() == silent.predict(X).tobytes()


def test_a_baseline_shows_its_training(
    table: tuple[np.ndarray, np.ndarray], seen: list[str]
) -> None:
    X, y = table
    model = ERM(task="regression", network=(8,), steps=5, random_state=0, verbose=1)
    shown = model.fit(X, y).predict(X)
    assert seen == ["training steps"]
    silent = clone(model).set_params(verbose=0).fit(X, y).predict(X)
    assert shown.tobytes() == silent.tobytes()


def test_copies_and_files_hold_no_watcher(
    table: tuple[np.ndarray, np.ndarray], watcher: Lines
) -> None:
    X, y = table
    model = ERM(task="regression", network=(8,), steps=5, random_state=0, verbose=1)
    with watched(watcher):
        model.fit(X, y)
        again = pickle.loads(pickle.dumps(model))
    assert clone(model).get_params() == model.get_params() == again.get_params()
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
