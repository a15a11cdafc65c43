"""Experiment files: a file's text, run, and the ablation that it defines."""

import ast
import dataclasses
import hashlib
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from attnjax.errors import UserError
from attnjax.experiment.experiment import Ablation, Experiment


@dataclass(frozen=True, kw_only=True)
class ExperimentFile:
    """An experiment file, read and run.

    Attributes:
        name: the file's, without `.py`.
        path: where it is.
        text: all of it.
        ablation: what it is about.
        own: the dataclasses that it defines or imports, by name.
        setting: which of its other settings `ablation` is of; None: of none.
    """

    name: str
    path: Path
    text: str
    ablation: Ablation
    own: dict[str, type]
    setting: str | None = None

    def at(self, setting: str | None) -> "ExperimentFile":
        """The same in another setting; None: as it is.

        Raises:
            UserError: there is none of that name; the nearest is named.
        """
        if setting is None:
            return self
        return dataclasses.replace(self, ablation=self.ablation.at(setting), setting=setting)

    @property
    def folder(self) -> str:
        """The name of the folder of its runs: those of another setting lie elsewhere."""
        return self.name if self.setting is None else f"{self.name}-{self.setting}"

    @property
    def title(self) -> str:
        """The note's first line."""
        return _note(self.text).partition("\n")[0]

    @property
    def note(self) -> str:
        """What follows it."""
        return _note(self.text).partition("\n")[2].strip("\n")


def load(path: Path) -> ExperimentFile:
    """Run an experiment file and take what it defines as `ablation`, or else as `experiment`.

    Raises:
        UserError: it cannot be read, is no Python, or defines neither.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the experiment file {path} cannot be read: {error}") from error
    return load_text(text, name=path.stem, path=path)


def load_text(text: str, *, name: str, path: Path) -> ExperimentFile:
    """The same of a text; `path` is what errors name."""
    module = _module(text, path)
    found = getattr(module, "ablation", None)
    if found is None and isinstance(getattr(module, "experiment", None), Experiment):
        found = Ablation(base=module.experiment, variants={"experiment": module.experiment})
    if not isinstance(found, Ablation):
        raise UserError(
            f"{path} must define `ablation`, an Ablation, or `experiment`, an Experiment"
        )
    own = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and dataclasses.is_dataclass(value)
    }
    return ExperimentFile(name=name, path=path, text=text, ablation=found, own=own)


def _module(text: str, path: Path) -> ModuleType:
    """The module of a text; of the same text the same one, so that its classes are equal."""
    name = f"experiment_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    try:
        code = compile(text, str(path), "exec")
    except SyntaxError as error:
        raise UserError(f"{path}, line {error.lineno or 1}, is not Python: {error.msg}") from error
    module = ModuleType(name)
    module.__file__ = str(path)
    # dataclasses and type hints look their module up by name
    sys.modules[name] = module
    try:
        exec(code, vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        frames = traceback.extract_tb(error.__traceback__)
        line = [frame.lineno for frame in frames if frame.filename == str(path)][-1]
        if isinstance(error, UserError):
            raise type(error)(f"{path}, line {line}: {error}") from error
        raise UserError(f"{path}, line {line}, failed: {type(error).__name__}: {error}") from error
    return module


def _note(text: str) -> str:
    """A file's docstring."""
    try:
        return ast.get_docstring(ast.parse(text)) or ""
    except SyntaxError:
        return ""
