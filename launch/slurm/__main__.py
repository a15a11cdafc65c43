"""`python -m launch.slurm EXPERIMENT`: an experiment's runs as a SLURM job array.

python -m launch.slurm positions --site launch/sites/gpu.toml --dry-run
python -m launch.slurm status runs/positions
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.text import Text

from attnjax.config.console import plain_table
from attnjax.errors import UserError
from attnjax.lab.cli.command import Program, option, positional
from attnjax.lab.cli.main import main
from attnjax.lab.cli.output import out, say
from launch.slurm import queue
from launch.slurm.plan import Wanted, launched, stages
from launch.slurm.script import report_script, run_script
from launch.slurm.shipping import changes, copy_for, record, ship
from launch.slurm.site import SlurmSite, read_site

Folder = Annotated[Path, positional("FOLDER", "an experiment's folder, such as runs/positions")]
Yes = Annotated[bool, option("do not ask")]


def submit(
    wanted: Wanted,
    *,
    site: Annotated[
        Path | None, option("what a run asks for; launch/sites has files to copy", "FILE")
    ] = None,
    dry_run: Annotated[bool, option("print what would be submitted, and submit nothing")] = False,
    yes: Yes = False,
) -> None:
    """Submit the runs that are not finished as a job array; the word may be left out."""
    cluster = SlurmSite() if site is None else read_site(site)
    loaded = wanted.load()
    request = wanted.request(loaded)
    left = launched(request)
    folder = request.folder
    logs = folder / queue.FOLDER
    file = copy_for(loaded, logs)
    words = wanted.words(file, request.above)
    arrays = [
        (stage, run_script(cluster, folder.name, words, stage, logs)) for stage in stages(left)
    ]
    report = report_script(cluster, f"{folder.name}-report", folder, logs)
    cost = cluster.cost(len(left))
    if dry_run:
        for script in (*(script for _, script in arrays), report):
            say(script)
        print(cost, file=sys.stderr)
        return

    queue.need("sbatch")
    queue.refuse_queued(folder, left)
    say(cost)
    consent(f"Submit {len(left)} runs of {folder.name}?", yes=yes)
    ship(loaded, file)
    patch = changes()
    for run in left:
        record(patch, run.folders)
    jobs: list[str] = []
    for stage, script in arrays:
        jobs.append(queue.submit(script, cluster.environment, after=jobs[-1:]))
        runs = tuple(tuple(str(one.relative_to(folder)) for one in run.folders) for run in stage)
        queue.Submission(job=jobs[-1], runs=runs).write(folder)
        say(f"job {jobs[-1]}: {len(stage)} runs; their output is {logs}/{jobs[-1]}_*.txt")
    last = queue.submit(report, cluster.environment, after=jobs)
    say(f"job {last}: attnjax report, after them; its output is {logs}/{last}.txt")


def status(folder: Folder) -> None:
    """Print the state of every run that was submitted."""
    runs = list(queue.states(folder))
    table = plain_table(["run", "state", "task", "why it waits, or the last line"])
    for run in runs:
        table.add_row(*map(Text, (run.run, run.state, run.task, run.reason)))
    out().print(table)
    say(f"{sum(run.state == queue.DONE for run in runs)} of {len(runs)} runs are done")
    if any(run.state == queue.ENDED for run in runs):
        say("the command that submitted them submits those that ended again")


def cancel(folder: Folder, *, yes: Yes = False) -> None:
    """End the runs that wait or run; what is saved stays."""
    tasks = sorted({run.task for run in queue.states(folder) if run.queued})
    if not tasks:
        say(f"no run of {folder} is in the queue")
        return
    consent(f"Cancel {len(tasks)} tasks of {folder.name}?", yes=yes)
    queue.call(["scancel", *tasks])
    say(f"cancelled {', '.join(tasks)}")


def consent(question: str, *, yes: bool) -> None:
    """Ask before jobs are submitted or ended; raise a UserError unless the answer is yes."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UserError(f"{question} cannot be asked without a terminal; repeat with --yes")
    if input(f"{question} [y/N] ").strip().lower() not in ("y", "yes"):
        raise UserError("nothing was done")


def program(words: Sequence[str]) -> int:
    """Run a command, `submit` if none is named, as `attnjax` does; returns the exit code."""
    commands = {call.__name__: call for call in (submit, status, cancel)}
    if words and words[0] not in (*commands, "--help", "-h", "--version"):
        words = ["submit", *words]
    description = "An experiment's runs as a SLURM job array."
    name = "python -m launch.slurm"
    return main(words, Program(name=name, description=description, groups={"commands": commands}))


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
