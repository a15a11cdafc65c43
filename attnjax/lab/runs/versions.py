"""The machine and the versions of packages, which numbers also depend on."""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Predicate

from attnjax.config.machine import usable_cores
from attnjax.config.read_json import WholeNumber

PACKAGES = ("attnjax", "jax", "jaxlib", "flax", "optax")


def installed(package: str) -> str:
    """Return the version of an installed package, or "not installed"."""
    # imported here, because it takes time and only versions need it
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on."""
    return {"python": platform.python_version()} | {
        package: installed(package) for package in PACKAGES
    }


def device() -> str:
    """Return the device of this process, in words."""
    # imported here, so that `attnjax --version` does not wait for JAX
    import jax

    devices = jax.devices()
    kind = devices[0].device_kind
    if devices[0].platform == "cpu":
        return f"{usable_cores()} CPU cores"
    return kind if len(devices) == 1 else f"{len(devices)} x {kind}"


KIND = re.compile(r"[\w.,+()@ -]{0,100}")
"""A kind of machine: it is a part of a file's name, and of a page."""


def kind_of_machine(value: str) -> bool:
    """Return whether a text names a kind of machine."""
    return KIND.fullmatch(value) is not None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine of a run; "", 0 and None stand for what is not known.

    Attributes:
        kind: machines of one kind round alike: "x86_64-avx512-2", or the kind of the accelerator.
        processor: the CPU's name.
        memory: in bytes.
        matrix_units: whether the CPU has units that multiply bfloat16: AMX, or AVX-512's dot
            products. One without them sums products of rounded operands in another order.
    """

    kind: Annotated[str, Predicate(kind_of_machine)]
    processor: str
    cores: int
    xla_flags: str
    memory: WholeNumber = 0
    matrix_units: bool | None = None


INSTRUCTIONS = {"avx512f": "avx512", "avx2": "avx2", "sse4_2": "sse4_2"}
"""The sets of vector instructions that XLA compiles for, by their flags, the widest first."""

MATRIX_UNITS = {"amx_bf16", "avx512_bf16"}
"""The flags, as Linux lists them, of CPUs that multiply bfloat16 faster than float32."""


def machine() -> Machine:
    """Return the machine of this process."""
    # imported here, so that `attnjax --version` does not wait for JAX
    import jax

    first, cores = jax.devices()[0], usable_cores()
    system, flags = Path("/proc/cpuinfo"), os.environ.get("XLA_FLAGS", "")
    lines = system.read_text(encoding="utf-8").splitlines() if system.exists() else []
    about = dict(re.split(r"\s*:\s*", line, maxsplit=1) for line in lines if ":" in line)
    features = about.get("flags", "").split()
    kind = f"{platform.machine()}-{_instructions(features, flags)}-{cores}"
    if first.platform != "cpu":
        kind = re.sub(r"[^\w.,+()@-]", "-", f"{first.device_kind}-{jax.device_count()}").lower()
    return Machine(
        kind=kind,
        processor=about.get("model name", ""),
        cores=cores,
        xla_flags=flags,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        matrix_units=not MATRIX_UNITS.isdisjoint(features),
    )


def _instructions(features: list[str], xla_flags: str) -> str:
    """Return the widest vector instructions of a processor that XLA may use; "other": unknown."""
    names = [*INSTRUCTIONS.values()]
    has = [name for flag, name in INSTRUCTIONS.items() if flag in features]
    most = re.search(r"--xla_cpu_max_isa=(\w+)", xla_flags)
    limit = most.group(1).lower() if most else names[0]
    allowed = names[names.index(limit) :] if limit in names else names
    return next((name for name in has if name in allowed), "other")
