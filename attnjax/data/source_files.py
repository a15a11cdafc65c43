"""The files that a corpus is read from, and whether they are as they were."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attnjax.config.record import WholeNumber
from attnjax.config.walk import walk
from attnjax.data.text_task import TextTask
from attnjax.data.vocabulary import VocabularyPart
from attnjax.errors import UserError
from attnjax.files import file_digest


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """A file as it was when it was read."""

    path: str  # absolute
    size: WholeNumber  # bytes
    modified: WholeNumber  # nanoseconds
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "SourceFile":
        size, modified = path.stat().st_size, path.stat().st_mtime_ns
        return cls(path=str(path), size=size, modified=modified, sha256=file_digest(path))

    @property
    def changed(self) -> bool:
        """Whether the file's content is another one, or is gone; read if only the time differs."""
        path = Path(self.path)
        if not path.is_file() or path.stat().st_size != self.size:
            return True
        return path.stat().st_mtime_ns != self.modified and file_digest(path) != self.sha256


def source_files(task: TextTask, splits: Iterable[str] | None = None) -> list[Path]:
    """The files that splits (None: all) and the vocabularies are read from, as absolute paths.

    There are none if the task names no files.

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
