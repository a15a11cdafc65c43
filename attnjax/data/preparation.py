"""The preparation of a corpus: its texts are encoded once, by all cores, and saved in files.

A preparation that was killed resumes after the examples counted in progress.json. One process at a
time works on a folder; the others wait, and say so.
"""

import errno
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnjax.config.machine import usable_cores
from attnjax.config.walk import walk
from attnjax.data.corpus import Corpus, Example, Task, build
from attnjax.data.prepared import (
    MANIFEST,
    PROGRESS,
    VARIABLE,
    VOCABULARY,
    Columns,
    PreparedManifest,
    PreparedSplit,
    SourceFile,
    check_columns,
    check_unchanged,
    column_files,
    digest,
    mapped_corpus,
    own_classes,
    place,
    prepared_folder,
    source_code,
    source_files,
)
from attnjax.data.row_files import MappedTexts
from attnjax.data.text_notes import text_notes
from attnjax.data.text_task import TextTask
from attnjax.data.tokenizing import map_chunks
from attnjax.data.vocabularies import Vocabularies, joint, load_vocabularies
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import MachineError, UserError
from attnjax.files import flush, new_folder

if TYPE_CHECKING:
    from rich.console import Console

LARGE = 100_000_000
"""A corpus whose files have at least these bytes, about 400,000 pairs, is prepared at first use."""

PER_PROCESS = 10_000_000
"""The bytes of files for which one more process is started, which takes a second."""

SAVE_EVERY = 100_000
"""The examples after which progress is saved."""

SECONDS_OF_SILENCE = 60.0
"""Where there are no locks, a process that gives no sign of life for this long has ended."""

NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
"""The errors of file systems without locks."""


def is_prepared(task: TextTask) -> bool:
    """Return whether a task's corpus is read from prepared files: if large or prepared already."""
    if None in map(source_code, own_classes(task).values()):
        return False  # nobody can tell whether the classes are those of a preparation
    files = source_files(task)
    return _size(files) >= LARGE or (bool(files) and (place(task) / MANIFEST).exists())


def to_be_prepared(task: Task) -> bool:
    """Return whether the first use of a task prepares its corpus, or that of a task in it."""
    parts = (task, *(part for _, part in walk(task)))
    texts = [part for part in parts if isinstance(part, TextTask)]
    return any(is_prepared(text) and not (place(text) / MANIFEST).exists() for text in texts)


def prepared(task: TextTask, vocabularies: Vocabularies | None = None) -> Corpus:
    """Return the corpus of a task from its prepared files, which are written if missing."""
    return mapped_corpus(task, *prepare(task, vocabularies))


def prepare(task: Task, vocabularies: Vocabularies | None = None) -> tuple[Path, PreparedManifest]:
    """Return the folder of a prepared corpus and its manifest; see `prepared`."""
    if not isinstance(task, TextTask) or not source_files(task):
        raise UserError(f"{type(task).__name__} names no files, by which texts are prepared")
    for name, kind in own_classes(task).items():
        if source_code(kind) is None:
            raise UserError(f"a corpus is prepared for classes in files; {name} stands in none")
    folder = place(task)
    manifest = PreparedManifest.read(folder)
    if vocabularies and (manifest is None or manifest.vocabulary != vocabularies.digest):
        folder = place(task, vocabularies)
        manifest = PreparedManifest.read(folder)
    if manifest is None:
        from attnjax.config.console import PlainConsole, print_line

        console = PlainConsole(stderr=True)
        with _working_on(folder, partial(print_line, console)) as check_alone:
            # another process may have prepared it while this one waited
            manifest = PreparedManifest.read(folder) or _prepare(
                task, vocabularies, folder, console, check_alone
            )
    check_unchanged(manifest.files, folder)
    check_columns(folder, manifest)
    return folder, manifest


@contextmanager
def alone(folder: Path, say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Be the only process that works on a folder; the folder above is created.

    Where the file system has no locks, a file beside the folder gives signs of life. The function
    that is yielded raises MachineError once another process has taken over.

    Raises:
        OSError: the folder above cannot be written to.
        MachineError: this process was silent for too long, and another one has taken over.
    """
    from filelock import FileLock, SoftFileLease

    folder.parent.mkdir(parents=True, exist_ok=True)
    lease = None
    try:
        lock = _acquired(FileLock(f"{folder}.lock", fallback_to_soft=False), folder, say)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        lease = SoftFileLease(f"{folder}.lease", lease_duration=SECONDS_OF_SILENCE)
        lock = _acquired(lease, folder, say)

    def check() -> None:
        if lease is not None and lease.compromise is not None:
            raise MachineError(
                f"{folder} was taken over by another process, because this one gave no sign of "
                "life; repeat the command once that process has ended"
            )

    with lock:
        yield check


def _acquired(lock: Any, folder: Path, say: Callable[[str], None]) -> Any:
    from filelock import Timeout

    try:
        return lock.acquire(blocking=False)
    except Timeout:
        say(f"data: waits for another process that prepares {folder}")
        return lock.acquire(poll_interval=0.5)


@contextmanager
def _working_on(folder: Path, say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Be alone on the folder of a corpus or a vocabulary, and refuse links in it; see `alone`."""
    with ExitStack() as locks:
        try:
            check_alone = locks.enter_context(alone(folder, say))
        except OSError as error:
            raise UserError(
                f"{folder.parent} cannot be written to ({error.strerror}); the variable {VARIABLE} "
                "names another folder for prepared corpora"
            ) from error
        for path in (folder, *folder.rglob("*")):
            if path.is_symlink():
                raise UserError(
                    f"{path} is a symbolic link, and a corpus is prepared in a folder of its own: "
                    f"remove the link, or delete {folder}"
                )
        yield check_alone


def _prepare(
    task: TextTask,
    vocabularies: Vocabularies | None,
    folder: Path,
    console: "Console",
    check_alone: Callable[[], None],
) -> PreparedManifest:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from attnjax.config.console import print_line

    say = partial(print_line, console)
    files = tuple(map(SourceFile.of, source_files(task)))
    size = sum(file.size for file in files)
    say(f"data: prepares {size / 1e6:,.0f} MB of files, once, in {folder}")
    vocabularies = vocabularies or _learned(task, files, say)
    made = PreparedManifest.read(folder, PROGRESS)
    if made is None or (made.files, made.vocabulary) != (files, vocabularies.digest):
        vocabularies.save(folder / VOCABULARY)
        made = PreparedManifest(vocabulary=vocabularies.digest, files=files)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        shown = bar.add_task("", total=size)
        for name in task.split_names:
            split = made.split(name)
            for split in _written(task, vocabularies, folder, made.split(name)):
                written = _size([*folder.glob("*.sources"), *folder.glob("*.references")])
                state = f"{name}: {split.count:,} examples"
                bar.update(shown, description=state, completed=written)
                check_alone()
                if split.count - made.split(name).count >= SAVE_EVERY:
                    made = _saved(made, folder, split)
            made = _saved(made, folder, split)
    corpus = mapped_corpus(task, folder, made)
    splits = tuple(replace(split, texts=corpus.digest(split.name)) for split in made.splits)
    made = replace(made, splits=splits, text_notes=text_notes(corpus))
    check_unchanged(files, folder)
    made.write(folder)
    (folder / PROGRESS).unlink()
    kept = ", ".join(f"{split.kept:,} {split.name}" for split in made.splits)
    say(f"data: prepared {kept} examples, {_size(folder.glob('*')) / 1e6:,.0f} MB")
    return made


def _learned(
    task: TextTask, files: tuple[SourceFile, ...], say: Callable[[str], None]
) -> Vocabularies:
    """Return the vocabularies of a task, learned once for all tasks with its training texts."""
    wanted = {str(path) for path in source_files(task, ["train"])}
    # the other fields, which the vocabularies do not depend on, are at their defaults
    inputs = replace(task, valid=None, test=None, source_order=type(task).source_order)
    key = digest(inputs, [file.sha256 for file in files if file.path in wanted])
    folder = prepared_folder() / "vocabularies" / key
    with _working_on(folder, say):
        if not folder.exists():
            say("data: learns the vocabulary of the training texts")
            learned = _learn(task)
            with new_folder(folder) as new:
                learned.save(new)
    return load_vocabularies(folder)


def _learn(task: TextTask) -> Vocabularies:
    """Learn the vocabularies of a task; all cores count words, where both sides are of words."""
    source, target = task.vocabulary_parts
    processes = _processes(task, "train")
    if not (processes and isinstance(source, SplitWords) and isinstance(target, SplitWords)):
        return task.learn(lambda: filter(task.keeps, _examples(task, "train")))
    counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    call = partial(count_words, task, (source, target))
    for chunk in map_chunks(call, _examples(task, "train"), processes):
        for count, more in zip(counts, chunk, strict=True):
            count.update(more)
    if task.target_vocabulary is None:
        return joint(source.of_counts(counts[0] + counts[1]))
    return Vocabularies(source.of_counts(counts[0]), target.of_counts(counts[1]))


def count_words(
    task: TextTask, parts: tuple[SplitWords, SplitWords], examples: tuple[Example, ...]
) -> tuple[Counter[str], Counter[str]]:
    """Count each word in the sources, and in the targets, of the examples that are kept."""
    kept = [*filter(task.keeps, examples)]
    source, target = parts
    return source.count(pair.source for pair in kept), target.count(pair.target for pair in kept)


def _processes(task: TextTask, split: str) -> int:
    """Return the number of processes that tokenize a split; 0: this one does."""
    if own_classes(task):
        return 0  # a process of ours knows no classes of an experiment's file
    return min(usable_cores(), _size(source_files(task, [split])) // PER_PROCESS)


def _examples(task: TextTask, split: str) -> Iterable[Example]:
    return task.reader()(task.split_names[split])


def _written(
    task: TextTask, vocabularies: Vocabularies, folder: Path, split: PreparedSplit
) -> Iterator[PreparedSplit]:
    """Write the rest of a split; yield what is written of it, chunk by chunk."""
    files = column_files(folder, split, vocabularies)

    def with_digests(split: PreparedSplit) -> PreparedSplit:
        digests = {name: digest for file in files for name, digest in file.digests.items()}
        return replace(split, digests=digests)

    for file in files:
        file.keep(split.kept, split.digests)
    yield with_digests(split)
    examples = islice(_examples(task, split.name), split.count, None)
    call = partial(encode, task, vocabularies, split.name == "train")
    for read, columns in map_chunks(call, examples, _processes(task, split.name)):
        for file, rows in zip(files, columns, strict=True):
            file.append(rows)
        longer = np.maximum(columns.source.lengths, columns.target.lengths)
        lengths = np.bincount(np.ceil(np.log2(longer)).astype(int), minlength=len(split.lengths))
        lengths[: len(split.lengths)] += np.array(split.lengths, int)
        count, kept = split.count + read, split.kept + len(longer)
        split = replace(split, count=count, kept=kept, lengths=tuple(lengths.tolist()))
        yield with_digests(split)


def encode(
    task: TextTask, vocabularies: Vocabularies, train: bool, examples: tuple[Example, ...]
) -> tuple[int, Columns]:
    """Encode examples as `Task.load` does; return their number and the columns of those kept."""
    kept = [example for example in examples if not train or task.keeps(example)]
    part = build({"part": kept}, vocabularies, task.ids)
    split = part.splits["part"]
    texts = (MappedTexts.rows_of(side["part"]) for side in (part.sources, part.references))
    return len(examples), Columns(split.source, split.target, *texts)


def _saved(made: PreparedManifest, folder: Path, split: PreparedSplit) -> PreparedManifest:
    """Save how far a split is written, once that is on disk."""
    for path in folder.glob(f"{split.name}.*"):
        flush(path)
    others = (other for other in made.splits if other.name != split.name)
    made = replace(made, splits=(*others, split))
    made.write(folder, PROGRESS)
    return made


def _size(files: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in files)
