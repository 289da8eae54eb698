"""Snakemake's timers, which outlive their use."""

import threading


def cancel_timers() -> None:
    """Let a run that has ended exit at once.

    Each time Snakemake starts jobs it also starts a timer, which wakes its scheduler
    after the seconds of `max-jobs-per-timespan`; the process waits for the last one.
    For a process that Snakemake's command started: another's timers are its own.
    """
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
