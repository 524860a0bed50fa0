"""A Slurm cluster on this machine for a test: one controller, two emulated nodes."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pauc_core.suite.lifetime import end, identity

# Inside a job srun looks for its configuration here alone.
CONF = Path("/etc/slurm/slurm.conf")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
PACKAGES = ("slurm-wlm", "munge")
PLUGIN = (
    "snakemake-executor-plugin-slurm",
    "snakemake-executor-plugin-slurm-jobstep",
    "throttler",
)
NODES = ("n1", "n2")
# First line of a configuration that a test wrote: the test's process, and its daemons' record.
MARK = "# emulated by a test of pauc-core: "


class NoCluster(RuntimeError):
    """Why there can be no cluster on this machine, in one sentence."""


def provide() -> None:
    """See to the programs of Slurm, installed where there are the rights; or raise a sentence."""
    if sys.platform != "linux" or os.geteuid():
        raise NoCluster("An emulated cluster needs root on Linux (as in a container).")
    remains()
    if not _missing():
        return
    apt = shutil.which("apt-get")
    if apt is None:
        raise NoCluster(f"{', '.join(_missing())} not found, and no apt-get to install them with.")
    print(
        f"Installing {' and '.join(PACKAGES)} on this machine with apt-get, for the test of the "
        "workflow on a cluster; they stay.",
        file=sys.stderr,
    )
    # The packages start no service where a policy forbids it.
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    done = subprocess.run(
        [apt, "install", "-y", "--no-install-recommends", *PACKAGES], env=env, capture_output=True
    )
    if done.returncode or _missing():
        raise NoCluster(f"apt-get could not install {' and '.join(PACKAGES)}.")


def remains() -> None:
    """Clear away what an interrupted test left; raise where the configuration is not a test's."""
    if not CONF.exists():
        return
    owner, _, record = CONF.read_text().partition("\n")[0].removeprefix(MARK).partition(" ")
    if not CONF.read_text().startswith(MARK):
        raise NoCluster(f"{CONF} exists: this machine belongs to a cluster, which is left alone.")
    if owner and identity(int(owner.partition("-")[0])) == owner:
        raise NoCluster(f"Another test has an emulated cluster here (process {owner}).")
    print(f"Clearing away the emulated cluster of an interrupted test ({CONF}).", file=sys.stderr)
    daemons = Path(record).read_text().split() if Path(record).is_file() else []
    # A number may have been given to another process since.
    end([pid for pid in (int(d.partition("-")[0]) for d in daemons) if identity(pid) in daemons])
    CONF.unlink()


def _missing() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def plugin(folder: Path) -> Path:
    """Snakemake's executor for Slurm, beside the environment: within, it delays every start."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    done = subprocess.run([*pip, *PLUGIN], capture_output=True, text=True)
    if done.returncode:
        raise NoCluster(f"pip could not fetch {PLUGIN[0]}.")
    return folder


def _conf(folder: Path, record: Path) -> str:
    host = socket.gethostname().partition(".")[0]
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={17001 + i} CPUs=2 "
        "RealMemory=10000 State=UNKNOWN"
        for i, name in enumerate(NODES)
    )
    return f"""{MARK}{identity(os.getpid())} {record}
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPort=17000
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=300
{nodes}
PartitionName=all Nodes={",".join(NODES)} Default=YES MaxTime=INFINITE State=UP
"""


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[None]:
    """The cluster, up and idle; on leaving its processes are ended and its file is removed."""
    (folder / "state").mkdir(parents=True)
    folder.chmod(0o755)
    CONF.parent.mkdir(parents=True, exist_ok=True)
    record = folder / "daemons"
    record.touch()
    CONF.write_text(_conf(folder, record))
    started: list[subprocess.Popen] = []

    def start(*command: str, user: str | None = None) -> None:
        with (folder / f"{command[0]}.out").open("a") as out:
            env = {**os.environ, "PATH": _path()}
            process = subprocess.Popen(
                command, stdout=out, stderr=out, env=env, user=user, group=user
            )
        started.append(process)
        with record.open("a") as handle:
            handle.write(f"{identity(process.pid)}\n")

    try:
        if not Path("/run/munge/munge.socket.2").exists():
            for place in ("/run/munge", "/var/log/munge", "/var/lib/munge"):
                Path(place).mkdir(parents=True, exist_ok=True)
                shutil.chown(place, "munge", "munge")
            Path("/run/munge").chmod(0o755)
            start("munged", "--foreground", "--force", user="munge")
            _until(lambda: Path("/run/munge/munge.socket.2").exists(), folder)
        start("slurmctld", "-D", "-c")
        for name in NODES:
            (folder / f"spool-{name}").mkdir()
            start("slurmd", "-D", "-N", name)
        _until(_idle, folder)
        yield
    finally:
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
        CONF.unlink(missing_ok=True)


def _idle() -> bool:
    shown = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True).stdout
    return shown.split() == ["idle"] * len(NODES)


def _until(true: object, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while not true():  # type: ignore[operator]
        if time.monotonic() > deadline:
            logs = [p.read_text()[-500:] for p in sorted(folder.glob("*.out"))]
            raise NoCluster(f"The emulated cluster did not come up: {' '.join(logs)}")
        time.sleep(0.2)


def job_count() -> int:
    """How many jobs the controller has been given so far."""
    shown = subprocess.run(
        ["squeue", "-h", "-t", "all", "-o", "%A"], capture_output=True, text=True
    ).stdout
    return len(set(shown.split()))


def job_nodes() -> set[str]:
    """The nodes on which jobs have run."""
    shown = subprocess.run(
        ["squeue", "-h", "-t", "all", "-o", "%N"], capture_output=True, text=True
    ).stdout
    return set(shown.split())
