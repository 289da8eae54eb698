"""Runs of the workflow as a user starts them, and the faults that can hit them."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
from dagtools import SMOKE, TIMEOUT_SECONDS, Checkout

SCRIPTS = ".snakemake/scripts/"


class Run:
    """A command in the foreground of its own session, as from a terminal."""

    def __init__(self, checkout: Checkout, command: Sequence[str]) -> None:
        self.lines: list[str] = []
        self.left: int | None = None  #: jobs that have not finished yet
        self.working = False  #: whether the first job has been started
        self.process = subprocess.Popen(
            list(command),
            cwd=checkout.folder,
            env=checkout.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # a background process of a script ignores Ctrl-C by default
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        # Orphans keep the pipe open, so its end does not mean that the command has
        # ended.
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            if match := re.match(r"total +(\d+)$", line):
                self.left = int(match[1])
            elif match := re.match(r"(\d+) of (\d+) steps ", line):
                self.left = int(match[2]) - int(match[1])
            self.working |= re.match(r"Execute \d+ jobs", line) is not None

    @property
    def output(self) -> str:
        return "".join(self.lines)

    @property
    def over(self) -> bool:
        return self.process.poll() is not None

    def wait(self) -> int:
        status = self.process.wait(TIMEOUT_SECONDS)
        self.reader.join(5)
        return status

    def reaches(self, left: int) -> bool:
        """Wait until at most ``left`` jobs are left; False if the run
        is over before."""
        while not (self.working and self.left is not None and self.left <= left):
            if self.over:
                return False
            time.sleep(0.02)
        return True

    def family(self) -> list[psutil.Process]:
        """The command and all processes that it has started."""
        try:
            process = psutil.Process(self.process.pid)
            return [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def main(self) -> psutil.Process:
        """Snakemake itself."""
        for process in self.family():
            first_words = arguments(process)[:4]
            names = {Path(word).name for word in first_words}
            if "snakemake" in names:
                return process
        raise psutil.NoSuchProcess(self.process.pid)

    def jobs(self) -> dict[str, psutil.Process]:
        """Processes of the running jobs by the names of their scripts."""
        found = {}
        for process in self.family():
            for word in arguments(process):
                if SCRIPTS in word:
                    found[Path(word).name] = process
        return dict(sorted(found.items()))


def arguments(process: psutil.Process) -> list[str]:
    try:
        words: list[str] = process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []
    return words


def snakemake(checkout: Checkout, targets: Sequence[str], *options: str) -> Run:
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "2",
        *targets,
        *options,
        *SMOKE,
    ]
    return Run(checkout, command)


def recover(checkout: Checkout, targets: Sequence[str], *variables: str) -> Run:
    """The documented command, in the environment at hand."""
    usual = [
        f"BIN={Path(sys.executable).parent}",
        "CORES=2",
        f"TARGET={' '.join(targets)}",
        f"CONFIG={SMOKE[1]}",
    ]
    return Run(
        checkout, ["make", "-o", ".venv/installed", "recover", *usual, *variables]
    )


def end_all(folder: Path) -> None:
    """Kill what still runs in a copy, and nothing else."""
    for process in psutil.process_iter(["cwd"]):
        cwd = process.info["cwd"]
        if cwd and Path(cwd).is_relative_to(folder):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


class Disk:
    """A file system in memory at ``folder`` that can fill up or become read-only,
    where mounting is allowed."""

    size = "4g"  # more than results need

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        try:
            done = self._mount("-t", "tmpfs", "-o", f"size={self.size}", "tmpfs")
            problem = done.stderr.strip().partition("\n")[0]
        except FileNotFoundError:
            problem = "there is no mount command"
        self.problem: str | None = problem or None  #: why it could not be mounted
        self.is_protected = False

    def _mount(
        self, *options: str, check: bool = False
    ) -> subprocess.CompletedProcess[str]:
        command = ["mount", *options, str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, check=check)

    def fill(self) -> None:
        """Leave no space beyond what is in use by now."""
        for _ in range(100):
            use = os.statvfs(self.folder)
            used = max(1, use.f_blocks - use.f_bfree) * use.f_frsize
            if self._mount("-o", f"remount,size={used}").returncode == 0:
                return
        raise AssertionError("the disk grew faster than it could be filled")

    def protect(self) -> None:
        """Let nobody write here, root neither.

        It takes a second mount: files that are open for writing forbid to change the
        first one.
        """
        self._mount("--bind", "-o", "ro", str(self.folder), check=True)
        self.is_protected = True

    def repair(self) -> None:
        """Make it as large as it was, and let everybody write again."""
        if self.is_protected:
            self._unmount()
            self.is_protected = False
        if self.problem is None:
            self._mount("-o", f"remount,size={self.size}", check=True)

    def _unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def close(self) -> None:
        if self.is_protected:
            self._unmount()
        if self.problem is None:
            self._unmount()


def signal_job(run: Run, rng: random.Random, number: int) -> None:
    """Send a signal to one of the running jobs."""
    while not run.over:
        if jobs := run.jobs():
            with contextlib.suppress(psutil.NoSuchProcess):
                jobs[rng.choice(list(jobs))].send_signal(number)
                return
        time.sleep(0.02)


def kill_everything(run: Run) -> None:
    """As in a power cut: kernels of notebooks, which have their own sessions,
    included."""
    family = run.family()
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()  # so that it starts no other
    for process in {*family, *run.family()}:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


#: kinds of faults and what brings them about
FAULTS: dict[str, Callable[[Run, Disk, random.Random], object]] = {
    "kill -9 of a job": lambda run, disk, rng: signal_job(run, rng, signal.SIGKILL),
    "kill -9 of Snakemake": lambda run, disk, rng: run.main().kill(),
    "kill -9 of the process group": lambda run, disk, rng: os.killpg(
        run.process.pid, signal.SIGKILL
    ),
    "kill -9 of everything": lambda run, disk, rng: kill_everything(run),
    "SIGTERM to a job": lambda run, disk, rng: signal_job(run, rng, signal.SIGTERM),
    "disk full": lambda run, disk, rng: disk.fill(),
    "read-only file system": lambda run, disk, rng: disk.protect(),
}
#: those that need a file system of their own
OF_DISK = ("disk full", "read-only file system")


def left_out(disk: Disk) -> dict[str, str]:
    """Kinds of faults that are not possible here, and why."""
    if disk.problem is None:
        return {}
    return dict.fromkeys(OF_DISK, disk.problem)


def schedule(n: int, disk: Disk, rng: random.Random) -> Iterator[str]:
    """``n`` kinds of faults that are possible here, in random order, all about equally
    often."""
    kinds = [kind for kind in FAULTS if kind not in left_out(disk)]
    for number in range(n):
        if number % len(kinds) == 0:
            rng.shuffle(kinds)
        yield kinds[number % len(kinds)]
