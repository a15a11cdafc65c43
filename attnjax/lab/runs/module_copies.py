"""Copies of a user's own modules in a run's folder: the run can be used when they are edited.

    <run's folder>/modules/    the files beside the experiment file that it imports, by their paths

They are read, compared with the digests of config.json, and imported from a folder of this process:
nothing else that lies in the run's folder can be imported.
"""

import atexit
import shutil
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

from attnjax.config.read_json import folder_name
from attnjax.errors import UserError
from attnjax.files import write_atomically

MODULES = "modules"


def module_digests(modules: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each module, by its path."""
    return {file: sha256(content).hexdigest() for file, content in modules.items()}


def write_modules(folder: Path, modules: Mapping[str, bytes]) -> None:
    """Write modules into a run's folder, in the place of those that are there."""
    shutil.rmtree(folder / MODULES, ignore_errors=True)
    for file, content in modules.items():
        path = folder / MODULES / file
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)


def read_modules(folder: Path, digests: Mapping[str, str]) -> dict[str, bytes]:
    """Read the modules in a run's folder, by their paths; refuse those that were changed."""
    modules = {}
    for file, digest in digests.items():
        path = folder / MODULES / file
        if not all(map(folder_name, file.split("/"))):
            raise UserError(f"{folder} is damaged: {file!r} is the path of no module")
        try:
            modules[file] = path.read_bytes()
        except (OSError, ValueError) as error:
            raise UserError(f"{path} is missing, and the run has parts of its own") from error
        if sha256(modules[file]).hexdigest() != digest:
            raise UserError(f"{path} was changed after the run was started")
    return modules


def importable(modules: Mapping[str, bytes]) -> Path:
    """Return a folder from which this process can import the modules; equal ones share it."""
    return _unpacked(tuple(sorted(modules.items())))


@cache
def _unpacked(modules: tuple[tuple[str, bytes], ...]) -> Path:
    folder = Path(mkdtemp(prefix="attnjax-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_modules(folder, dict(modules))
    return folder / MODULES
