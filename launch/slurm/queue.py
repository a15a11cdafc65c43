"""Submitted arrays: their state in SLURM, and the state of their runs."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Predicate

from attnjax.config.read_json import folder_name, read_record
from attnjax.config.serialize import parse_json
from attnjax.errors import UserError
from attnjax.lab.runs import failures
from attnjax.lab.runs.json_files import write_json
from attnjax.lab.runs.run_folder import RESULT
from launch.slurm.plan import LaunchedRun

FOLDER = "slurm"
"""The folder of records and outputs, in an experiment's folder."""

DONE, ENDED = "done", "ended"
"""The states of a run that is not in the queue: it is finished, or it is not."""


def number_of_job(value: str) -> bool:
    """Return whether a text can be the number of a job of SLURM."""
    return value.isascii() and value.isdecimal() and len(value) < 20


def path_below(value: str) -> bool:
    """Return whether a text is the path of a run below its experiment's folder."""
    return all(map(folder_name, value.split("/")))


@dataclass(frozen=True, kw_only=True)
class Submission:
    """An array as it was submitted, by its number.

    Attributes:
        runs: the folders of each task's runs, below the experiment's folder.
    """

    job: Annotated[str, Predicate(number_of_job)]
    runs: tuple[tuple[Annotated[str, Predicate(path_below)], ...], ...]

    @classmethod
    def read(cls, path: Path) -> "Submission":
        """Read a record."""
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"the record {path} cannot be read: {error}") from error
        return read_record(content, cls, path)

    def write(self, experiment: Path) -> None:
        """Write the record into the experiment's folder."""
        write_json(experiment / FOLDER / f"{self.job}.json", asdict(self))


@dataclass(frozen=True, kw_only=True)
class TaskState:
    """A run of an array, by its folder below the experiment's, and its latest task (12_3).

    Attributes:
        state: SLURM's word for a task that is in the queue, `DONE` or `ENDED`.
        reason: why the task waits or the run failed, or the last line of its output.
    """

    run: str
    task: str
    state: str
    reason: str

    @property
    def queued(self) -> bool:
        """Whether the task waits or runs."""
        return self.state not in (DONE, ENDED)


def submissions(experiment: Path) -> list[Submission]:
    """Return the arrays of an experiment, oldest first."""
    records = [Submission.read(path) for path in (experiment / FOLDER).glob("*.json")]
    if not records:
        raise UserError(f"no runs of {experiment} were submitted to SLURM")
    return sorted(records, key=lambda record: int(record.job))


def states(experiment: Path) -> Iterator[TaskState]:
    """Yield the state of every run that was submitted, by its latest task."""
    tasks = {
        run: f"{record.job}_{number}"
        for record in submissions(experiment)
        for number, runs in enumerate(record.runs)
        for run in runs
    }
    queued = _queued(experiment.resolve().name)
    for run, task in sorted(tasks.items()):
        if task in queued:
            state, reason = queued[task]
        elif (experiment / run / RESULT).exists():
            state, reason = DONE, ""
        else:
            last = _last_line(experiment / FOLDER / f"{task}.txt")
            state, reason = ENDED, failures.reason(experiment / run) or last
        yield TaskState(run=run, task=task, state=state, reason=reason)


def refuse_queued(experiment: Path, jobs: Sequence[LaunchedRun]) -> None:
    """Raise a UserError if a run of these jobs is in the queue already."""
    if not list((experiment / FOLDER).glob("*.json")):
        return
    wanted = {str(folder.relative_to(experiment)) for job in jobs for folder in job.folders}
    for run in states(experiment):
        if run.queued and run.run in wanted:
            raise UserError(
                f"{run.run} is in the queue already, as task {run.task} ({run.state}): wait for "
                f"it, or end it by python -m launch.slurm cancel {experiment}"
            )


def submit(script: str, environment: Mapping[str, str], after: Sequence[str] = ()) -> str:
    """Submit a script, to run in an environment and after other jobs; returns the job's number."""
    dependency = [f"--dependency=afterany:{':'.join(after)}"] if after else []
    words = ["sbatch", "--parsable", *dependency]
    return call(words, text=script, environment=environment).strip().partition(";")[0]


def need(program: str) -> None:
    """Raise a UserError if a program of SLURM is not on this machine."""
    if shutil.which(program) is None:
        raise UserError(
            f"the program {program} is not on this machine: run this on one that submits to SLURM, "
            "such as a cluster's login node"
        )


def call(
    words: Sequence[str], *, text: str | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Call a program of SLURM with this standard input, and return its output.

    Raises:
        UserError: the program is not here, or refuses; the sentence quotes its reason.
    """
    need(words[0])
    done = subprocess.run(
        words,
        input=text,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        reason = "; ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise UserError(f"{words[0]} refuses: {reason or f'exit code {done.returncode}'}")
    return done.stdout


def _queued(name: str) -> dict[str, tuple[str, str]]:
    """Return the user's tasks of a job name that are in the queue: states, and why they wait.

    Jobs of other names are left out, since a record that somebody else wrote may list any job.
    """
    tasks = {}
    words = ["squeue", "--me", "--noheader", "--array", "--format=%i|%T|%r|%j"]
    for line in call(words).splitlines():
        task, state, reason, job = line.strip().split("|", 3)
        if job == name:
            tasks[task] = (state.lower(), "" if reason == "None" else reason)
    return tasks


def _last_line(log: Path) -> str:
    """Return the last line of a job's output that is not blank; "" if there is none."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
