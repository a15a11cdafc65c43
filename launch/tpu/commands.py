"""The commands of `gcloud`, as a person could type them."""

from collections.abc import Sequence
from pathlib import Path

from launch.slices import TpuSlice
from launch.tpu.site import TpuSite

CODE, SCRIPT, EXIT_CODE, LOG = "code.tar.gz", "start.sh", "exit-code", "tpu.log"
"""The names of what a slice needs, and of what it leaves when it is done."""

QUEUED = ("gcloud", "compute", "tpus", "queued-resources")
STORAGE = ("gcloud", "storage")


def shipped(site: TpuSite, name: str) -> str:
    """The folder of the bucket with what a slice needs."""
    return f"{site.bucket.rstrip('/')}/slices/{name}"


def runs(site: TpuSite, experiment: str) -> str:
    """The folder of the bucket with an experiment's runs."""
    return f"{site.bucket.rstrip('/')}/runs/{experiment}"


def upload(site: TpuSite, name: str, files: Sequence[Path]) -> list[str]:
    """Copies what a slice needs to the bucket."""
    return [*STORAGE, "cp", *map(str, files), f"{shipped(site, name)}/"]


def create(site: TpuSite, name: str, slice: TpuSlice, script: Path) -> list[str]:
    """Asks for a slice, whose machines run a script when they start."""
    words = [*QUEUED, "create", name, f"--node-id={name}", *_where(site)]
    words += [f"--accelerator-type={slice.accelerator_type}"]
    words += [f"--runtime-version={site.runtime or slice.kind.runtime}"]
    words += [f"--metadata-from-file=startup-script={script}"]
    words += ["--scopes=https://www.googleapis.com/auth/cloud-platform"]
    words += ["--spot"] if site.spot else []
    words += [f"--service-account={site.service_account}"] if site.service_account else []
    return words + ([f"--network={site.network}"] if site.network else [])


def state(site: TpuSite, name: str) -> list[str]:
    """Prints the state of a slice; fails if there is none."""
    return [*describe(site, name), "--format=value(state.state)"]


def describe(site: TpuSite, name: str) -> list[str]:
    """Prints all about a slice."""
    return [*QUEUED, "describe", name, *_where(site)]


def delete(site: TpuSite, name: str) -> list[str]:
    """Deletes a slice."""
    return [*QUEUED, "delete", name, *_where(site), "--force", "--quiet"]


def exit_code(site: TpuSite, name: str) -> list[str]:
    """Prints the exit code of a slice that is done; fails before."""
    return [*STORAGE, "cat", f"{shipped(site, name)}/{EXIT_CODE}"]


def log(site: TpuSite, experiment: str) -> list[str]:
    """Prints the output of an experiment's runs."""
    return [*STORAGE, "cat", f"{runs(site, experiment)}/{LOG}"]


def fetch(site: TpuSite, experiment: str, folder: Path) -> list[str]:
    """Copies an experiment's runs from the bucket."""
    return [*STORAGE, "rsync", "--recursive", runs(site, experiment), str(folder)]


def _where(site: TpuSite) -> list[str]:
    return [f"--project={site.project}", f"--zone={site.zone}"]
