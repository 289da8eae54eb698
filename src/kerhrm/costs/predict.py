"""What jobs will cost, from what others have."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose

from kerhrm.costs.benchmarks import Cost, Key
from kerhrm.costs.schedule import Plan, Task, plan
from kerhrm.costs.sizes import kind

#: seconds until a job computes: the interpreter, Snakemake's preamble, PyTorch
START = 2.0
#: times the largest job of a kind, beyond which nothing is known of larger ones; jobs as many
#: times larger or smaller are alike
FURTHEST = 10
#: how the workflow begins a line with :func:`told`
PREDICTED = "kerhrm: predicted: "


@dataclass(frozen=True)
class Stored:
    """Costs of earlier jobs."""

    own: Mapping[Key, Cost]  #: of this very run, on this machine
    reference: Mapping[Key, Cost]  #: with their sizes
    slower: Callable[[], float]  #: how many times as long this machine computes as theirs

    def cost(self, key: Key, size: float | None) -> Cost | None:
        """Cost of a job of a size; None if nothing like it has run.

        That of the job itself, else of the reference's, else of jobs of its kind by their
        sizes, of those of alike sizes if there are any.  Only what comes after :data:`START`
        grows with the size and with the machine.
        """
        if key in self.own:
            return self.own[key]
        known = self.reference.get(key)
        if known and known.size and (size is None or isclose(size, known.size, rel_tol=1e-3)):
            return times(replace(known, size=None), self.slower())
        others = [(c, c.size) for k, c in self.reference.items() if kind(k) == kind(key) and c.size]
        if not others or size is None:
            return None
        largest, most = max(others, key=lambda pair: pair[1])
        if size > FURTHEST * most:
            return None
        alike = [(c, s) for c, s in others if s / FURTHEST <= size <= s * FURTHEST] or others
        rate = sum(max(0.0, c.s - START) for c, _ in alike) / sum(s for _, s in alike)
        start = min(START, *(c.s for c, _ in alike))
        # memory does not grow with every loop: that of the next larger
        larger = [(s, -c.memory_mb) for c, s in others if s >= size and c.memory_mb is not None]
        memory = -min(larger)[1] if larger else None
        disk = largest.disk_mb and largest.disk_mb * size / most
        return times(Cost(start + rate * size, memory, disk), self.slower())


def times(cost: Cost, slower: float) -> Cost:
    """A cost on a machine that computes as many times as long; :data:`START` stays."""
    start = min(START, cost.s)
    return replace(cost, s=start + (cost.s - start) * slower)


@dataclass(frozen=True)
class Job:
    """A job that is to run."""

    key: Key  #: empty if it does nothing
    threads: int
    memory_mb: float  #: that it asks for, which stands in where its use is not known
    needs: Sequence[int]
    size: float | None


@dataclass(frozen=True)
class Prediction:
    """Of jobs that are to run."""

    plan: Plan
    disk_mb: float
    jobs: int
    unknown: Sequence[str]  #: kinds of jobs whose cost nobody knows; left out
    tasks: Mapping[int, Task]  #: by the jobs' numbers


def predict(jobs: Mapping[int, Job], stored: Stored, cores: int) -> Prediction:
    """What it takes to run jobs on so many cores."""
    costs = {n: stored.cost(job.key, job.size) for n, job in jobs.items() if job.key}
    tasks, disk = {}, 0.0
    for number, job in jobs.items():
        cost = costs.get(number) or Cost(0.0)
        asked = job.memory_mb if number in costs else 0.0
        memory = asked if cost.memory_mb is None else cost.memory_mb
        tasks[number] = Task(cost.s, job.threads, memory, job.needs)
        disk += cost.disk_mb or 0.0
    unknown = {"/".join(kind(jobs[n].key)) for n, cost in costs.items() if cost is None}
    return Prediction(plan(tasks, cores), disk, len(costs), sorted(unknown), tasks)


def told(prediction: Prediction, cores: int) -> str:
    """A prediction in one line."""
    p = prediction.plan
    parts = [
        f"{prediction.jobs} jobs take about {duration(p.seconds)} on {cores} cores",
        f"{duration(p.core_seconds)} of one core",
        f"{p.memory_mb / 1000:.1f} GB of memory",
        f"{prediction.disk_mb / 1000:.2g} GB of disk",
    ]
    if prediction.unknown:
        parts.append(f"besides what is not known: {', '.join(prediction.unknown)}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, as a person would say."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} seconds"


def by_kind(
    costs: Mapping[Key, Cost], predicted: Callable[[Key], Cost | None]
) -> Iterable[tuple[str, int, float, float]]:
    """Rule, number of its jobs, their seconds as predicted and as they were."""
    rules: dict[str, list[Key]] = {}
    for key in costs:
        rules.setdefault(key[0], []).append(key)
    for rule, keys in sorted(rules.items()):
        guesses = [cost.s for key in keys if (cost := predicted(key))]
        yield rule, len(keys), sum(guesses), sum(costs[key].s for key in keys)
