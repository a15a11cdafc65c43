"""The files that a corpus is read from, and whether they are as they were."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attnjax.config.record import WholeNumber
from attnjax.config.walk import walk
from attnjax.data.text_task import TextTask
from attnjax.data.vocabulary import VocabularyPart
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """A file as it was when it was read.

    Attributes:
        path: absolute.
        size: in bytes.
        modified: in nanoseconds.
        sha256: of its content.
    """

    path: str
    size: WholeNumber
    modified: WholeNumber
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "SourceFile":
        """A file as it is now."""
        state = path.stat()
        size, modified = state.st_size, state.st_mtime_ns
        return cls(path=str(path), size=size, modified=modified, sha256=_sha256(path))

    @property
    def changed(self) -> bool:
        """Whether the file's content is another one, or is gone; read if size or time differ."""
        path = Path(self.path)
        if not path.is_file():
            return True
        state = path.stat()
        if (state.st_size, state.st_mtime_ns) == (self.size, self.modified):
            return False
        return state.st_size != self.size or _sha256(path) != self.sha256


def source_files(task: TextTask, splits: Iterable[str] | None = None) -> list[Path]:
    """The files that a corpus and its vocabularies are read from, each once, as absolute paths.

    Args:
        task: the task; () of one that names no files.
        splits: "train", ...; None: all.

    Raises:
        UserError: a file is missing.
    """
    names = task.split_names
    chosen = [names[split].partition("[")[0] for split in splits or names]
    files = [path for name in chosen for path in task.files(name)]
    if files:
        parts = (part for _, part in walk(task) if isinstance(part, VocabularyPart))
        files += [path for part in parts for path in part.files()]
    return [*dict.fromkeys(path.resolve() for path in files)]


def check_unchanged(files: Iterable[SourceFile], folder: Path) -> None:
    """Refuse files that were changed since a folder was prepared from them."""
    for file in files:
        if file.changed:
            raise UserError(
                f"{file.path} was changed or removed since {folder} was prepared from it: bring it "
                "back, or delete the folder to prepare the corpus anew"
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
