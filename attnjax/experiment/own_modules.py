"""A user's own modules that an experiment file imports: found beside it, digested, kept apart.

Another file that imports a module of the same name gets the module of its own folder.
"""

import ast
import hashlib
import importlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

FILE_MODULE = "experiment_"
"""How the name of the module of an experiment file begins."""


class OwnModules(NamedTuple):
    """The modules that an experiment file has imported, of neither attnjax nor a library.

    Attributes:
        folder: where they were looked for first; None: nowhere but on Python's path.
        digests: of their source files, by the path relative to the folder.
        beside: the content of the files in the folder, by the same path.
    """

    folder: Path | None
    modules: dict[str, ModuleType]
    digests: dict[str, str]
    beside: dict[str, bytes]

    def current(self, folder: Path | None) -> bool:
        """Return whether the modules are those that a file with this folder would import now."""
        if not self.modules:
            return True
        return folder == self.folder and self.digests == _digests(folder, self.modules)


_used = OwnModules(None, {}, {}, {})
"""The modules of the experiment file that was loaded last."""


@contextmanager
def imported_from(folder: Path | None) -> Iterator[OwnModules]:
    """Let what is executed within import the modules of a folder; they are known at the end."""
    own = OwnModules(folder, {}, {}, {})
    use(own)
    before, writes = set(sys.modules), sys.dont_write_bytecode
    first = [] if folder is None else [str(folder)]
    sys.path[:0] = first
    # bytecode is matched to its source by whole seconds and by size: not for files that are edited
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield own
    finally:
        sys.dont_write_bytecode = writes
        for place in {*first} & {*sys.path}:
            sys.path.remove(place)
        own.modules.update(
            {name: sys.modules[name] for name in set(sys.modules) - before if _is_own(name)}
        )
        own.digests.update(_digests(folder, own.modules))
        own.beside.update(_beside(folder, own.digests))


def use(own: OwnModules) -> None:
    """Let the modules of one experiment file be known to Python, and those of the last no more."""
    global _used
    for name, module in _used.modules.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    sys.modules.update(own.modules)
    _used = own


def _is_own(name: str) -> bool:
    """Return whether an imported module is a user's own."""
    module = sys.modules[name]
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]
    if not places or name.startswith(FILE_MODULE):
        return False
    return not any(
        Path(place).resolve().is_relative_to(other) for place in places for other in _foreign()
    )


@cache
def _foreign() -> tuple[Path, ...]:
    """Return the folders of Python, of its libraries, and of attnjax."""
    paths = sysconfig.get_paths()
    places = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return (*{Path(place).resolve() for place in places}, Path(__file__).resolve().parents[1])


def _digests(folder: Path | None, modules: Mapping[str, ModuleType]) -> dict[str, str]:
    """Return the digests of the modules' files; a file that is gone has the digest ""."""
    files = [file for module in modules.values() if (file := getattr(module, "__file__", None))]
    return {os.path.relpath(file, folder): source_digest(Path(file)) for file in sorted(files)}


def _beside(folder: Path | None, files: Iterable[str]) -> dict[str, bytes]:
    """Return the content of the files in the folder, as far as they are there."""
    paths = {file: folder / file for file in files if folder and ".." not in Path(file).parts}
    return {file: path.read_bytes() for file, path in paths.items() if path.is_file()}


def source_digest(path: Path) -> str:
    """Return the digest of a file; comments, docstrings and layout of Python do not count."""
    try:
        content = path.read_bytes()
    except OSError:
        return ""
    if path.suffix == ".py":
        content = plain_source(content.decode("utf-8-sig", "replace")).encode()
    return hashlib.sha256(content).hexdigest()


def plain_source(text: str) -> str:
    """Strip comments, docstrings and layout of a Python text."""
    try:
        tree = ast.parse(ast.unparse(ast.parse(text)))
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        match getattr(node, "body", None):
            case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                vars(node)["body"] = rest or [ast.Pass()]
    return ast.unparse(tree)
