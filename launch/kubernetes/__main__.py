"""`python -m launch.kubernetes EXPERIMENT`: each run of an experiment as a JobSet.

python -m launch.kubernetes positions --site launch/sites/kubernetes.toml --dry-run
python -m launch.kubernetes status positions --site launch/sites/kubernetes.toml
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from attnjax.cli.command import EXPERIMENT, Command, Parser, Program
from attnjax.cli.output import say
from attnjax.errors import UserError
from launch import arguments
from launch.consent import consent, cost
from launch.duration import seconds as in_seconds
from launch.kubernetes import manifest
from launch.kubernetes.site import KubernetesSite
from launch.object_name import object_name
from launch.plan import Wanted, launched, stages
from launch.program import run_program
from launch.programs import call, need
from launch.secret import masked
from launch.site import read_site

SITE = "launch/sites/kubernetes.toml"


def submit_arguments(parser: Parser) -> None:
    """Add the arguments of `submit`."""
    arguments.wanted(parser)
    arguments.site(parser, SITE, required=True)
    arguments.dry_run(parser)
    arguments.yes(parser)


def submit(*, site: Path, dry_run: bool, yes: bool, **given: Any) -> None:
    """Create a JobSet for each run, and the experiment file that they mount.

    Raises:
        UserError: a run begins with the parameters of another one, which must be trained before.
    """
    cluster = read_site(site, KubernetesSite)
    wanted = Wanted.of(**given, runs=Path(manifest.RUNS))
    loaded = wanted.load()
    plan = wanted.sweep(loaded)
    left = launched(plan)
    first, *later = stages(left)
    if later:
        raise UserError(
            f"{later[0][0].name} begins with the parameters of {later[0][0].needs}: launch that "
            "variant alone first (--variant)"
        )
    words = wanted.words(f"{manifest.EXPERIMENT}/{loaded.name}.py", manifest.RUNS)
    name = plan.folder.name
    shipped = manifest.config_map(cluster, name, f"{loaded.name}.py", loaded.text)
    mounted = shipped["metadata"]["name"]
    sets = _yaml([manifest.job_set(cluster, name, mounted, words, one) for one in first])
    file = _yaml([shipped])
    counts = {"run": len(left), "host": cluster.pods}
    price = cost(counts, in_seconds(cluster.time), cluster.price, cluster.currency)
    if dry_run:
        say(masked(f"{file}---\n{sets}"))
        say(price)
        return

    need("kubectl")
    say(price)
    consent(f"Create {len(left)} JobSets in {cluster.namespace}?", yes=yes)
    say(call(["kubectl", "apply", "--filename=-"], text=file).rstrip())
    # create, not apply: a run that is there already is refused
    say(call(["kubectl", "create", "--filename=-"], text=sets).rstrip())
    say(f"python -m launch.kubernetes status {name} --site {site}")


def status(*, name: str, site: Path) -> None:
    """Print the JobSets of an experiment, and their pods."""
    cluster = read_site(site, KubernetesSite)
    say(call(["kubectl", "get", "jobsets,pods", *_of(cluster, name)]).rstrip())


def logs(*, name: str, site: Path) -> None:
    """Print the end of the output of every pod of an experiment."""
    cluster = read_site(site, KubernetesSite)
    say(call(["kubectl", "logs", "--prefix", "--tail=20", *_of(cluster, name)]).rstrip())


def report(*, name: str, site: Path, dry_run: bool) -> None:
    """Make the report of an experiment's finished runs, in a job of its own."""
    cluster = read_site(site, KubernetesSite)
    job = _yaml([manifest.report_job(cluster, name)])
    say(masked(job) if dry_run else call(["kubectl", "create", "--filename=-"], text=job).rstrip())


def delete(*, name: str, site: Path, yes: bool) -> None:
    """Delete the JobSets of an experiment. Its runs stay on the claim."""
    cluster = read_site(site, KubernetesSite)
    need("kubectl")
    consent(f"Delete the JobSets of {name} in {cluster.namespace}?", yes=yes)
    kinds = "jobsets,jobs,configmaps"
    say(call(["kubectl", "delete", kinds, *_of(cluster, name)]).rstrip())


def _yaml(objects: Sequence[Any]) -> str:
    return yaml.safe_dump_all(objects, sort_keys=False, width=100)


def _of(site: KubernetesSite, name: str) -> list[str]:
    """The options that choose the objects of an experiment."""
    label = f"{manifest.LABEL}={object_name(name)}"
    return [f"--namespace={site.namespace}", f"--selector={label}"]


def name_arguments(parser: Parser) -> None:
    """Add the arguments of `status` and `logs`."""
    parser.add_argument(
        "name", metavar="NAME", help="the experiment; with its setting: positions-paper"
    )
    arguments.site(parser, SITE, required=True)


def report_arguments(parser: Parser) -> None:
    """Add the arguments of `report`."""
    name_arguments(parser)
    arguments.dry_run(parser)


def delete_arguments(parser: Parser) -> None:
    """Add the arguments of `delete`."""
    name_arguments(parser)
    arguments.yes(parser)


COMMANDS = (
    Command(
        name="submit",
        help="Create a JobSet for each run; the word may be left out.",
        arguments=submit_arguments,
        call=submit,
        overridden=EXPERIMENT,
    ),
    Command(
        name="status",
        help="Print the JobSets of an experiment, and their pods.",
        arguments=name_arguments,
        call=status,
    ),
    Command(
        name="logs",
        help="Print the end of the output of every pod of an experiment.",
        arguments=name_arguments,
        call=logs,
    ),
    Command(
        name="report",
        help="Make the report of an experiment's finished runs, in a job of its own.",
        arguments=report_arguments,
        call=report,
    ),
    Command(
        name="delete",
        help="Delete the JobSets of an experiment; its runs stay on the claim.",
        arguments=delete_arguments,
        call=delete,
    ),
)
PROGRAM = Program(
    name="python -m launch.kubernetes",
    description="Each run of an experiment as a JobSet of Kubernetes.",
    commands={one.name: one for one in COMMANDS},
)


def program(words: Sequence[str]) -> int:
    """Run a command; returns the exit code."""
    return run_program(PROGRAM, words)


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
