"""A user's own modules that an experiment file imports: found beside it, digested, kept apart.

Another file that imports a module of the same name gets the module of its own folder, also where a
file loads another one, and where a function imports its module when it is called.
"""

import builtins
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from attnjax.config.own_code import is_own, is_own_file, late_imports, source_digest
from attnjax.experiment.read_files import Times, file_times, files_read


class OwnModules(NamedTuple):
    """The modules that an experiment file has imported, of neither attnjax nor a library.

    Attributes:
        folder: where they were looked for first; None: nowhere but on Python's path.
        digests: of their source files, by the path relative to the folder.
        beside: the content of the files in the folder, by the same path.
        read: the sizes and times of the other files that were read meanwhile.
        tables: the digests of those of them that lie in the folder, by the same path.
    """

    folder: Path | None
    modules: dict[str, ModuleType]
    digests: dict[str, str]
    beside: dict[str, bytes]
    read: dict[str, Times]
    tables: dict[str, str]

    @property
    def current(self) -> bool:
        """Whether the file would import the same modules, and read the same files, now."""
        return self.digests == _digests(self.folder, self.modules) and self.read == {
            path: file_times(path) for path in self.read
        }

    def finds(self, name: str) -> bool:
        """Return whether a module of this name is the file's own."""
        top = name.partition(".")[0]
        imported = sys.modules.get(top)
        return top in self.modules or (
            _lies_in(self.folder, top) and (imported is None or is_own(imported))
        )


_used = OwnModules(None, {}, {}, {}, {}, {})
"""The modules of the experiment file that was loaded last."""

_executed: list[tuple[OwnModules, set[str]]] = []
"""The files that are being executed, each begun by the one before; and what was imported before."""


@contextmanager
def imported_from(folder: Path | None, text: str) -> Iterator[OwnModules]:
    """Let the text that is executed within import the modules of a folder; they are known then.

    Those that its functions import when they are called are imported at the end.
    """
    own = OwnModules(folder, {}, {}, {}, {}, {})
    use(own)
    with files_read() as read, _first(own):
        yield own
        _import_late(own, text)
    own.digests.update(_digests(folder, own.modules))
    own.beside.update(_beside(folder, own.digests))
    of_modules = {str(file) for module in own.modules.values() if (file := _file(module))}
    own.read.update({path: times for path, times in read.items() if path not in of_modules})
    own.tables.update(_tables(folder, own.read))
    use(own)


@contextmanager
def _first(own: OwnModules) -> Iterator[None]:
    """Let a file's own modules be those that Python finds first; others of their names wait."""
    folder, writes = own.folder, sys.dont_write_bytecode
    # an enclosing file's, those of the last one, and what a notebook has imported from the folder
    others = {*sys.modules} - _executed[-1][1] if _executed else {*_used.modules}
    others |= _names_in(folder)
    aside = {name: sys.modules[name] for name in others if is_own(sys.modules.get(name))}
    for name in aside:
        del sys.modules[name]
    sys.modules.update(own.modules)
    _executed.append((own, {*sys.modules} - {*own.modules}))
    first = [] if folder is None else [str(folder)]
    sys.path[:0] = first
    finder = _Finder(own)
    sys.meta_path.insert(0, finder)
    # bytecode is matched to its source by whole seconds and by size: not for files that are edited
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes
        sys.meta_path.remove(finder)
        for place in {*first} & {*sys.path}:
            sys.path.remove(place)
        _, before = _executed.pop()
        found = {name: sys.modules[name] for name in {*sys.modules} - before}
        own.modules.update({name: module for name, module in found.items() if is_own(module)})
        for name in own.modules:
            sys.modules.pop(name, None)
        sys.modules.update(aside)


def use(own: OwnModules) -> None:
    """Let the modules of one experiment file be known to Python, and those of the last no more.

    A module of the same name that the program itself has imported stays.
    """
    global _used
    if _executed:  # a file that loads another one goes on with its own
        return
    for name, module in _used.modules.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    for name, module in own.modules.items():
        sys.modules.setdefault(name, module)
    _used = own


class _Loader(SourceFileLoader):
    """Loads a module of one's own, whose functions import others as those of the file do."""

    def __init__(self, name: str, path: str, own: OwnModules) -> None:
        super().__init__(name, path)
        self.own = own

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = builtins_of(self.own)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    """Finds a file's own modules as Python does, and gives them their loader."""

    def __init__(self, own: OwnModules) -> None:
        self.own = own

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not self.own.finds(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec and type(spec.loader) is SourceFileLoader and is_own_file(spec.loader.path):
            spec.loader = _Loader(fullname, spec.loader.path, self.own)
        return spec


def builtins_of(own: OwnModules) -> dict[str, Any]:
    """Return Python's built-in names for code whose functions import a file's own modules late."""

    def import_own(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        """Import a module: the file's own, whichever file was loaded last."""
        given = name, globals, locals, fromlist, level
        first = (globals or {}).get("__package__") or "" if level else name
        if (_executed and _executed[-1][0] is own) or not own.finds(first):
            return builtins.__import__(*given)
        with _first(own):
            return builtins.__import__(*given)

    return {**vars(builtins), "__import__": import_own}


def _import_late(own: OwnModules, text: str) -> None:
    """Import the modules of the folder that functions import when they are called.

    They decide what parts compute, so they are digested with the others.
    """
    waiting, tried = late_imports(text), set[str]()
    _, before = _executed[-1]
    seen: set[str] = set()
    while True:
        for name in {*sys.modules} - before - seen:
            seen.add(name)
            module = sys.modules[name]
            file = _file(module)
            if file and file.suffix == ".py" and is_own(module):
                source = file.read_text(encoding="utf-8-sig", errors="replace")
                waiting |= late_imports(source, getattr(module, "__package__", None) or "")
        waiting = {name for name in waiting - tried if _lies_in(own.folder, name)}
        if not waiting:
            return
        for name in sorted(waiting):
            tried.add(name)
            try:
                importlib.import_module(name)
            except (Exception, SystemExit):
                continue  # the function that imports it will say so


def _names_in(folder: Path | None) -> set[str]:
    """Return the names of the imported modules that lie in a folder by their first names."""
    tops = {name.partition(".")[0] for name in sys.modules}
    lying = {top for top in tops if _lies_in(folder, top)}
    return {name for name in sys.modules if name.partition(".")[0] in lying}


def _lies_in(folder: Path | None, name: str) -> bool:
    """Return whether a module of a name would be found in a folder."""
    if folder is None or not all(map(str.isidentifier, name.split("."))):
        return False
    path = folder.joinpath(*name.split("."))
    return path.is_dir() or path.with_name(f"{path.name}.py").is_file()


def _file(module: ModuleType) -> Path | None:
    """Return the file of a module; None: it has none."""
    file = getattr(module, "__file__", None)
    return Path(file) if file else None


def _digests(folder: Path | None, modules: Mapping[str, ModuleType]) -> dict[str, str]:
    """Return the digests of the modules' files; a file that is gone has the digest ""."""
    files = {file for module in modules.values() if (file := _file(module))}
    return {os.path.relpath(file, folder): source_digest(file) for file in sorted(files)}


def _tables(folder: Path | None, read: Iterable[str]) -> dict[str, str]:
    """Return the digests of the files in the folder that were read and are no Python."""
    paths = [Path(path).resolve() for path in read]
    return {
        str(path.relative_to(folder)): source_digest(path)
        for path in paths
        if folder and folder in path.parents and path.suffix != ".py" and path.is_file()
    }


def _beside(folder: Path | None, files: Iterable[str]) -> dict[str, bytes]:
    """Return the content of the files in the folder, as far as they are there."""
    paths = {file: folder / file for file in files if folder and ".." not in Path(file).parts}
    return {file: path.read_bytes() for file, path in paths.items() if path.is_file()}
