"""The device and the versions of packages, which numbers also depend on."""

import os

PACKAGES = ("attnjax", "jax", "jaxlib", "flax", "optax")


def installed(package: str) -> str:
    """The version of an installed package, or "not installed"."""
    # imported here, because it takes time and only versions need it
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions() -> dict[str, str]:
    """The versions of the packages that numbers depend on."""
    return {package: installed(package) for package in PACKAGES}


def device() -> str:
    """The device of this process, in words."""
    # imported here, so that `attnjax --version` does not wait for JAX
    import jax

    found = jax.devices()
    kind = found[0].device_kind
    if found[0].platform == "cpu":
        return f"{os.cpu_count()} CPU cores"
    return kind if len(found) == 1 else f"{len(found)} x {kind}"
