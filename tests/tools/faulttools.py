"""Runs of the workflow as a user starts them, and what can befall them."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from dagtools import SMOKE, TIMEOUT_SECONDS, Checkout

SCRIPTS = ".snakemake/scripts/"
DISK_SIZE = "4g"  # more than results need
#: after a job has finished, up to so long until the fault; a job takes about as long
DELAY_SECONDS = 4.0


class Run:
    """A command in the foreground of a session of its own, as from a terminal."""

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
            # what runs in the background of a script ignores Ctrl-C
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        # Orphans keep the pipe open, so that its end says nothing about the command's.
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
        """Wait until at most ``left`` jobs are left; False if the run is over before."""
        while not (self.working and self.left is not None and self.left <= left):
            if self.over:
                return False
            time.sleep(0.02)
        return True

    def family(self) -> list[psutil.Process]:
        """The command and all that it has started."""
        try:
            process = psutil.Process(self.process.pid)
            return [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def main(self) -> psutil.Process:
        """Snakemake itself."""
        for process in self.family():
            words = arguments(process)
            if "snakemake" in {Path(w).name for w in words[:4]} and "--unlock" not in words:
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
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *targets, *options, *SMOKE]
    return Run(checkout, command)


def recover(checkout: Checkout, targets: Sequence[str], *variables: str) -> Run:
    """The documented command, in the environment at hand."""
    bin_folder = Path(sys.executable).parent
    usual = [
        f"BIN={bin_folder}",
        "CORES=2",
        f"TARGET={' '.join(targets)}",
        f"CONFIG={SMOKE[1]}",
    ]
    return Run(checkout, ["make", "-o", ".venv/installed", "recover", *usual, *variables])


def end_all(folder: Path) -> None:
    """Kill what still runs in a copy, and nothing else."""
    for process in psutil.process_iter(["cwd"]):
        cwd = process.info["cwd"]
        if cwd and Path(cwd).is_relative_to(folder):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


class Disk:
    """A file system in memory that can fill up and turn read-only.

    Parameters
    ----------
    folder : Path
        Where it is mounted, if that is allowed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        try:
            done = self._mount("-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs")
            problem = done.stderr.strip().partition("\n")[0]
        except FileNotFoundError:
            problem = "there is no mount command"
        self.problem: str | None = problem or None  #: why it could not be mounted

    def _mount(self, *options: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        command = ["mount", *options, str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, check=check)

    def fill(self) -> None:
        """Leave no room beyond what is in use by now."""
        for _ in range(100):
            use = os.statvfs(self.folder)
            used = max(1, use.f_blocks - use.f_bfree) * use.f_frsize
            if self._mount("-o", f"remount,size={used}").returncode == 0:
                return
        raise AssertionError("the disk grew faster than it could be filled")

    def enlarge(self) -> None:
        self._mount("-o", f"remount,size={DISK_SIZE}", check=True)

    def freeze(self) -> None:
        """Read-only for everybody who opens a file from now on."""
        if self.problem is not None:
            self._chmod(0o555)
            return
        for _ in range(100):
            self._mount("--bind", str(self.folder), check=True)
            if self._mount("-o", "remount,bind,ro").returncode == 0:
                return
            self.thaw()  # somebody opened a file for writing in between
        raise AssertionError("the folder could not be made read-only")

    def thaw(self) -> None:
        if self.problem is not None:
            self._chmod(0o755)
        else:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def _chmod(self, mode: int) -> None:
        for folder in [self.folder, *(p for p in self.folder.rglob("*") if p.is_dir())]:
            folder.chmod(mode)

    def close(self) -> None:
        if self.problem is None:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


@dataclass(frozen=True)
class Fault:
    """What happened: the kind, jobs left and scripts running then, and how the run ended."""

    kind: str
    left: int
    scripts: tuple[str, ...]
    status: int
    seconds: float

    def __str__(self) -> str:
        scripts = ", ".join(self.scripts) or "no job"
        end = f"exit status {self.status} {self.seconds:.1f} s later"
        return f"{self.kind} with {self.left} jobs left during {scripts}: {end}"


def some_job(run: Run, rng: random.Random, number: int) -> None:
    """Send a signal to one of the running jobs."""
    while not run.over:
        if jobs := run.jobs():
            try:
                jobs[rng.choice(list(jobs))].send_signal(number)
            except psutil.NoSuchProcess:
                continue
            return
        time.sleep(0.02)


def kill_everything(run: Run) -> None:
    """As a power cut: kernels of notebooks, which have sessions of their own, included."""
    family = run.family()
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()  # so that nobody starts another
    for process in {*family, *run.family()}:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


#: kinds of faults and what brings them about
FAULTS: dict[str, Callable[[Run, Disk, random.Random], object]] = {
    "kill -9 of a job": lambda run, disk, rng: some_job(run, rng, signal.SIGKILL),
    "kill -9 of Snakemake": lambda run, disk, rng: run.main().kill(),
    "kill -9 of everything": lambda run, disk, rng: kill_everything(run),
    "SIGTERM to a job": lambda run, disk, rng: some_job(run, rng, signal.SIGTERM),
    "SIGTERM to Snakemake": lambda run, disk, rng: run.main().terminate(),
    "Ctrl-C": lambda run, disk, rng: os.killpg(run.process.pid, signal.SIGINT),
    "disk full": lambda run, disk, rng: disk.fill(),
    "results read-only": lambda run, disk, rng: disk.freeze(),
}
#: kinds that need a cure before the run can go on
CURES: dict[str, Callable[[Disk], None]] = {
    "disk full": Disk.enlarge,
    "results read-only": Disk.thaw,
}


def impossible(kind: str, disk: Disk) -> str | None:
    """Why this kind cannot be brought about here."""
    if kind == "disk full" and disk.problem:
        return f"needs a file system of its own: {disk.problem}"
    if kind == "results read-only" and disk.problem and os.geteuid() == 0:
        return f"no mode of a folder stops root, and without mount: {disk.problem}"
    return None


def inject(kind: str, run: Run, disk: Disk, rng: random.Random) -> Fault | None:
    """One fault after a random delay, and the end of the run; None if it ended before."""
    time.sleep(rng.uniform(0, DELAY_SECONDS))
    left, scripts = run.left or 0, [name.split(".")[1] for name in run.jobs()]
    if run.over:
        return None
    start = time.monotonic()
    try:
        FAULTS[kind](run, disk, rng)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return None
    status = run.wait()
    seconds = time.monotonic() - start
    if kind in CURES:
        CURES[kind](disk)
    return Fault(kind, left, tuple(scripts), status, seconds)


def schedule(kinds: Sequence[str], n: int, rng: random.Random) -> list[str]:
    """``n`` kinds in random order, all about equally often."""
    drawn: list[str] = []
    while len(drawn) < n:
        drawn += rng.sample(kinds, len(kinds))
    return drawn[:n]
