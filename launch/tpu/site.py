"""A Google Cloud project: where slices are, and where their runs are kept."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Predicate

from attnjax.config.constraints import NonNegativeFloat, PositiveInt


def begins_with_gs(path: str) -> bool:
    """Whether a path is one of a bucket."""
    return path.startswith("gs://") and len(path) > len("gs://")


type Bucket = Annotated[str, Predicate(begins_with_gs)]


@dataclass(frozen=True, kw_only=True)
class TpuSite:
    """What `gcloud` is asked for.

    Attributes:
        project: the project that pays.
        zone: where the slice is.
        bucket: gs://NAME/FOLDER, where the code, the runs and their output are kept.
        data: gs://NAME/FOLDER with corpora; None: the experiment needs none.
        spot: whether the slice is cheaper and may be taken away; it is then asked for again.
        runtime: the runtime version of the machines; None: that of the kind of TPU.
        service_account: of the machines, which read and write the bucket and delete the slice;
            None: the project's own.
        network: the network of the machines; None: the project's own.
        time: after how long the slice deletes itself, HH:MM:SS or D-HH:MM:SS.
        save_every: after how many seconds the runs are copied to the bucket again.
        lines: further lines of the machines' script, before the command.
        price: of a chip, an hour.
        currency: of the price.
    """

    project: str
    zone: str
    bucket: Bucket
    data: Bucket | None = None
    spot: bool = False
    runtime: str | None = None
    service_account: str | None = None
    network: str | None = None
    time: str = "1-00:00:00"
    save_every: PositiveInt = 60
    lines: tuple[str, ...] = ()
    price: NonNegativeFloat | None = None
    currency: str = "USD"
