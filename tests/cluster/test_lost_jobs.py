"""Jobs that Slurm ends early, or loses: the run goes on by itself, to the same bytes."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from clustertools import QUICK_SLURM, Cluster
from dagtools import SMOKE, TIMEOUT_SECONDS, Checkout, replace
from faulttools import Run, end_all, recover
from local_slurm import Slurm

pytestmark = pytest.mark.cluster

TARGET = "results/smoke/classification/r2=0.70/predictions/erm.npz"
LOG = "results/smoke/logs/train_method/classification/r2=0.70/erm.log"
STEPS = 20_000  # some ten seconds
LONG_STEPS = 10 * STEPS  # beyond Slurm's shortest limit, a minute, which it looks at twice in one


def with_steps(folder: Path, steps: int) -> None:
    preset = folder / "config" / "presets" / "smoke.yaml"
    change = replace("steps: 20\n", f"steps: {steps}\n")
    preset.write_text(change(preset.read_text(encoding="utf-8")), encoding="utf-8")


@pytest.fixture(scope="module")
def undisturbed(copy: Callable[[], Path], raw_dir: str | None) -> Callable[[int], bytes]:
    """The result of so many steps without Slurm."""
    known: dict[int, bytes] = {}

    def result(steps: int) -> bytes:
        if steps not in known:
            local = Checkout(copy(), raw_dir)
            with_steps(local.folder, steps)
            local.run(TARGET, *SMOKE)
            known[steps] = (local.folder / TARGET).read_bytes()
        return known[steps]

    return result


@pytest.fixture
def cluster(fresh: Cluster) -> Iterator[Cluster]:
    yield fresh
    end_all(fresh.folder)


def start(cluster: Cluster, *options: str) -> Run:
    command = [*cluster.command("slurm"), *QUICK_SLURM, TARGET, *options, *SMOKE]
    return Run(cluster, command)


def wait_until_it_trains(cluster: Cluster, run: Run) -> None:
    log, end = cluster.folder / LOG, time.monotonic() + TIMEOUT_SECONDS
    while not (log.exists() and "training with" in log.read_text(encoding="utf-8")):
        assert not run.over, run.output
        assert time.monotonic() < end, run.output
        time.sleep(0.1)
    time.sleep(1)


def running(slurm: Slurm) -> tuple[str, str]:
    """Number of the job that runs, and its node."""
    (line,) = slurm.command("squeue", "--noheader", "--states=R", "--format=%i %N").splitlines()
    number, node = line.split()
    return number, node


def assert_nothing_is_left(cluster: Cluster) -> None:
    results = cluster.folder / "results"
    assert [str(path) for path in results.rglob(".*")] == []


def test_a_cancelled_job_goes_on(cluster: Cluster, undisturbed: Callable[[int], bytes]) -> None:
    with_steps(cluster.folder, STEPS)
    run = start(cluster)
    wait_until_it_trains(cluster, run)
    number, _ = running(cluster.slurm)
    cluster.slurm.command("scancel", number)
    assert run.wait() == 0, run.output
    assert cluster.slurm.jobs()[-2]["state"] == "CANCELLED"
    assert "going on from" in (cluster.folder / LOG).read_text()
    assert (cluster.folder / TARGET).read_bytes() == undisturbed(STEPS)
    assert_nothing_is_left(cluster)


def test_a_job_that_reaches_its_limit_goes_on(
    cluster: Cluster, undisturbed: Callable[[int], bytes]
) -> None:
    with_steps(cluster.folder, LONG_STEPS)
    run = start(cluster, "--set-resources", "train_method:runtime=attempt")
    assert run.wait() == 0, run.output
    assert [job["state"] for job in cluster.slurm.jobs()[-2:]] == ["TIMEOUT", "COMPLETED"]
    assert "going on from" in (cluster.folder / LOG).read_text()
    assert (cluster.folder / TARGET).read_bytes() == undisturbed(LONG_STEPS)
    assert_nothing_is_left(cluster)


@pytest.mark.parametrize("power", [True, False], ids=["power cut", "lost contact"])
def test_a_node_goes_down(
    cluster: Cluster, undisturbed: Callable[[int], bytes], power: bool
) -> None:
    """Without contact the job goes on, and its successor on another node waits for its lock."""
    slurm = cluster.slurm
    with_steps(cluster.folder, STEPS)
    run = start(cluster)
    wait_until_it_trains(cluster, run)
    number, node = running(slurm)
    slurm.lose(node, power=power)
    try:
        # Slurm would wait two minutes, lest it is the job that brings nodes down.
        slurm.command("scontrol", "update", f"JobId={number}", "StartTime=now")
        assert run.wait() == 0, run.output
        successor = slurm.jobs()[-1]
        assert (successor["id"], successor["state"]) == (number, "COMPLETED")
        assert (cluster.folder / TARGET).read_bytes() == undisturbed(STEPS)
        assert_nothing_is_left(cluster)
    finally:
        slurm.bring_back(node)


def test_the_recovery_cancels_what_a_killed_run_has_sent(
    cluster: Cluster, undisturbed: Callable[[int], bytes]
) -> None:
    with_steps(cluster.folder, STEPS)
    run = start(cluster)
    wait_until_it_trains(cluster, run)
    number, _ = running(cluster.slurm)
    run.process.kill()
    run.wait()
    again = recover(cluster, [TARGET], "PROFILE=profiles/slurm")
    assert again.wait() == 0, again.output
    assert f"cancelling jobs of Slurm: {number}" in again.output
    assert [job["state"] for job in cluster.slurm.jobs()[-2:]] == ["CANCELLED", "COMPLETED"]
    assert "going on from" in (cluster.folder / LOG).read_text()
    assert (cluster.folder / TARGET).read_bytes() == undisturbed(STEPS)
    assert_nothing_is_left(cluster)
