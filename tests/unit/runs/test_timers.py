"""A run that has ended waits for no timer."""

import threading

from kerhrm_paper.runs.timers import cancel_timers


def test_a_timer_ends_at_once_and_does_nothing() -> None:
    woken = threading.Event()
    timer = threading.Timer(600, woken.set)
    timer.start()
    cancel_timers()
    timer.join(timeout=60)
    assert not timer.is_alive()
    assert not woken.is_set()


def test_other_threads_go_on() -> None:
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait)
    thread.start()
    cancel_timers()
    assert thread.is_alive()
    go_on.set()
    thread.join()
