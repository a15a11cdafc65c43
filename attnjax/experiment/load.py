"""Loading of experiment files: a file is executed, and its ablation is taken."""

import ast
import dataclasses
import hashlib
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from attnjax.config.parts import check_names
from attnjax.errors import UserError, first_line, message
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.experiment import Experiment
from attnjax.experiment.own_modules import FILE_MODULE, OwnModules, imported_from, use


@dataclass(frozen=True, kw_only=True)
class ExperimentFile:
    """A loaded experiment file.

    Attributes:
        name: the name of the file, without `.py`.
        own: the dataclasses that the file defines or imports, by name.
        imported: the digests of the modules of one's own that the file imports.
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
        if isinstance(value, type) and dataclasses.is_dataclass(value)
    }
    return ExperimentFile(
        name=name,
        path=path,
        text=text,
        docstring=ast.get_docstring(ast.parse(text)) or "",
        ablation=ablation,
        own=own,
        imported=imported.digests,
        modules=imported.beside,
    )


_imported: dict[str, OwnModules] = {}
"""What each module of an experiment file has imported, by the module's name."""


def _module(text: str, path: Path, folder: Path | None) -> tuple[ModuleType, OwnModules]:
    """Execute a text; return its module, and what it has imported.

    Equal texts that import equal modules give the same module, so that their classes are equal.
    """
    name = f"{FILE_MODULE}{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    known = _imported.get(name)
    if known is not None and name in sys.modules and known.current(folder):
        use(known)
        return sys.modules[name], known
    try:
        code = compile(text, str(path), "exec")
    except SyntaxError as error:
        raise UserError(f"{path}, line {error.lineno or 1}, is not Python: {error.msg}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise UserError(f"{path} is not Python that can be read: {first_line(error)}") from error
    module = ModuleType(name)
    module.__file__ = str(path)
    # dataclasses and type hints look up their module by name
    sys.modules[name] = module
    try:
        with imported_from(folder) as own:
            exec(code, vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        frames = traceback.extract_tb(error.__traceback__)
        line = [frame.lineno for frame in frames if frame.filename == str(path)][-1]
        if isinstance(error, UserError):
            raise type(error)(f"{path}, line {line}: {message(error)}") from error
        raise UserError(
            f"{path}, line {line}, failed: {type(error).__name__}: {first_line(error)}"
        ) from error
    _imported[name] = own
    return module, own
