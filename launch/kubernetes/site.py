"""A Kubernetes cluster: what a run asks for, and where its files are."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from attnjax.config.constraints import NonNegativeFloat, NonNegativeInt, PositiveInt
from attnjax.errors import UserError
from launch.slices import TpuSlice, slice_of


@dataclass(frozen=True, kw_only=True)
class KubernetesSite:
    """What runs ask Kubernetes for.

    Attributes:
        image: the image that has attnjax, from the Dockerfile.
        claim: the persistent volume claim with the runs and corpora. Its volume is written by one
            host of each run, and read by all.
        namespace: of all objects.
        queue: the local queue of Kueue; None: without Kueue.
        service_account: of the pods; None: the namespace's own.
        slice: the TPU slice of a run, such as v5e:2x4; None: GPUs or CPUs.
        hosts: the hosts (pods) of a run; a slice has its own number.
        gpus: the GPUs of each host.
        node_gpus: how many GPUs a node has; None: unknown.
        cpu: the CPU cores of each host.
        memory: the memory of each host, such as 32Gi.
        selector: labels of the nodes.
        environment: environment variables.
        time: how long a run may take, HH:MM:SS or D-HH:MM:SS; then it is saved, and ends.
        grace: the seconds that a run has to save when its host is taken away.
        restarts: how often a run is started again after a failure; being taken away does not count.
        price: of a host, an hour.
        currency: of the price.
    """

    image: str
    claim: str
    namespace: str = "default"
    queue: str | None = None
    service_account: str | None = None
    slice: str | None = None
    hosts: PositiveInt = 1
    gpus: NonNegativeInt = 0
    node_gpus: NonNegativeInt | None = None
    cpu: PositiveInt = 4
    memory: str = "16Gi"
    selector: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    time: str = "1-00:00:00"
    grace: PositiveInt = 120
    restarts: NonNegativeInt = 3
    price: NonNegativeFloat | None = None
    currency: str = "USD"

    def __post_init__(self) -> None:
        """Refuse what no run can have.

        Raises:
            UserError: the GPUs or the slice cannot be had.
        """
        if self.node_gpus is not None and self.gpus > self.node_gpus:
            raise UserError(f"gpus: a node has {self.node_gpus}; got {self.gpus}")
        if self.tpu is not None and (self.gpus or self.hosts > 1):
            raise UserError(
                f"slice: {self.slice} has {self.tpu.hosts} hosts and no GPUs: leave hosts and gpus "
                "out"
            )

    @property
    def tpu(self) -> TpuSlice | None:
        """The TPU slice of a run."""
        return None if self.slice is None else slice_of(self.slice)

    @property
    def pods(self) -> int:
        """The number of hosts of a run."""
        return self.hosts if self.tpu is None else self.tpu.hosts
