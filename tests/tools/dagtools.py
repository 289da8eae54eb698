"""Copies of the repository, Snakemake in them, and what its output says."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from snakemake_logger_plugin_jobs import VARIABLE

from kerhrm_paper.runs import TOGETHER

# must follow the targets: it takes what comes after it
SMOKE = (
    "--config",
    "preset=smoke",
)
TARGETS = ("all",)
TIMEOUT_SECONDS = 1800
#: folders of a run's that differ from one run to the next
VARIES = {"logs", "benchmarks", "provenance", "temporary"}


@dataclass(frozen=True)
class Job:
    """One job of a dry run."""

    rule: str
    input: tuple[str, ...]
    output: tuple[str, ...]
    log: tuple[str, ...]
    benchmark: str
    reason: str

    @property
    def name(self) -> str:
        """The same in every dry run."""
        return f"{self.rule} {' '.join(self.output)}".rstrip()


class Checkout:
    """A copy of the repository with an environment that ignores the user's settings.

    Parameters
    ----------
    folder : path
        Root of the copy.
    raw_dir : path, optional
        Folder with raw files; without one synthetic data replace them.  Nothing is
        downloaded.
    """

    def __init__(self, folder: Path, raw_dir: str | None = None) -> None:
        self.folder = folder
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(
                ("KERHRM_", "SNAKEMAKE_", "PYTEST_", "MAKE", "MFLAGS")
            )
        } | {
            # Before site-packages, so that the copy's package hides the installed one.
            "PYTHONPATH": str(folder / "src"),
            "KERHRM_OFFLINE": "1",
            "KERHRM_PLUGINS": "",
            "KERHRM_CACHE_DIR": str(folder / ".no-cache"),
        }
        if raw_dir:
            self.environment["KERHRM_RAW_DIR"] = raw_dir

    def python(self, *args: str) -> str:
        """Standard output of the interpreter in this copy."""
        return subprocess.run(
            [sys.executable, *args],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=TIMEOUT_SECONDS,
        ).stdout

    def snakemake(
        self, *args: str, cores: int = 2, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Snakemake here; ``stdout`` of the result holds both streams in order."""
        return self.call(
            sys.executable, "-m", "snakemake", "--cores", str(cores), *args, env=env
        )

    def call(
        self, *command: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command here, its two streams as one."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment | dict(env or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )

    def run(
        self, *args: str, cores: int = 2, env: Mapping[str, str] | None = None
    ) -> str:
        """Output of a run that has to succeed."""
        done = self.snakemake(*args, cores=cores, env=env)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def plan(self, *args: str) -> list[Job]:
        """Jobs that Snakemake would run, from its dry run."""
        return [
            Job(
                rule=_plain(line["rule_name"]),
                input=tuple(line["input"]),
                output=tuple(line["output"]),
                log=tuple(line["log"]),
                benchmark=line["benchmark"] or "",
                reason=line["reason"],
            )
            for line in self.events("--dry-run", *args)
            if "rule_name" in line
        ]

    def events(self, *args: str) -> list[dict[str, Any]]:
        """Jobs and groups of a run, from the logger plugin."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "jobs")
            tools = os.pathsep.join(
                [self.environment["PYTHONPATH"], str(Path(__file__).parent)]
            )
            env = {"PYTHONPATH": tools, VARIABLE: str(log)}
            self.run("--logger=jobs", *args, env=env)
            text = log.read_text(encoding="utf-8") if log.exists() else ""
            lines = text.splitlines()
        return list(map(json.loads, lines))

    def copy(self, folder: Path) -> "Checkout":
        """All of it, results and Snakemake's memory included, elsewhere."""
        shutil.copytree(self.folder, folder)
        return Checkout(folder, self.environment.get("KERHRM_RAW_DIR"))


def _plain(rule: str) -> str:
    """Name of a rule; `train`, of those that train several learners together."""
    before, together, _ = rule.partition(TOGETHER)
    return f"{before}train" if together else rule


def contents(run: Path) -> dict[str, bytes]:
    """Contents of a run's result files, without logs, measured times and provenance."""
    found = {}
    for path in run.rglob("*"):
        if path.is_file():
            name = path.relative_to(run).as_posix()
            found[name] = path
    return {
        n: p.read_bytes() for n, p in found.items() if n.split("/")[0] not in VARIES
    }


def names(jobs: Iterable[Job]) -> set[str]:
    return {job.name for job in jobs}


def rules(jobs: Iterable[Job]) -> set[str]:
    """Rules of jobs that do something."""
    return {job.rule for job in jobs if job.output}


def with_descendants(dag: Iterable[Job], start: Callable[[Job], bool]) -> set[str]:
    """Names of the jobs that ``start`` accepts and of all that use their outputs."""
    dag = list(dag)
    found = {job.name for job in dag if start(job)}
    stale = set()
    for job in dag:
        if job.name in found:
            stale.update(job.output)
    while new := [
        j for j in dag if j.name not in found and not stale.isdisjoint(j.input)
    ]:
        found |= names(new)
        stale |= {file for job in new for file in job.output}
    return found


def with_ancestors(dag: Iterable[Job], file: str) -> list[Job]:
    """The job that makes a file, and all jobs whose outputs it needs."""
    maker = {name: job for job in dag for name in job.output}
    found: dict[str, Job] = {}
    pending = [file]
    while pending:
        job = maker.get(pending.pop())
        if job and job.name not in found:
            found[job.name] = job
            pending += job.input
    return list(found.values())


@contextmanager
def edited(path: Path, change: Callable[[str], str]) -> Iterator[None]:
    """Change a file, and put it back with its time."""
    times = path.stat()
    original = path.read_text(encoding="utf-8")
    changed = change(original)
    assert changed != original
    path.write_text(changed, encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(original, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def replace(old: str, new: str) -> Callable[[str], str]:
    """A change for :func:`edited`: the first ``old`` becomes ``new``."""

    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


def statement(text: str) -> str:
    """A change for :func:`edited`: the code of a Python file is another."""
    return text + "EDITED = True\n"


def comment(text: str) -> str:
    """A change for :func:`edited` that leaves the code as it is."""
    return text + "# edited\n"


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder in which nobody can write, root neither; there it takes a mount."""
    if os.geteuid() == 0:
        with mounted(folder, "--bind", "-o", "ro", str(folder)):
            yield
        return
    inside = folder.rglob("*")
    paths = [path for path in (folder, *inside) if not path.is_symlink()]
    modes = {path: path.stat().st_mode for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Something mounted at ``folder``, where that is allowed."""
    command = ["mount", *options, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("needs the mount command")
    if done.returncode:
        reason = done.stderr.strip().partition("\n")[0]
        pytest.skip(f"needs a file system of its own: {reason}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
