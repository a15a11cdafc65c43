"""Submitted arrays: what SLURM has of them, and what their runs have come to."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Predicate

from attnjax.config.record import folder_name, read_record
from attnjax.config.serialize import parse_json
from attnjax.errors import UserError
from attnjax.runs import failures
from attnjax.runs.json_files import write_json
from attnjax.runs.run_folder import RESULT
from attnjax.runs.trust import sign, signed
from launch.plan import LaunchedRun
from launch.programs import call

FOLDER = "slurm"
"""The folder of records and outputs, in an experiment's folder."""

DONE, ENDED = "done", "ended"
"""The states of a run that is not in the queue: it is finished, or it is not."""


def number_of_job(value: str) -> bool:
    """Return whether a text is the number that SLURM gives a job."""
    return value.isascii() and value.isdecimal() and len(value) < 20


def path_below(value: str) -> bool:
    """Return whether a text is the path of a run below its experiment's folder."""
    return all(map(folder_name, value.split("/")))


@dataclass(frozen=True, kw_only=True)
class Submission:
    """An array as it was submitted, by its number.

    Attributes:
        words: the arguments of `python -m launch.slurm` that submit it again.
        runs: the folders of each task's runs, below the experiment's folder.
        signature: the user's, of the words, which name a file that is executed.
    """

    job: Annotated[str, Predicate(number_of_job)]
    words: tuple[str, ...]
    runs: tuple[tuple[Annotated[str, Predicate(path_below)], ...], ...]
    signature: str = ""

    @classmethod
    def read(cls, path: Path) -> "Submission":
        """Read a record."""
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"the record {path} cannot be read: {error}") from error
        return read_record(content, cls, path)

    def write(self, experiment: Path) -> None:
        """Sign the record, and keep it in the experiment's folder."""
        content = asdict(self) | {"signature": sign(*self.words)}
        write_json(experiment / FOLDER / f"{self.job}.json", content)

    @property
    def own(self) -> bool:
        """Whether the user has submitted the array."""
        return signed(self.signature, *self.words)


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
    """The arrays of an experiment, oldest first."""
    records = [Submission.read(path) for path in (experiment / FOLDER).glob("*.json")]
    if not records:
        raise UserError(f"no runs of {experiment} were submitted to SLURM")
    return sorted(records, key=lambda record: int(record.job))


def states(experiment: Path, *, own: bool = False) -> Iterator[TaskState]:
    """Every run that was submitted, or that the user has submitted, by its latest task."""
    tasks = {
        run: f"{record.job}_{number}"
        for record in submissions(experiment)
        if record.own or not own
        for number, runs in enumerate(record.runs)
        for run in runs
    }
    queued = _queued()
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
    """Refuse runs that are in the queue already."""
    if not list((experiment / FOLDER).glob("*.json")):
        return
    wanted = {str(folder.relative_to(experiment)) for job in jobs for folder in job.folders}
    for run in states(experiment):
        if run.queued and run.run in wanted:
            raise UserError(
                f"{run.run} is in the queue already, as task {run.task} ({run.state}): wait for "
                f"it, or end it by python -m launch.slurm cancel {experiment}"
            )


def submit(script: str, after: Sequence[str] = ()) -> str:
    """Give a script to SLURM, to run after other jobs; returns the number of the job."""
    dependency = [f"--dependency=afterany:{':'.join(after)}"] if after else []
    return call(["sbatch", "--parsable", *dependency], text=script).strip().partition(";")[0]


def _queued() -> dict[str, tuple[str, str]]:
    """Our tasks in SLURM's queue: the state of each, and why it waits."""
    tasks = {}
    for line in call(["squeue", "--me", "--noheader", "--array", "--format=%i|%T|%r"]).splitlines():
        task, state, reason = line.strip().split("|", 2)
        tasks[task] = (state.lower(), "" if reason == "None" else reason)
    return tasks


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
