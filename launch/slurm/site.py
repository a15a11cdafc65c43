"""A SLURM cluster: what a run asks for, and how its programs are started."""

import re
import sys
from dataclasses import dataclass, replace

from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.errors import UserError
from launch.site import Site, seconds

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Line breaks and other control characters: in a script each value stays in its line."""


@dataclass(frozen=True, kw_only=True)
class SlurmSite(Site):
    """What jobs ask SLURM for; `launch/sites/gpu.toml` says what each key is.

    A run that takes longer than `time` is saved and queued again until it is done. What is None is
    left to SLURM.

    Attributes:
        report_partition: None: that of the runs.
        at_once: None: all.
        container: the words before the command, such as apptainer exec --nv attnjax.sif.
        python: the interpreter that has attnjax; "": the one that submits.
    """

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
