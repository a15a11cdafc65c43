"""TPU slices: their chips, and the names that Google Cloud and GKE have for them."""

import re
from dataclasses import dataclass
from math import prod

from attnjax.errors import UserError, unknown


@dataclass(frozen=True, kw_only=True)
class TpuKind:
    """A kind of TPU.

    Attributes:
        accelerator: the accelerator type without its size.
        cores: the cores of a chip: of some kinds the accelerator type counts chips, of some cores.
        runtime: the runtime version of its virtual machines.
        gke: the accelerator of a node pool of GKE.
        host: the chips of a host that is part of a slice, and the most chips of a host alone.
    """

    accelerator: str
    cores: int
    runtime: str
    gke: str
    host: tuple[int, int]


# https://cloud.google.com/tpu/docs/runtimes and .../kubernetes-engine/docs/concepts/plan-tpus
KINDS = {
    "v4": TpuKind(
        accelerator="v4",
        cores=2,
        runtime="tpu-ubuntu2204-base",
        gke="tpu-v4-podslice",
        host=(4, 4),
    ),
    "v5e": TpuKind(
        accelerator="v5litepod",
        cores=1,
        runtime="v2-alpha-tpuv5-lite",
        gke="tpu-v5-lite-podslice",
        host=(4, 8),
    ),
    "v5p": TpuKind(
        accelerator="v5p",
        cores=2,
        runtime="v2-alpha-tpuv5",
        gke="tpu-v5p-slice",
        host=(4, 4),
    ),
    "v6e": TpuKind(
        accelerator="v6e",
        cores=1,
        runtime="v2-alpha-tpuv6e",
        gke="tpu-v6e-slice",
        host=(4, 8),
    ),
}


@dataclass(frozen=True, kw_only=True)
class TpuSlice:
    """A slice, such as v5e:2x4.

    Attributes:
        kind: its kind of TPU.
        topology: how its chips are arranged, such as 2x4.
    """

    kind: TpuKind
    topology: str

    @property
    def chips(self) -> int:
        """The number of chips."""
        return prod(map(int, self.topology.split("x")))

    @property
    def accelerator_type(self) -> str:
        """The accelerator type, with its size."""
        return f"{self.kind.accelerator}-{self.chips * self.kind.cores}"

    @property
    def host_chips(self) -> int:
        """The chips of a host."""
        part, alone = self.kind.host
        return self.chips if self.chips <= alone else part

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return self.chips // self.host_chips


def slice_of(written: str) -> TpuSlice:
    """The slice of a name.

    Raises:
        UserError: there is no such kind, or the topology is not one of it.
    """
    name, _, topology = written.partition(":")
    if name not in KINDS:
        raise unknown("kind of TPU", name, KINDS)
    kind = KINDS[name]
    axes = 2 if kind.cores == 1 else 3
    if not re.fullmatch("x".join(["[1-9][0-9]?"] * axes), topology):
        shown = "x".join("248"[:axes])
        raise UserError(f"{name}: wanted a topology such as {shown}; got {topology!r}")
    found = TpuSlice(kind=kind, topology=topology)
    if found.chips % found.host_chips:
        raise UserError(
            f"{written} has {found.chips} chips: wanted a multiple of the {found.host_chips} of a "
            "host"
        )
    return found
