"""What is foretold of jobs that have run, of larger ones, and of unknown ones."""

import pytest

from kerhrm.costs.benchmarks import Cost
from kerhrm.costs.predict import START, Job, Stored, duration, predict, told

ERM = ("train_method", "one", "a", "erm")
LARGER = ("train_method", "two", "a", "erm")
DRO = ("train_method", "one", "a", "dro")
REFERENCE = {ERM: Cost(START + 10, 300, 2, size=100), ("score", "one", "a"): Cost(1, 90, 1, 100)}


def stored(slower: float = 1.0, **own: Cost) -> Stored:
    return Stored({ERM: own["own"]} if own else {}, REFERENCE, lambda: slower)


def test_the_run_itself_knows_best() -> None:
    assert stored(3.0, own=Cost(5, 6, 7)).cost(ERM, 100) == Cost(5, 6, 7)


@pytest.mark.parametrize("slower", [0.5, 1, 2])
def test_a_slower_machine_starts_as_fast(slower: float) -> None:
    assert stored(slower).cost(ERM, 100) == Cost(START + 10 * slower, 300, 2)
    assert stored(slower).cost(("score", "one", "a"), 100) == Cost(1, 90, 1)


def test_larger_jobs_of_a_kind_take_longer() -> None:
    """Start-up stays as it is; memory of a larger job is not known, nor anything of huge ones."""
    assert stored().cost(LARGER, 300) == Cost(START + 30, None, 6)
    assert stored(2.0).cost(LARGER, 300) == Cost(START + 60, None, 6)
    assert stored().cost(LARGER, 1001) is None
    assert stored().cost(ERM, 50) == Cost(START + 5, 300, 1)  # the same place, other options


def test_jobs_of_alike_sizes_tell_more() -> None:
    """Small jobs may compute at another rate than large ones."""
    costs = REFERENCE | {("train_method", "huge", "a", "erm"): Cost(START + 1e6, 900, 3, size=1e5)}
    found = Stored({}, costs, lambda: 1.0)
    assert found.cost(LARGER, 300) == Cost(START + 30, 900, 3 * 300 / 1e5)
    rate = (10 + 1e6) / (100 + 1e5)
    memory = 300  # of the next larger
    assert found.cost(LARGER, 1) == Cost(START + rate, memory, 3 / 1e5)  # none is alike


@pytest.mark.parametrize(("key", "size"), [(DRO, 100), (("verify",), 1), (LARGER, None)])
def test_nothing_is_known_of_others(key: tuple[str, ...], size: float | None) -> None:
    assert stored().cost(key, size) is None


def test_a_prediction_in_one_line() -> None:
    jobs = {
        0: Job(ERM, 1, 6000, [], 100),
        1: Job(LARGER, 1, 6000, [], 300),
        2: Job(DRO, 1, 4000, [0], 100),
        3: Job((), 1, 0, [1, 2], None),  # a target
    }
    found = predict(jobs, stored(), 2)
    assert (found.plan.seconds, found.plan.core_seconds) == (START + 30, 2 * START + 40)
    assert found.plan.memory_mb == 6000 + 4000  # what it asks for, where its use is not known
    assert (found.jobs, found.disk_mb, found.unknown) == (3, 8, ["train_method/dro"])
    assert told(found, 2) == (
        "3 jobs take about 32 seconds on 2 cores, 44 seconds of one core, 10.0 GB of memory, "
        "0.008 GB of disk, besides what is not known: train_method/dro"
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.2, "3 seconds"), (119, "119 seconds"), (120, "2 minutes"),
                          (5400, "90 minutes"), (9000, "2.5 hours")]
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
