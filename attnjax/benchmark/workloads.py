"""All workloads, and the choice among them."""

from collections.abc import Sequence

from attnjax.benchmark import attention, decode, laptop, train
from attnjax.benchmark.workload import Workload
from attnjax.errors import UserError

FAMILIES: dict[str, tuple[Workload, ...]] = {
    "attention": attention.WORKLOADS,
    "windows": attention.WINDOWS,
    "linear": attention.LINEAR,
    "train": train.WORKLOADS,
    "rounded": (*train.ROUNDED, *attention.ROUNDED),
    "seq2seq": train.SEQ2SEQ,
    "laptop": laptop.WORKLOADS,
    "decode": decode.WORKLOADS,
}


def chosen(names: Sequence[str]) -> tuple[Workload, ...]:
    """The workloads of these families or names; without names all workloads."""
    every = {workload.name: workload for family in FAMILIES.values() for workload in family}
    selected: dict[str, Workload] = {}
    for name in names or FAMILIES:
        if name not in every and name not in FAMILIES:
            known = ", ".join([*FAMILIES, *every])
            raise UserError(f"unknown workload {name!r}; choose from {known}")
        family = FAMILIES.get(name) or (every[name],)
        selected |= {workload.name: workload for workload in family}
    return tuple(selected.values())
