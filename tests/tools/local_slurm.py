"""A real Slurm on this machine: two nodes with two pretended GPUs each.

It needs no root, no systemd and nothing under /etc: keys, sockets, state and logs lie
in one folder, the ports are free ones, and stopping ends exactly the processes that
were started.
"""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

PROGRAMS = (
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "srun",
    "squeue",
    "scancel",
    "sinfo",
)
NODES = ("n0", "n1")
# what the nodes pretend to have; Slurm is told not to look
CPUS = 2
MEMORY_MB = 64_000
SECONDS_TO_START = 60
SECONDS_TO_END = 20

SLURM_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=5
KillWait=5
{nodes}
PartitionName=main Nodes=n0,n1 Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """What Slurm needs and this machine has not: programs, and an address of its own
    name."""
    found = [
        name for name in PROGRAMS if shutil.which(name, path=search_path()) is None
    ]
    name = socket.gethostname()
    try:
        socket.gethostbyname(name)
    except OSError:
        found.append(f"the line '127.0.0.1 {name}' in /etc/hosts")
    return found


def search_path() -> str:
    """PATH with the folders of daemons, which users often lack."""
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def job_processes(node: str) -> list[psutil.Process]:
    """What runs for jobs on a node: their daemons and all below, which
    others are not."""
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error):
            if process.info["name"].startswith("slurmstepd"):
                below = process.children(recursive=True)
                if any(p.environ().get("SLURMD_NODENAME") == node for p in below):
                    found += [process, *below]
    return found


class Slurm:
    """A running cluster.

    Parameters
    ----------
    folder : path
        Short (a socket's path has at most 107 characters), empty, and removed by the
        caller.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": os.pathsep.join([str(folder / "bin"), search_path()]),
        }

    def start(self) -> None:
        """Bring munge, the controller and the nodes up, and wait until the nodes are
        idle."""
        self._write()
        munge = self.folder / "munge"
        self._run(
            "munged",
            "--foreground",
            f"--socket={munge}/socket",
            f"--key-file={munge}/key",
            f"--pid-file={munge}/pid",
            f"--seed-file={munge}/seed",
            f"--log-file={munge}/log",
        )
        self._wait((munge / "socket").exists, "munged")
        self._run("slurmctld", "-D", "-c")
        for name in NODES:
            self.nodes[name] = self._run("slurmd", "-D", "-N", name)
        self._wait(
            lambda: self.states().count("idle") == len(NODES), "the nodes of Slurm"
        )

    def lose(self, name: str) -> None:
        """A power cut of a node: its daemon and its jobs end."""
        daemon = self.nodes.pop(name)
        self.processes.remove(daemon)
        daemon.kill()
        daemon.wait()
        for process in job_processes(name):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.command(
            "scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=lost"
        )

    def bring_back(self, name: str) -> None:
        """Start a lost node, and wait until it takes jobs."""
        self.nodes[name] = self._run("slurmd", "-D", "-N", name)
        self.command("scontrol", "update", f"NodeName={name}", "State=RESUME")
        self._wait(lambda: self.states().count("idle") == len(NODES), name)

    def stop(self) -> None:
        """End every job, then every process started here, last first."""
        if self.processes:
            with suppress(OSError, subprocess.SubprocessError):
                self.command("scancel", f"--user={getpass.getuser()}")
                end = time.monotonic() + SECONDS_TO_END
                while self.command("squeue", "--noheader") and time.monotonic() < end:
                    time.sleep(0.2)
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()

    def command(self, *args: str, timeout: float = 30) -> str:
        """Standard output of a command of Slurm."""
        return subprocess.run(
            args,
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=timeout,
        ).stdout

    def states(self) -> list[str]:
        """State of every node that answers; none while the controller does not."""
        try:
            lines = self.command("sinfo", "--noheader", "--Node", "--format=%N %T")
        except subprocess.SubprocessError:
            return []
        return [line.split()[1] for line in set(lines.splitlines())]

    def jobs(self) -> list[dict[str, str]]:
        """Every job that was submitted, in order."""
        keys = (
            "id",
            "state",
            "name",
            "comment",
            "cpus",
            "memory",
            "minutes",
            "gpus",
            "partition",
        )
        fields = (
            "jobarrayid:|,state:|,name:|,comment:200|,numcpus:|,minmemory:|,timelimit:|"
        )
        lines = self.command(
            "squeue",
            "--noheader",
            "--states=all",
            "--sort=i",
            f"--Format={fields},tres-per-job:|,partition:|",
        ).splitlines()
        rows = []
        for line in lines:
            cells = map(str.strip, line.split("|"))
            rows.append(dict(zip(keys, cells, strict=False)))
        return rows

    def _write(self) -> None:
        folder = self.folder
        for name in ("munge", "state", "bin", *(f"spool-{n}" for n in NODES)):
            (folder / name).mkdir()
        for path in (
            folder,
            folder / "munge",
        ):  # munged wants its socket within reach of all
            path.chmod(0o711)
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        controller_port, *ports = free_ports(1 + len(NODES))
        lines = [
            f"NodeName={name} NodeHostname={socket.gethostname()} "
            f"NodeAddr=127.0.0.1 Port={port} "
            f"CPUs={CPUS} RealMemory={MEMORY_MB} Gres=gpu:2 State=UNKNOWN"
            for name, port in zip(NODES, ports, strict=True)
        ]
        (folder / "slurm.conf").write_text(
            SLURM_CONF.format(
                folder=folder,
                host=socket.gethostname(),
                user=getpass.getuser(),
                controller_port=controller_port,
                nodes="\n".join(lines),
            )
        )
        # Device files that exist everywhere pass for GPUs.
        (folder / "gres.conf").write_text(
            "".join(f"NodeName={n} Name=gpu File=/dev/null,/dev/zero\n" for n in NODES)
        )
        # Snakemake starts a job's step without SLURM_CONF.
        srun = folder / "bin" / "srun"
        real = shutil.which("srun", path=search_path())
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {real} "$@"\n')
        srun.chmod(0o755)

    def _run(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{command[0]}{len(self.processes)}.out").open(
            "ab"
        ) as output:
            process = subprocess.Popen(
                command,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, which stop these
            )
        self.processes.append(process)
        return process

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + SECONDS_TO_START
        while not ready():
            ended = [p.args[0] for p in self.processes if p.poll() is not None]
            if ended or time.monotonic() > end:
                logs = "".join(p.read_text() for p in sorted(self.folder.glob("*.out")))
                raise RuntimeError(
                    f"{what} did not start ({ended} ended):\n{logs[-4000:]}"
                )
            time.sleep(0.1)
