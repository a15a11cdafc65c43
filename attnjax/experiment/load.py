"""Loading of experiment files: a file is executed, and its ablation is taken."""

import ast
import copyreg
import dataclasses
import hashlib
import json
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from attnjax.config.own_code import FileModule
from attnjax.config.parts import check_names
from attnjax.config.serialize import to_json
from attnjax.errors import UserError, first_line, message
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.experiment import Experiment
from attnjax.experiment.own_modules import (
    OwnModules,
    builtins_of,
    imported_from,
    use,
)


@dataclass(frozen=True, kw_only=True)
class ExperimentFile:
    """A loaded experiment file.

    Attributes:
        name: the name of the file, without `.py`.
        own: the dataclasses that the file defines or imports, by name.
        imported: the digests of the modules of one's own that the file imports, and of the tables
            beside it that they and the file read meanwhile.
        modules: the content of those in the file's folder, by their paths there.
        setting: the name of the setting that `ablation` is in; None: no setting was chosen.
    """

    name: str
    path: Path
    text: str
    docstring: str
    ablation: Ablation
    own: dict[str, type]
    imported: Mapping[str, str]
    modules: Mapping[str, bytes]
    setting: str | None = None

    def at(self, setting: str | None) -> "ExperimentFile":
        """Return the file with its ablation in a setting, see `Ablation.at`; None: unchanged.

        Raises:
            UserError: no setting has this name; the nearest is named.
        """
        if setting is None:
            return self
        return dataclasses.replace(self, ablation=self.ablation.at(setting), setting=setting)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The record of each variant, every field of it, by the variant's name."""
        return {name: to_json(one, self.own) for name, one in self.ablation.variants.items()}

    @property
    def folder(self) -> str:
        """The name of the folder of the runs; each setting has a folder of its own."""
        return self.name if self.setting is None else f"{self.name}-{self.setting}"

    @property
    def title(self) -> str:
        """The first line of the file's docstring."""
        return self.docstring.partition("\n")[0]

    @property
    def note(self) -> str:
        """The rest of the file's docstring."""
        return self.docstring.partition("\n")[2].strip("\n")


def load(path: str | Path) -> ExperimentFile:
    """Execute an experiment file, and take its `ablation`, or else its `experiment`.

    Raises:
        UserError: the file cannot be read, is not Python, fails, defines neither name, or defines
            a part that has a shipped part's name.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the experiment file {path} cannot be read: {error}") from error
    loaded = load_text(text, name=path.stem, path=path, folder=path.resolve().parent)
    try:  # not for a run's record: its part may be older than the shipped one
        check_names(loaded.own.values())
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return loaded


def load_text(text: str, *, name: str, path: Path, folder: Path | None = None) -> ExperimentFile:
    """Load an experiment from the text of a file; error messages name `path`.

    Modules of one's own that the text imports are in `folder`; None: on Python's path alone.
    """
    module, imported = _module(text, path, folder)
    ablation = getattr(module, "ablation", None)
    if ablation is None and isinstance(getattr(module, "experiment", None), Experiment):
        ablation = Ablation(base=module.experiment, variants={"experiment": module.experiment})
    if not isinstance(ablation, Ablation):
        raise UserError(
            f"{path} must define `ablation`, an Ablation, or `experiment`, an Experiment"
        )
    own = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and is_dataclass(value)
    }
    return ExperimentFile(
        name=name,
        path=path,
        text=text,
        docstring=ast.get_docstring(ast.parse(text)) or "",
        ablation=ablation,
        own=own,
        imported={**imported.digests, **imported.tables},
        modules=imported.beside,
    )


FILE_MODULE = "experiment_"
"""How the name of the module of an experiment file begins."""

type Origin = tuple[str, str, str | None]
"""The text of a module, the path that its errors name, and the folder of its own modules."""

_loaded: dict[str, tuple[FileModule, OwnModules]] = {}
"""The modules of experiment files, by their names, and what each has imported."""


def _module(text: str, path: Path, folder: Path | None) -> tuple[FileModule, OwnModules]:
    """Execute a text; return its module, and what it has imported.

    One file gives the same module, so that its classes are equal, until it, a module that it
    imports or a file that it reads is changed. So do equal texts apart from their folders, such as
    the copies of one file in several runs.
    """
    place = [str(folder), path.name if folder == path.resolve().parent else ""]
    base = FILE_MODULE + hashlib.sha256(json.dumps([text, *place]).encode()).hexdigest()[:16]
    before = [name for name in _loaded if name.startswith(base)]
    if before and (last := _loaded[before[-1]])[1].current:
        use(last[1])
        return last
    try:
        code = compile(text, str(path), "exec")
    except SyntaxError as error:
        raise UserError(f"{path}, line {error.lineno or 1}, is not Python: {error.msg}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise UserError(f"{path} is not Python that can be read: {first_line(error)}") from error
    # the classes of an earlier module are still in use: it keeps its name
    module = FileModule(f"{base}_{len(before)}" if before else base, text)
    module.__file__ = str(path.absolute())
    # dataclasses and type hints look up their module by name
    sys.modules[module.__name__] = module
    try:
        with imported_from(folder, text) as own:
            module.modules = own.modules
            module.__dict__["__builtins__"] = builtins_of(own)
            exec(code, vars(module))
    except KeyboardInterrupt:
        del sys.modules[module.__name__]
        raise
    except BaseException as error:  # of a file anything may come
        del sys.modules[module.__name__]
        frames = traceback.extract_tb(error.__traceback__)
        line = [frame.lineno for frame in frames if frame.filename == str(path)][-1]
        if isinstance(error, UserError):
            raise type(error)(f"{path}, line {line}: {message(error)}") from error
        raise UserError(
            f"{path}, line {line}, failed: {type(error).__name__}: {first_line(error)}"
        ) from error
    _loaded[module.__name__] = module, own
    origin = text, str(path.absolute()), None if folder is None else str(folder)
    for holder in (module, *own.modules.values()):
        _let_parts_be_pickled(holder, module.__name__, origin)
    return module, own


def _let_parts_be_pickled(holder: ModuleType, name: str, origin: Origin) -> None:
    """Let Python pickle the parts of a module that another process cannot import by its name."""
    for key, kind in vars(holder).items():
        if isinstance(kind, type) and kind.__module__ == holder.__name__ and is_dataclass(kind):
            copyreg.pickle(kind, partial(_reduced, name, origin, holder.__name__, key))


def _reduced(name: str, origin: Origin, holder: str, key: str, part: Any) -> tuple[Any, ...]:
    """Return how a part is made again, as `pickle` and `copy` want it."""
    make, given, *rest = part.__reduce_ex__(4)
    if make is not vars(copyreg)["__newobj__"]:  # the class says itself how it is made
        return (make, given, *rest)
    return (_new, (name, origin, holder, key, *given[1:]), *rest)


def _new(name: str, origin: Origin, holder: str, key: str, *given: Any) -> Any:
    """Return a new part of a class of an experiment file, or of a module beside it."""
    text, path, folder = origin
    found = _loaded.get(name) or _module(text, Path(path), None if folder is None else Path(folder))
    module, own = found
    kind = vars(own.modules.get(holder, module))[key]
    return kind.__new__(kind, *given)
