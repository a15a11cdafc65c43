"""`python -m launch.slurm EXPERIMENT`: an experiment's runs as a SLURM job array.

python -m launch.slurm positions --site launch/sites/gpu.toml --dry-run
python -m launch.slurm status runs/positions
"""

import sys
from collections.abc import Sequence

from rich.text import Text

from attnjax.cli.output import out, say
from attnjax.console import plain_table
from attnjax.errors import UserError
from launch.plan import Wanted, launched, stages
from launch.program import DryRun, Folder, SiteFile, Yes, consent, run_program
from launch.programs import call, need
from launch.shipping import changes, copy_for, record, ship
from launch.site import read_site
from launch.slurm import queue
from launch.slurm.script import report_script, run_script
from launch.slurm.site import SlurmSite


def submit(
    wanted: Wanted, *, site: SiteFile = None, dry_run: DryRun = False, yes: Yes = False
) -> None:
    """Submit the runs that are not finished as a job array; the word may be left out."""
    cluster = SlurmSite() if site is None else read_site(site, SlurmSite)
    loaded = wanted.load()
    plan = wanted.sweep(loaded)
    left = launched(plan)
    logs = plan.folder / queue.FOLDER
    file = copy_for(loaded, logs)
    words = wanted.words(file, plan.above)
    shown = cluster.without_secrets() if dry_run else cluster
    arrays = [
        (stage, run_script(shown, plan.folder.name, words, stage, logs)) for stage in stages(left)
    ]
    report = report_script(shown, f"{plan.folder.name}-report", plan.folder, logs)
    price = cluster.cost(len(left))
    if dry_run:
        for script in (*(script for _, script in arrays), report):
            say(script)
        print(price, file=sys.stderr)
        return

    need("sbatch")
    queue.refuse_queued(plan.folder, left)
    say(price)
    consent(f"Submit {len(left)} runs of {plan.folder.name}?", yes=yes)
    ship(loaded, file)
    patch = changes()
    for run in left:
        record(patch, run.folders)
    again = tuple(wanted.again(site))
    jobs: list[str] = []
    for stage, script in arrays:
        jobs.append(queue.submit(script, after=jobs[-1:]))
        runs = tuple(
            tuple(str(folder.relative_to(plan.folder)) for folder in run.folders) for run in stage
        )
        queue.Submission(job=jobs[-1], words=again, runs=runs).write(plan.folder)
        say(f"job {jobs[-1]}: {len(stage)} runs; their output is {logs}/{jobs[-1]}_*.txt")
    last = queue.submit(report, after=jobs)
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
        say(f"python -m launch.slurm retry {folder} submits those that ended again")


def cancel(folder: Folder, *, yes: Yes = False) -> None:
    """End the runs that wait or run; what is saved stays."""
    tasks = sorted({run.task for run in queue.states(folder, own=True) if run.queued})
    if not tasks:
        say(f"no run of {folder} is in the queue")
        return
    consent(f"Cancel {len(tasks)} tasks of {folder.name}?", yes=yes)
    call(["scancel", *tasks])
    say(f"cancelled {', '.join(tasks)}")


def retry(folder: Folder, *, dry_run: DryRun = False, yes: Yes = False) -> int:
    """Submit the runs that ended before they were done, as they were submitted before."""
    last = queue.submissions(folder)[-1]
    # a record names a file to execute, and somebody else may have written it
    if not last.own:
        raise UserError(
            f"the record {folder / queue.FOLDER / last.job}.json is not one of yours: submit the "
            "experiment yourself, by python -m launch.slurm EXPERIMENT"
        )
    options = [*(["--dry-run"] if dry_run else []), *(["--yes"] if yes else [])]
    return program([*last.words, *options])


def program(words: Sequence[str]) -> int:
    """Run a command; returns the exit code."""
    description = "An experiment's runs as a SLURM job array."
    return run_program("launch.slurm", description, words, submit, status, cancel, retry)


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
