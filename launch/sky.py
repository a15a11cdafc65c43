"""`python -m launch.sky EXPERIMENT --site FILE`: an experiment as a managed job of SkyPilot.

python -m launch.sky positions --site launch/sites/tpu.toml --dry-run

SkyPilot (https://docs.skypilot.co) finds machines on Cloud TPUs, Kubernetes and GPU clouds, and
starts the job again when they are taken away. `sky jobs queue`, `logs` and `cancel` do the rest.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import yaml

from attnjax.cli.command import option
from attnjax.cli.output import say
from attnjax.cli.requeue import REQUEUE
from attnjax.config.constraints import NonNegativeInt
from attnjax.config.walk import field_names, is_part, walk
from attnjax.data.corpus import Task
from attnjax.errors import UserError, warn
from attnjax.experiment import Experiment
from attnjax.files import write_atomically
from attnjax.rehearsal import Topology
from launch.plan import Wanted
from launch.program import DryRun, SiteFile, Yes, consent, run_program
from launch.programs import need
from launch.shipping import CHANGES, ship, ship_code
from launch.site import Site, read_site, seconds

RUNS, DATA = "/runs", "/data"
"""Where a job has the runs and the corpora."""

SETUP = """\
set -e
export PATH="$PATH:$HOME/.local/bin"
command -v uv || pip install uv
uv venv --clear --python 3.12 .venv
uv pip install --python .venv/bin/python --constraints constraints.txt {package}
"""

PEERS = """\
export JAX_NUM_PROCESSES=$SKYPILOT_NUM_NODES JAX_PROCESS_ID=$SKYPILOT_NODE_RANK
export JAX_COORDINATOR_ADDRESS=$(head -n 1 <<< "$SKYPILOT_NODE_IPS"):8476
"""
"""How the hosts of a job find each other; the hosts of a TPU slice know."""

RUN = """\
{peers}if [ "$SKYPILOT_NODE_RANK" = 0 ]; then
    mkdir -p {folder}
    [ ! -f {changes} ] || cp {changes} {folder}
    # at the limit the run is saved, and ends with 124
    timeout --kill-after=300 {seconds} {command}
else
    # the first host alone says with {requeue} that the job wants to go on
    {command} || [ $? = {requeue} ]
fi
"""


@dataclass(frozen=True, kw_only=True)
class SkySite(Site):
    """What SkyPilot is asked for.

    Attributes:
        runs: where the runs are kept: a bucket, such as gs://NAME/FOLDER, or a volume of SkyPilot.
        data: the same, of the corpora; None: the experiment needs none.
        chips: a TPU slice or GPUs, such as v5e:2x4 or h100:8, which are rehearsed first; None: as
            `resources` say. A TPU slice has its own number of hosts.
        resources: SkyPilot's own words for the machines, such as infra, accelerators, use_spot.
        restarts: how often a job that has failed is started again; being taken away, or ending
            with 75, does not count.
    """

    runs: str
    data: str | None = None
    chips: str | None = None
    resources: Mapping[str, Any] = field(default_factory=dict)
    restarts: NonNegativeInt = 0
    time: str = "1-00:00:00"

    def __post_init__(self) -> None:
        """Refuse what no job can have."""
        seconds(self.time)
        if self.topology is not None and "accelerators" in self.resources:
            raise UserError("chips: resources have accelerators already; leave one of the two out")
        if self.platform == "tpu" and self.hosts > 1:
            raise UserError(f"hosts: {self.chips} has its own number of hosts: leave hosts out")

    @property
    def topology(self) -> Topology | None:
        """The chips."""
        return None if self.chips is None else Topology.named(self.chips)

    @property
    def machines(self) -> int:
        return self.hosts if self.topology is None else self.topology.hosts * self.hosts

    @property
    def platform(self) -> str:
        """JAX's word for the devices, and the extra that installs JAX for them."""
        if self.topology is not None:
            return self.topology.chip.platform
        accelerators = str(self.resources.get("accelerators", "")).lower()
        return "tpu" if "tpu" in accelerators else "cuda" if accelerators else "cpu"


def job(site: SkySite, name: str, words: Sequence[str], code: Path) -> dict[str, Any]:
    """The job: https://docs.skypilot.co/en/latest/reference/yaml-spec.html."""
    package = "." if site.platform == "cpu" else f".[{site.platform}]"
    kept: dict[str, Any] = {}
    for path, place in ((RUNS, site.runs), (DATA, site.data)):
        if place and "://" in place:
            # files that grow need a cache of their own; corpora are copied once
            mount = {"source": place, "mode": "MOUNT_CACHED"} if path == RUNS else place
            kept.setdefault("file_mounts", {})[path] = mount
        elif place:
            kept.setdefault("volumes", {})[path] = place
    return {
        "name": re.sub("[^a-z0-9]+", "-", f"attnjax-{name}".lower()).strip("-"),
        "num_nodes": site.hosts,
        "resources": _resources(site),
        "workdir": str(code),
        **kept,
        "envs": {"ATTNJAX_DATA": DATA, "JAX_PLATFORMS": site.platform},
        "setup": SETUP.format(package=shlex.quote(package)),
        "run": RUN.format(
            peers="" if site.platform == "tpu" else PEERS,
            folder=shlex.quote(f"{RUNS}/{name}"),
            changes=CHANGES,
            seconds=seconds(site.time),
            command=f".venv/bin/python -m attnjax run {shlex.join(words)}",
            requeue=REQUEUE,
        ),
    }


def _resources(site: SkySite) -> dict[str, Any]:
    recovery = {"recover_on_exit_codes": [REQUEUE], "max_restarts_on_errors": site.restarts}
    resources = {**site.resources, "job_recovery": recovery}
    if site.topology is not None:
        resources["accelerators"] = site.topology.accelerator
        if site.topology.chip.runtime:
            given = resources.get("accelerator_args", {})
            resources["accelerator_args"] = {"runtime_version": site.topology.chip.runtime, **given}
    return resources


class _Dumper(yaml.SafeDumper):
    """Writes scripts line by line."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def launch(
    wanted: Wanted,
    *,
    site: SiteFile = None,
    no_rehearsal: Annotated[
        bool, option("do not compile the training step for the TPU slice first")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Launch an experiment as a managed job of SkyPilot; the word may be left out."""
    if site is None:
        raise UserError("--site FILE is missing; launch/sites/tpu.toml is one to copy")
    place = read_site(site, SkySite)
    loaded = wanted.load()
    plan = wanted.sweep(loaded)
    chosen = plan.chosen()
    folder = plan.folder / "sky"
    code, task = folder / "code", folder / "job.yaml"
    file = f"launched/{loaded.name}.py"
    words = [*wanted.words(file, RUNS), *wanted.variants]
    content = job(place, plan.folder.name, words, code)
    text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    if reason := _data_stay_here(place, chosen.values()):
        warn(reason)
    price = place.cost(jobs=1)
    rehearsals = [] if no_rehearsal or not place.chips else _rehearsals(wanted, place.chips)
    if dry_run:
        say(text.rstrip())
        for line in (*map(shlex.join, rehearsals), price):
            print(line, file=sys.stderr)
        return

    need("sky")
    for rehearsal in rehearsals:
        if subprocess.run(rehearsal, check=False).returncode:
            raise UserError(
                f"the training step cannot run on {place.chips}, or cannot be rehearsed here "
                "(--no-rehearsal): nothing was asked for"
            )
    say(price)
    consent(f"Launch {content['name']}?", yes=yes)
    ship_code(code)
    # everything in the folder is meant to go, also where git ignores results
    (code / ".skyignore").touch()
    ship(loaded, code / file)
    write_atomically(task, text)
    if subprocess.run(["sky", "jobs", "launch", "--yes", "--detach-run", str(task)]).returncode:
        raise UserError(f"sky jobs launch refuses {task}")
    say(f"sky jobs queue; the runs are in {place.runs}")


def _data_stay_here(site: SkySite, experiments: Iterable[Experiment]) -> str | None:
    """Why a job will not find its data, in a sentence; None: it will, or it has none in files."""
    fields = {
        f"{path} {value!r}"
        for experiment in experiments
        for path, value in _places(experiment.task)
        if site.data is None or Path(value or "").is_absolute()
    }
    if not fields:
        return None
    why = "an absolute path is of this machine" if site.data else "the site has no `data`"
    return f"the job takes no data along, and {why}: it looks for {', '.join(sorted(fields))}"


def _places(task: Task) -> Iterator[tuple[str, str | None]]:
    """The fields that say where a task's data are, by the names that all corpora give them."""
    for path, part in (("task", task), *walk(task, "task")):
        if is_part(part):
            for name in {"folder", "file"}.intersection(field_names(type(part))):
                yield f"{path}.{name}", getattr(part, name)


def _rehearsals(wanted: Wanted, chips: str) -> list[list[str]]:
    """The commands that compile the training step of each variant, of the base if none is named."""
    rehearse = [sys.executable, "-m", "attnjax", "rehearse", wanted.experiment, *wanted.changed]
    rehearse += ["--on", chips]
    return [[*rehearse, "--variant", name] for name in wanted.variant] or [rehearse]


def program(words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    return run_program("launch.sky", "An experiment as a managed job of SkyPilot.", words, launch)


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
