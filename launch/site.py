"""A site: what one says of a cluster, once, in a small TOML file; `launch/sites/` has examples."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from attnjax.config.constraints import NonNegativeFloat, PositiveInt
from attnjax.config.record import make_record
from attnjax.errors import UserError

TIME = re.compile(r"(?:(\d{1,3})-)?(\d{1,3}):([0-5]\d):([0-5]\d)")


@dataclass(frozen=True, kw_only=True)
class Site:
    """What every engine is asked for.

    Attributes:
        hosts: the hosts of a job.
        time: the limit of one attempt, HH:MM:SS or D-HH:MM:SS; then the runs are saved.
        price: of a host, an hour, in the currency.
    """

    hosts: PositiveInt = 1
    time: str = "08:00:00"
    price: NonNegativeFloat | None = None
    currency: str = "USD"

    @property
    def machines(self) -> int:
        """The hosts of a job that are paid."""
        return self.hosts

    def cost(self, jobs: int) -> str:
        """The most that jobs take, in a line: hosts times hours and, with a price, money."""
        hours = seconds(self.time) / 3600
        total = jobs * self.machines * hours
        each = f"{_count(jobs, 'job')} x {_count(self.machines, 'host')}"
        line = f"{each} x {hours:.3g} h = {total:,.4g} host-hours"
        if self.price is not None:
            line += f" = {total * self.price:,.2f} {self.currency}"
        return f"{line} at most; a job that is started again takes its time once more"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def seconds(time: str) -> int:
    """A duration in seconds, written as SLURM writes it: HH:MM:SS, or D-HH:MM:SS."""
    match = TIME.fullmatch(time)
    days, hours, minutes, rest = (int(each or 0) for each in match.groups()) if match else [0] * 4
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    if not total:
        raise UserError(f"time: wanted HH:MM:SS or D-HH:MM:SS, such as 08:00:00; got {time!r}")
    return total


def read_site[Kind: Site](path: Path, kind: type[Kind]) -> Kind:
    """Read a site from a TOML file, whose keys are the fields of the dataclass."""
    try:
        return make_record(tomllib.loads(path.read_text(encoding="utf-8")), kind)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the site file {path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the site file {path} is not TOML: {error}") from error
    except UserError as error:
        raise UserError(f"the site file {path}: {error}") from error
