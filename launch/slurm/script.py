"""The batch scripts: the array of runs, and the report after it."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from attnjax.errors import UserError
from attnjax.lab.cli.requeue import REQUEUE
from launch.slurm.plan import LaunchedRun
from launch.slurm.site import CONTROL, SlurmSite

REPORT_TIME = "00:30:00"
"""The limit of the job that makes the report."""


def run_script(
    site: SlurmSite, name: str, words: Sequence[str], runs: Sequence[LaunchedRun], logs: Path
) -> str:
    """Return the script of an array: a run a task, with the words that all runs share and its own.

    `USR1` reaches the processes of a run `site.grace` seconds before its limit. They save and end
    with `REQUEUE`, and the script puts its task into the queue again.
    """
    at_once = f"%{site.at_once}" if site.at_once else ""
    options = [
        f"--array=0-{len(runs) - 1}{at_once}",
        f"--nodes={site.hosts}",
        f"--ntasks-per-node={site.processes}",
        f"--cpus-per-task={site.cores}",
        *([f"--gpus-per-node={site.gpus}"] if site.gpus else []),
        *([f"--mem={site.memory}"] if site.memory else []),
        f"--time={site.time}",
        f"--signal=USR1@{site.grace}",
        "--requeue",
        "--open-mode=append",
        f"--output={_plain(logs)}/%A_%a.txt",
        *_place(site, site.partition),
        *site.options,
    ]
    tasks = [f"    {number}) run=({shlex.join(run.words)}) ;;" for number, run in enumerate(runs)]
    command = shlex.join([*site.interpreter, "-m", "attnjax", "run", *words])
    return _script(
        name,
        options,
        [
            # without it JAX would train on the CPU where it does not see the GPUs
            *(["export JAX_PLATFORMS=cuda"] if site.gpus else []),
            *_environment(site),
            "case $SLURM_ARRAY_TASK_ID in",
            *tasks,
            "esac",
            # the processes end a little after each other: the last one may still be saving
            f"srun --cpus-per-task={site.cores} --kill-on-bad-exit=0 --wait={site.grace} \\",
            f'    {command} "${{run[@]}}"',
            "code=$?",
            f"# {REQUEUE}: the run is saved, and wants to go on",
            f'if [ $code = {REQUEUE} ]; then scontrol requeue "$SLURM_JOB_ID"; fi',
            "exit $code",
        ],
    )


def report_script(site: SlurmSite, name: str, folder: Path, logs: Path) -> str:
    """Return the script of the last job, which reports the finished runs of an experiment."""
    options = [
        "--ntasks=1",
        f"--time={REPORT_TIME}",
        f"--output={_plain(logs)}/%j.txt",
        *_place(site, site.report_partition or site.partition),
    ]
    command = shlex.join([*site.interpreter, "-m", "attnjax", "report", str(folder)])
    return _script(name, options, [*_environment(site), "export JAX_PLATFORMS=cpu", command])


def _script(name: str, options: Sequence[str], body: Sequence[str]) -> str:
    heads = [f"#SBATCH {shlex.quote(option)}" for option in (f"--job-name={name}", *options)]
    for line in (*heads, *body):
        if CONTROL.search(line):
            raise UserError(
                "a job's script: wanted no line break or other control character in a name, "
                f"a folder or an override; got {line!a}"
            )
    return "\n".join(["#!/bin/bash", *heads, *body, ""])


def _plain(folder: Path) -> str:
    """Return a folder as SLURM's patterns of file names have it, in which % is an escape."""
    return str(folder).replace("%", "%%")


def _place(site: SlurmSite, partition: str | None) -> Iterator[str]:
    """Yield the options that say where a job runs, and which account it is charged to."""
    if partition:
        yield f"--partition={partition}"
    if site.account:
        yield f"--account={site.account}"


def _environment(site: SlurmSite) -> Iterator[str]:
    """Yield the lines before the command."""
    yield from (f"module load {shlex.quote(module)}" for module in site.modules)
    yield from site.lines
