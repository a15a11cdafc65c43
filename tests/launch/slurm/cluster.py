"""A SLURM cluster on this machine: two nodes, a controller and munge, in one folder.

Nothing of the system is changed: the ports are spare ones, and all files are in the folder.
"""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
NODES = ("one", "two")
SECONDS_TO_START = 60
CONFIGURATION = """\
ClusterName=attnjax
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
NodeName={nodes[0]} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8
NodeName={nodes[1]} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8
PartitionName=test Nodes=ALL Default=YES MaxTime=60 State=UP
"""


@contextmanager
def cluster(folder: Path) -> Iterator[None]:
    """Start the cluster; within the block SLURM's commands speak to it. It is stopped at the end.

    Raises:
        RuntimeError: a program does not start; what it said.
    """
    folder.mkdir(mode=0o755, parents=True)
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder,
            host=socket.gethostname().partition(".")[0],
            user=getpass.getuser(),
            ports=spare_ports(3),
            nodes=NODES,
        )
    )
    munge = [f"--{name}={folder}/munge.{name.partition('-')[0]}" for name in _MUNGE]
    before = os.environ.get("SLURM_CONF")
    with ExitStack() as running:
        running.enter_context(_daemon(folder, "munged", "--foreground", "--force", *munge))
        _wait(lambda: (folder / "munge.socket").exists(), "munged", folder)
        os.environ["SLURM_CONF"] = str(configuration)
        running.callback(_restore, before)
        running.enter_context(_daemon(folder, "slurmctld", "-D", "-f", str(configuration)))
        for node in NODES:
            running.enter_context(
                _daemon(folder, "slurmd", "-D", "-N", node, "-f", str(configuration), name=node)
            )
        _wait(lambda: said("sinfo", "--noheader", "--format=%D %T") == "2 idle", "slurmd", folder)
        # runs that are still there when a test fails end before the cluster does
        running.callback(_end_jobs)
        yield


_MUNGE = ("socket", "key-file", "pid-file", "log-file", "seed-file")


def installed() -> bool:
    """Return whether the programs of a cluster are on this machine."""
    return all(_path(program) for program in PROGRAMS)


def said(*words: str) -> str:
    """Return the output of a command; "" if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else ""


def _path(program: str) -> str | None:
    """Daemons are in folders that are only on the path of root."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


@contextmanager
def _daemon(folder: Path, program: str, *words: str, name: str = "") -> Iterator[None]:
    """Run a program that ends with us, also if we are killed."""
    path = _path(program)
    assert path is not None
    # Ctrl-C is for us, and we end it in our order
    command = ["setsid", "setpriv", "--pdeathsig", "TERM", path, *words]
    with (
        (folder / f"{name or program}.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, cwd=folder) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


def _end_jobs() -> None:
    said("scancel", "--user", getpass.getuser())
    deadline = time.monotonic() + 60
    while said("squeue", "--noheader") and time.monotonic() < deadline:
        time.sleep(0.5)


def _restore(before: str | None) -> None:
    if before is None:
        del os.environ["SLURM_CONF"]
    else:
        os.environ["SLURM_CONF"] = before


def _wait(ready, program: str, folder: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while not ready():
        if time.monotonic() > deadline:
            logs = "\n".join(path.read_text()[-2000:] for path in sorted(folder.glob("*.log")))
            raise RuntimeError(f"{program} did not start:\n{logs}")
        time.sleep(0.2)


def spare_ports(number: int) -> list[int]:
    """Ports that nobody uses."""
    with ExitStack() as bound:
        sockets = [bound.enter_context(socket.socket()) for _ in range(number)]
        for bound in sockets:
            bound.bind(("127.0.0.1", 0))
        return [bound.getsockname()[1] for bound in sockets]
