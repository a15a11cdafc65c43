"""Prepared corpora: folders of encoded examples that are mapped into memory.

A folder has the columns of every split, the vocabularies, and a manifest with the digests of the
columns, which is written last. All columns are verified when they are opened for the first time;
verified.json has the times of these files, and they are verified again only if one was touched.
"""

import hashlib
import inspect
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnjax.config.class_code import code_of
from attnjax.config.read_json import WholeNumber, read_record
from attnjax.config.sealed import sealed, unsealed
from attnjax.config.serialize import parse_json, to_json
from attnjax.config.walk import is_part, walk
from attnjax.data.corpora.slices import whole_split
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Examples, Rows
from attnjax.data.row_files import MappedTexts, RowFile, damaged
from attnjax.data.text_task import TextTask
from attnjax.data.vocabularies import Vocabularies, load_vocabularies
from attnjax.data.vocabulary import VocabularyPart
from attnjax.errors import UserError
from attnjax.files import file_digest, write_atomically

VARIABLE = "ATTNJAX_PREPARED"
"""The environment variable that names the folder of prepared corpora."""

MANIFEST, PROGRESS, VERIFIED = "manifest.json", "progress.json", "verified.json"
VOCABULARY = "vocabulary"
FORM = 3
"""The version of the files' format: after a change, corpora are prepared anew."""


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
        """Whether the file's content differs, or is gone; it is read if only the time differs."""
        path = Path(self.path)
        if not path.is_file() or path.stat().st_size != self.size:
            return True
        return path.stat().st_mtime_ns != self.modified and file_digest(path) != self.sha256


@dataclass(frozen=True, kw_only=True)
class PreparedSplit:
    """The numbers of examples of a split that were read, and that were kept and written.

    Attributes:
        lengths: the numbers of those whose longer side has 1, 2, 3 to 4, 5 to 8, ... symbols.
        digests: the SHA-256 of the columns' files, by their names.
        texts: the digest of the texts, see `Corpus.digest`; "": not all are written yet.
    """

    name: str  # "train", "valid" or "test"
    count: WholeNumber = 0
    kept: WholeNumber = 0
    lengths: tuple[WholeNumber, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    texts: str = ""


@dataclass(frozen=True, kw_only=True)
class PreparedManifest:
    """The source files and the contents so far of a prepared folder."""

    vocabulary: str  # the digest of the vocabularies
    files: tuple[SourceFile, ...]
    splits: tuple[PreparedSplit, ...] = ()  # those that are begun
    text_notes: tuple[str, ...] | None = None  # see `Corpus.text_notes`

    @classmethod
    def read(cls, folder: Path, name: str = MANIFEST) -> "PreparedManifest | None":
        """Read the manifest of a folder; None: it has none."""
        path = folder / name
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            return read_record(unsealed(content, path), cls, path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, IsADirectoryError) as error:
            raise UserError(f"{path} is damaged: delete {folder}") from error

    def split(self, name: str) -> PreparedSplit:
        """Return what is written of a split so far."""
        begun = (split for split in self.splits if split.name == name)
        return next(begun, PreparedSplit(name=name))

    def write(self, folder: Path, name: str = MANIFEST) -> None:
        write_atomically(folder / name, json.dumps(sealed(asdict(self)), indent=1) + "\n")


class Columns(NamedTuple):
    """Encoded examples and their texts, a file each."""

    source: Rows
    target: Rows
    sources: Rows
    references: Rows


def source_files(task: TextTask, splits: Iterable[str] | None = None) -> list[Path]:
    """List the absolute paths of the files of splits (None: all) and of the vocabularies.

    There are none if the task names no files.
    """
    names = task.split_names
    chosen = [whole_split(names[split]) for split in splits or names]
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


def column_files(folder: Path, split: PreparedSplit, vocabularies: Vocabularies) -> list[RowFile]:
    """Return the file of each column of a split; ids have the smallest type that holds them."""
    text = np.dtype(np.uint8), 256
    kinds = (*((side.dtype, side.size) for side in vocabularies if side is not None), text, text)
    names = (f"{split.name}.{column}" for column in Columns._fields)
    return [RowFile(folder / name, *kind) for name, kind in zip(names, kinds, strict=True)]


def check_columns(folder: Path, manifest: PreparedManifest) -> None:
    """Refuse columns that are not as they were written.

    They are read only if one of their files was touched since they were last read.
    """
    digests = {name: digest for split in manifest.splits for name, digest in split.digests.items()}
    times = {name: [digest, *_times(folder / name)] for name, digest in digests.items()}
    if _verified(folder) == times:
        return
    vocabularies = load_vocabularies(folder / VOCABULARY, manifest.vocabulary)
    for split in manifest.splits:
        for file in column_files(folder, split, vocabularies):
            file.check(split.kept, split.digests)
    with suppress(OSError):  # a folder that cannot be written to is read each time
        write_atomically(folder / VERIFIED, json.dumps(times, indent=1) + "\n")


def _times(path: Path) -> tuple[int, int, int]:
    """Return the size of a file, and the times of its last changes in nanoseconds.

    The second time cannot be set: a copy, or a file whose first time was set back, differs in it.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise damaged(path) from error
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _verified(folder: Path) -> Any:
    """Return the digests and times of the files when they were verified; None: they were not."""
    try:
        return parse_json((folder / VERIFIED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def own_classes(task: TextTask) -> dict[str, type]:
    """Return the classes of a task's parts that are not of attnjax, by name."""
    kinds = {type(part) for part in (task, *(value for _, value in walk(task))) if is_part(part)}
    return {kind.__name__: kind for kind in kinds if not kind.__module__.startswith("attnjax.")}


def source_code(kind: type) -> str | None:
    """Return the source code of a class; None: it is in no file, as one typed at a prompt."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return None


def prepared_folder() -> Path:
    """Return the folder of prepared corpora: ATTNJAX_PREPARED, or one in the user's cache."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return Path(os.environ.get(VARIABLE) or cache / "attnjax" / "prepared").expanduser()
    except RuntimeError as error:
        raise UserError(f"{error}; {VARIABLE} names the folder of prepared corpora") from error


def place(task: TextTask, vocabularies: Vocabularies | None = None) -> Path:
    """Return the folder of a corpus, prepared or not; vocabularies of None are learned."""
    given = "" if vocabularies is None else vocabularies.digest
    key = digest(task, [str(path) for path in source_files(task)], given)
    return prepared_folder() / f"{type(task).__name__}-{key}"


def digest(task: TextTask, *more: Any) -> str:
    """Return a digest of a task, of the code of its parts outside attnjax, and of more data."""
    own = own_classes(task)
    code = [code_of(own[name]) for name in sorted(own)]
    fields = {**to_json(task, own), "folder": None}  # however it is named, its files are the same
    content = json.dumps([FORM, fields, code, *more])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def mapped_corpus(task: TextTask, folder: Path, manifest: PreparedManifest) -> Corpus:
    """Map the corpus of a folder into memory."""
    vocabularies = load_vocabularies(folder / VOCABULARY, manifest.vocabulary)
    splits, sources, references = {}, {}, {}
    for split in manifest.splits:
        files = column_files(folder, split, vocabularies)
        columns = Columns(*(file.rows(split.kept) for file in files))
        splits[split.name] = Examples(columns.source, columns.target)
        sources[split.name] = MappedTexts(columns.sources, split.texts)
        references[split.name] = MappedTexts(columns.references, split.texts)
    train = manifest.split("train")
    return Corpus(
        vocabularies=vocabularies,
        splits=splits,
        sources=sources,
        references=references,
        notes=task.notes(train.kept, train.count),
        text_notes=manifest.text_notes,
    )
