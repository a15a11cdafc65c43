"""A SLURM cluster: what a run asks for, and how its programs are started."""

import re
import sys
from dataclasses import dataclass, replace

from attnjax.config.constraints import NonNegativeFloat, NonNegativeInt, PositiveInt
from attnjax.errors import UserError
from launch.cost import seconds

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Line breaks and other control characters: in a script each value stays in its line."""


@dataclass(frozen=True, kw_only=True)
class SlurmSite:
    """What jobs ask SLURM for. A key that is left out is left to SLURM.

    Attributes:
        partition: the partition of the runs.
        report_partition: the partition of the last job, which makes the report and needs no GPU;
            None: that of the runs.
        account: the account that is charged.
        time: the limit of one attempt, HH:MM:SS or D-HH:MM:SS. A longer run is saved and queued
            again until it is done.
        grace: how many seconds before the limit a run is told to save.
        hosts: the hosts (nodes) of a run.
        processes: the processes on each host: 1, which uses all GPUs of the host, or one a GPU.
        gpus: the GPUs on each host.
        node_gpus: how many GPUs a node has; None: unknown.
        cores: the CPU cores of each process.
        memory: the memory on each host, such as 64G.
        at_once: how many runs may run at the same time; None: all.
        modules: environment modules to load.
        container: the words before the command, such as apptainer exec --nv attnjax.sif.
        python: the interpreter that has attnjax; "": the one that submits.
        lines: further lines of the script, before the command.
        options: further options of sbatch.
        price: of a host, an hour.
        currency: of the price.
    """

    partition: str | None = None
    report_partition: str | None = None
    account: str | None = None
    time: str = "08:00:00"
    grace: PositiveInt = 300
    hosts: PositiveInt = 1
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
    price: NonNegativeFloat | None = None
    currency: str = "USD"

    def __post_init__(self) -> None:
        """Refuse what no job can have."""
        for key, value in vars(self).items():
            if CONTROL.search("".join(value) if isinstance(value, tuple) else str(value)):
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

    def without_secrets(self) -> "SlurmSite":
        """The site as it is printed: no line, and no value of an environment variable."""
        return replace(
            self,
            lines=tuple(f"# lines[{number}] of the site" for number in range(len(self.lines))),
            options=tuple(map(_without_values, self.options)),
            container=tuple(map(_without_values, self.container)),
        )


def _without_values(word: str) -> str:
    """An option such as --export=ALL,KEY=value without the value."""
    return re.sub(r"(?<![\w-])(\w+)=.*", r"\1=***", word)
