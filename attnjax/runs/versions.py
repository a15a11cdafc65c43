"""What a number depends on beside its settings: the device, and the versions of packages."""

import os

PACKAGES = ("attnjax", "jax", "jaxlib", "flax", "optax")


def installed(package: str) -> str:
    """Its version, or "not installed": a copy of the source runs as well."""
    # imported here: nothing but a version needs it
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions() -> dict[str, str]:
    """The versions of the packages that numbers depend on."""
    return {package: installed(package) for package in PACKAGES}


def device() -> str:
    """What it ran on, in words."""
    # imported here: `attnjax --version` does not wait for JAX
    import jax

    found = jax.devices()
    kind = found[0].device_kind
    if found[0].platform == "cpu":
        return f"{os.cpu_count()} CPU cores"
    return kind if len(found) == 1 else f"{len(found)} x {kind}"
