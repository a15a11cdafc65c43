"""`python -m launch.tpu EXPERIMENT --on v5e:2x4`: an experiment's runs on a TPU slice of its own.

python -m launch.tpu positions --on v5e:2x4 --site launch/sites/tpu.toml --dry-run
python -m launch.tpu follow runs/positions
"""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attnjax.cli.command import EXPERIMENT, Command, Parser, Program, results_folder
from attnjax.cli.output import say
from attnjax.errors import UserError
from launch import arguments
from launch.consent import consent, cost
from launch.duration import seconds as in_seconds
from launch.object_name import object_name
from launch.plan import Wanted, launched
from launch.program import run_program
from launch.programs import call, need
from launch.secret import masked
from launch.shipping import SHIPPED, pack
from launch.site import read_site
from launch.slices import slice_of
from launch.tpu import commands
from launch.tpu.script import start_script
from launch.tpu.site import TpuSite

FOLDER, RECORD = "tpu", "launch.json"
"""The folder of what was sent to a slice, in an experiment's folder, and the record in it."""

SECONDS_BETWEEN_LOOKS = 60
"""How often `follow` asks for the state of a slice."""


@dataclass(frozen=True, kw_only=True)
class Launched:
    """A slice as it was asked for.

    Attributes:
        folder: the experiment's folder on this machine.
        site: the path of the site file.
        on: the slice, such as v5e:2x4.
    """

    folder: str
    site: str
    on: str

    @property
    def name(self) -> str:
        """The name of the slice."""
        return object_name("attnjax", Path(self.folder).name)

    @property
    def experiment(self) -> str:
        """The name of the experiment's folder."""
        return Path(self.folder).name

    def read_site(self) -> TpuSite:
        """The project."""
        return read_site(Path(self.site), TpuSite)

    def create(self, project: TpuSite) -> list[str]:
        """The command that asks for the slice."""
        script = Path(self.folder) / FOLDER / commands.SCRIPT
        return commands.create(project, self.name, slice_of(self.on), script)

    def write(self) -> None:
        """Keep the record in the experiment's folder."""
        path = Path(self.folder) / FOLDER / RECORD
        path.write_text(json.dumps(asdict(self), indent=2), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Launched":
        """The record in an experiment's folder.

        Raises:
            UserError: no slice was asked for.
        """
        path = folder / FOLDER / RECORD
        if not path.is_file():
            raise UserError(f"no runs of {folder} were launched on a TPU")
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def start_arguments(parser: Parser) -> None:
    """Add the arguments of `start`."""
    arguments.wanted(parser)
    results_folder(parser)
    arguments.site(parser, "launch/sites/tpu.toml", required=True)
    parser.add_argument("--on", metavar="SLICE", required=True, help="the slice, such as v5e:2x4")
    parser.add_argument(
        "--no-rehearsal",
        action="store_true",
        help="do not compile the training step for the slice first",
    )
    arguments.dry_run(parser)
    arguments.yes(parser)


def start(
    *, site: Path, on: str, no_rehearsal: bool, dry_run: bool, yes: bool, **given: Any
) -> None:
    """Rehearse the training step, send the code, and ask for the slice."""
    project, slice = read_site(site, TpuSite), slice_of(on)
    wanted = Wanted.of(**given)
    loaded = wanted.load()
    plan = wanted.sweep(loaded)
    left = launched(plan)
    asked = Launched(folder=str(plan.folder), site=str(site.resolve()), on=on)
    words = [*wanted.words(f"{SHIPPED}/{loaded.name}.py", "runs"), *wanted.chosen]
    script = start_script(project, asked.name, asked.experiment, words)
    sent = plan.folder / FOLDER
    upload = commands.upload(project, asked.name, [sent / commands.CODE])
    rehearsals = [] if no_rehearsal else _rehearsals(wanted, on)
    counts = {"slice": 1, "chip": slice.chips}
    price = cost(counts, in_seconds(project.time), project.price, project.currency)
    if dry_run:
        for command in (*rehearsals, upload, asked.create(project)):
            say(shlex.join(command))
        say(f"\n{sent / commands.SCRIPT}:\n{masked(script)}")
        say(price)
        return

    need("gcloud")
    for command in rehearsals:
        if subprocess.run(command, check=False).returncode:
            raise UserError(f"the training step cannot run on {on}: nothing was asked for")
    say(f"{price}; {len(left)} runs, one after the other")
    consent(f"Ask for {on} as {asked.name}?", yes=yes)
    pack(loaded.text, loaded.name, sent / commands.CODE)
    (sent / commands.SCRIPT).write_text(script, encoding="utf-8")
    asked.write()
    call(upload)
    call(asked.create(project))
    say(f"python -m launch.tpu follow {plan.folder}")


def _rehearsals(wanted: Wanted, on: str) -> list[list[str]]:
    """The commands that compile the training step of each variant, of the base if none is named."""
    command = [
        sys.executable,
        "-m",
        "attnjax",
        "rehearse",
        wanted.experiment,
        *wanted.changed,
        "--on",
        on,
    ]
    return [[*command, "--variant", one] for one in wanted.variants] or [command]


def status(*, folder: Path) -> None:
    """Print the state of a slice."""
    asked = Launched.read(folder)
    state = _state(asked)
    say(f"{asked.name} ({asked.on}): {state or 'there is none'}")


def follow(*, folder: Path) -> int:
    """Wait until the runs are done, and fetch them; ask again for a slice that was taken away."""
    asked = Launched.read(folder)
    project, before = asked.read_site(), ""
    while (state := _state(asked)) is not None:
        if state != before:
            say(f"{time.strftime('%H:%M')} {asked.name}: {state.lower()}")
        if state == "FAILED":
            described = shlex.join(commands.describe(project, asked.name))
            raise UserError(f"Google Cloud cannot make the slice {asked.name}: {described}")
        if state == "SUSPENDED":
            say("it was taken away: asking again, and the runs go on")
            call(commands.delete(project, asked.name))
            call(asked.create(project))
        before = state
        time.sleep(SECONDS_BETWEEN_LOOKS)
    fetch(folder=folder)
    try:
        code = int(call(commands.exit_code(project, asked.name)))
    except UserError as error:
        raise UserError(
            f"the slice {asked.name} was deleted before its runs were done; the same "
            "python -m launch.tpu goes on with them"
        ) from error
    say(f"attnjax run ended with {code}; its output is {folder / commands.LOG}")
    return code


def logs(*, folder: Path) -> None:
    """Print the output of the runs so far."""
    asked = Launched.read(folder)
    say(call(commands.log(asked.read_site(), asked.experiment)).rstrip())


def fetch(*, folder: Path) -> None:
    """Copy the runs from the bucket."""
    asked = Launched.read(folder)
    call(commands.fetch(asked.read_site(), asked.experiment, folder))


def delete(*, folder: Path, yes: bool) -> None:
    """Delete a slice. Its runs stay in the bucket."""
    asked = Launched.read(folder)
    need("gcloud")
    consent(f"Delete the slice {asked.name}?", yes=yes)
    call(commands.delete(asked.read_site(), asked.name))


def _state(asked: Launched) -> str | None:
    """The state of a slice; None: there is none."""
    try:
        return call(commands.state(asked.read_site(), asked.name)).strip()
    except UserError as error:
        if "NOT_FOUND" in str(error):
            return None
        raise


def delete_arguments(parser: Parser) -> None:
    """Add the arguments of `delete`."""
    arguments.launched_folder(parser)
    arguments.yes(parser)


COMMANDS = (
    Command(
        name="start",
        help="Ask for a slice that trains the runs; the word may be left out.",
        arguments=start_arguments,
        call=start,
        overridden=EXPERIMENT,
    ),
    Command(
        name="status",
        help="Print the state of a slice.",
        arguments=arguments.launched_folder,
        call=status,
    ),
    Command(
        name="follow",
        help="Wait for the runs and fetch them; ask again for a slice that was taken away.",
        arguments=arguments.launched_folder,
        call=follow,
    ),
    Command(
        name="logs",
        help="Print the output of the runs so far.",
        arguments=arguments.launched_folder,
        call=logs,
    ),
    Command(
        name="fetch",
        help="Copy the runs from the bucket.",
        arguments=arguments.launched_folder,
        call=fetch,
    ),
    Command(
        name="delete",
        help="Delete a slice; its runs stay in the bucket.",
        arguments=delete_arguments,
        call=delete,
    ),
)
PROGRAM = Program(
    name="python -m launch.tpu",
    description="An experiment's runs on a TPU slice of its own.",
    commands={one.name: one for one in COMMANDS},
)


def program(words: Sequence[str]) -> int:
    """Run a command; returns the exit code."""
    return run_program(PROGRAM, words)


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
