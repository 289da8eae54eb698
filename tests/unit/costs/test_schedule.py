"""List scheduling against plans made by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.costs.schedule import Plan, Task, plan


def task(seconds: float, *needs: int, threads: int = 1, memory: float = 1.0) -> Task:
    return Task(seconds, threads, memory, needs)


DIAMOND = {1: task(1), 2: task(4, 1, memory=3.0), 3: task(2, 1), 4: task(1, 2, 3)}


@pytest.mark.parametrize(("cores", "seconds", "memory"), [(1, 8, 3), (2, 6, 4), (9, 6, 4)])
def test_a_diamond_by_hand(cores: int, seconds: float, memory: float) -> None:
    assert plan(DIAMOND, cores) == Plan(seconds, 8, memory)


def test_the_longest_way_goes_first() -> None:
    """0 alone would leave 1 and 2, which wait for each other, to the end."""
    chain = {0: task(2), 1: task(2), 2: task(2, 1), 3: task(2)}
    assert plan(chain, 2).seconds == 4


def test_threads_take_cores() -> None:
    wide = {0: task(1, threads=2), 1: task(1), 2: task(1)}
    assert plan(wide, 2) == Plan(2, 4, 2)
    assert plan(wide, 1).seconds == 3  # it gets what there is
    assert plan(wide, 4).seconds == 1


def test_what_has_no_jobs_takes_nothing() -> None:
    assert plan({}, 2) == Plan(0, 0, 0)


@given(
    seconds=st.lists(st.floats(0.1, 9), min_size=1, max_size=12),
    cores=st.integers(1, 4),
    data=st.data(),
)
def test_bounds(seconds: list[float], cores: int, data: st.DataObject) -> None:
    """No sooner than the cores or the longest chain allow, and no later than one by one."""
    needs = [data.draw(st.lists(st.integers(0, i - 1), max_size=2) if i else st.just([]))
             for i in range(len(seconds))]  # fmt: skip
    tasks = {i: task(s, *needs[i]) for i, s in enumerate(seconds)}
    ends: list[float] = []
    for i, s in enumerate(seconds):
        ends.append(s + max((ends[j] for j in needs[i]), default=0.0))
    found = plan(tasks, cores)
    total = sum(seconds)
    assert found.core_seconds == pytest.approx(total)
    assert max(max(ends), total / cores) - 1e-9 <= found.seconds <= total + 1e-9
    assert found.seconds <= total / cores + max(ends) + 1e-9  # Graham's bound
    assert 1 <= found.memory_mb <= cores
