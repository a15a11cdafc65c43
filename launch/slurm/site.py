"""A SLURM site: the properties of a cluster, in a small TOML file; launch/sites has examples."""

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.config.read_json import make_record
from attnjax.errors import UserError

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Line breaks and other control characters: in a script each value stays in its line."""

TIME = re.compile(r"(?:(\d{1,3})-)?(\d{1,3}):([0-5]\d):([0-5]\d)")


@dataclass(frozen=True, kw_only=True)
class SlurmSite:
    """The resources that jobs request; `launch/sites/gpu.toml` explains each key.

    A run that takes longer than `time` is saved and queued again until it is done. What is None is
    left to SLURM.

    Attributes:
        hosts: the hosts of a job.
        time: the limit of one attempt, HH:MM:SS or D-HH:MM:SS; then the runs are saved.
        report_partition: None: that of the runs.
        at_once: None: all.
        container: the words before the command, such as apptainer exec --nv attnjax.sif.
        python: the interpreter that has attnjax; "": the one that submits.
        env: environment variables of the jobs. Their values may be secret: they are handed to
            SLURM in the environment of `sbatch`, and printed and written nowhere.
    """

    hosts: PositiveInt = 1
    time: str = "08:00:00"

    partition: str | None = None
    report_partition: str | None = None
    account: str | None = None
    grace: PositiveInt = 300
    processes: PositiveInt = 1
    gpus: NonNegativeInt = 0
    node_gpus: NonNegativeInt | None = None
    cores: PositiveInt = 1
    memory: str | None = None
    at_once: PositiveInt | None = None
    modules: tuple[str, ...] = ()
    container: tuple[str, ...] = ()
    python: str = ""
    lines: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    env: Any = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Raise a UserError if no job can have these values."""
        _check_env(self.env)
        for key, value in vars(self).items():
            text = "".join(value) if isinstance(value, tuple) else str(value)
            if key != "env" and CONTROL.search(text):
                raise UserError(f"{key}: wanted no line break or other control character")
        if self.node_gpus is not None and self.gpus > self.node_gpus:
            raise UserError(f"gpus: a node has {self.node_gpus}; got {self.gpus}")
        if self.processes not in (1, self.gpus) and self.gpus:
            raise UserError(
                f"processes: wanted 1, or one for each of the {self.gpus} GPUs of a host; "
                f"got {self.processes}"
            )
        if seconds(self.time) <= self.grace:
            raise UserError(
                f"grace: wanted fewer seconds than time has, {seconds(self.time)}; got {self.grace}"
            )

    @property
    def interpreter(self) -> list[str]:
        """The words that start Python in a job."""
        return [*self.container, self.python or sys.executable]

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which jobs are submitted, and which SLURM hands on to them."""
        return {**os.environ, **self.env}

    def cost(self, jobs: int) -> str:
        """Return a line with the most that a number of jobs take: hosts times hours."""
        hours = seconds(self.time) / 3600
        each = f"{_count(jobs, 'job')} x {_count(self.hosts, 'host')}"
        total = f"{each} x {hours:.3g} h = {jobs * self.hosts * hours:,.4g} host-hours"
        return f"{total} at most; a job that is started again takes its time once more"


def _check_env(env: Any) -> None:
    """Raise a UserError, which quotes no value, unless `env` is a table of variables."""
    if not isinstance(env, Mapping):
        raise UserError('env: wanted a table, such as [env], then NAME = "value" in each line')
    for name, value in env.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UserError(f"env: wanted names of environment variables; got {name!r}")
        if not isinstance(value, str) or "\0" in value:
            raise UserError(f"env.{name}: wanted a string without NUL characters")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def seconds(time: str) -> int:
    """Convert a duration as SLURM writes it, HH:MM:SS or D-HH:MM:SS, to seconds."""
    match = TIME.fullmatch(time)
    days, hours, minutes, rest = (int(part or 0) for part in match.groups()) if match else [0] * 4
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    if not total:
        raise UserError(f"time: wanted HH:MM:SS or D-HH:MM:SS, such as 08:00:00; got {time!r}")
    return total


def read_site(path: Path) -> SlurmSite:
    """Read a site from a TOML file, whose keys are the fields of `SlurmSite`."""
    try:
        return make_record(tomllib.loads(path.read_text(encoding="utf-8")), SlurmSite)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the site file {path} cannot be read: {error}") from error
    except RecursionError as error:
        raise UserError(f"the site file {path} is nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the site file {path} is not TOML: {error}") from error
    except UserError as error:
        raise UserError(f"the site file {path}: {error}") from error
