"""When jobs would run on so many cores: list scheduling."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """A job with what it takes."""

    seconds: float
    threads: int
    memory_mb: float
    needs: Sequence[int]  #: numbers of the jobs that must have ended


@dataclass(frozen=True)
class Plan:
    """What running all of them takes."""

    seconds: float  #: of wall time
    core_seconds: float
    memory_mb: float  #: of all that run at a time, at most


def plan(tasks: Mapping[int, Task], cores: int) -> Plan:
    """Start every job as soon as what it needs has ended and enough cores are free.

    Of those that are ready, the one with the longest way to the end goes first.  A job that wants
    more threads than there are cores gets all of them, as from Snakemake.
    """
    users = _users(tasks)
    left = {number: len(set(task.needs)) for number, task in tasks.items()}
    urgency = ways(tasks)
    ready = sorted((-urgency[n], n) for n, count in left.items() if not count)
    running: list[tuple[float, int]] = []
    now = peak = 0.0
    free = cores
    while ready or running:
        waiting = []
        while ready:
            entry = heapq.heappop(ready)
            task = tasks[entry[1]]
            if (threads := min(task.threads, cores)) <= free:
                free -= threads
                heapq.heappush(running, (now + task.seconds, entry[1]))
            else:
                waiting.append(entry)
        ready = waiting
        peak = max(peak, sum(tasks[number].memory_mb for _, number in running))
        now, ended = heapq.heappop(running)
        free += min(tasks[ended].threads, cores)
        for user in users[ended]:
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, (-urgency[user], user))
    total = sum(task.seconds * min(task.threads, cores) for task in tasks.values())
    return Plan(now, total, peak)


def ways(tasks: Mapping[int, Task]) -> dict[int, float]:
    """Seconds from the start of each job to the end of the last that waits for it."""
    users = _users(tasks)
    found: dict[int, float] = {}
    left = {number: len(after) for number, after in users.items()}
    pending = [number for number, count in left.items() if not count]
    while pending:
        number = pending.pop()
        after = max((found[user] for user in users[number]), default=0.0)
        found[number] = tasks[number].seconds + after
        for needed in set(tasks[number].needs):
            left[needed] -= 1
            if not left[needed]:
                pending.append(needed)
    return found


def _users(tasks: Mapping[int, Task]) -> dict[int, set[int]]:
    """Jobs that wait for each."""
    users: dict[int, set[int]] = {number: set() for number in tasks}
    for number, task in tasks.items():
        for needed in task.needs:
            users[needed].add(number)
    return users
