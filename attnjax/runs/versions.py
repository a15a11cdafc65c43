"""Which version of a package is installed."""


def installed(package: str) -> str:
    """Its version, or "not installed": a copy of the source runs as well."""
    # imported here: nothing but a version needs it
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
