"""Files of records: one for each experiment, in which each run has a line.

    <records>/<experiment>[-<setting>].jsonl

A line is a JSON object with a digest of its own content. It is written once and never changed, by
hand or otherwise. The lines of a file are sorted, so that version control merges the lines that
two branches add. Records of equal keys add up over days and machines.

Files of one record, <records>/<experiment>[-<setting>]/<variant>/<name>.json, are read as well;
earlier versions wrote these.
"""

import errno
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from attnjax.config.read_json import read_record
from attnjax.config.sealed import sealed, unsealed
from attnjax.config.serialize import json_text, parse_json
from attnjax.errors import UserError
from attnjax.files import plain_file, write_atomically
from attnjax.lab.results.record import Line, Record
from attnjax.lab.runs.json_files import read_sealed

LOCK = ".lock"
"""The file that a process locks while it adds records to a folder."""

CONFLICT = re.compile(rb"<{7}( |$)|[|]{7}( |$)|={7}$|>{7}( |$)")
"""The marks of version control around lines that it could not merge."""


def read_records(folder: str | Path, *others: Path) -> list[Record]:
    """Return all records in the files of folders, in the order in which they were recorded.

    The copy of a record counts once.

    Raises:
        UserError: there is none in the first folder, one is damaged, or two are of the same
            settings, data, seed and machine and have other numbers.
    """
    found = [*_records(Path(folder))]
    if not found:
        raise UserError(f"{folder} holds no records; `attnjax record RUNS` writes them")
    found += [record for other in others for record in _records(other)]
    kept: dict[object, Record] = {}
    of_run: dict[object, Record] = {}
    for record in found:
        first = kept.setdefault(record.identity, record)
        for known in (first, of_run.setdefault(_run_of(record), record)):
            if not alike(record, known):
                raise UserError(
                    f"{known.source} and {record.source} are the records of two runs with the same "
                    "settings, seed and machine, of which one counts: remove one of them"
                )
    return sorted(kept.values(), key=lambda record: record.recorded)


def records_of(folder: Path, keys: Collection[str]) -> list[Record]:
    """Return the records of some keys in the files of a folder; what is not theirs is not read.

    Raises:
        UserError: one of them is damaged.
    """
    return [record for record in _records(folder, keys) if record.key in keys]


def _records(folder: Path, keys: Collection[str] | None = None) -> Iterator[Record]:
    """Yield the records in the files of a folder, if need be of some keys alone.

    Hidden files, which other programs leave, are none.
    """
    for path in sorted(folder.glob("[!.]*.jsonl")):
        for place, text in _lines(path):
            if keys is None or any(key.encode() in text for key in keys):
                yield _of_line(place, text)
    for path in sorted(folder.glob("[!.]*/[!.]*/[!.]*.json")):
        if keys is None or any(path.name.startswith(f"{key}-") for key in keys):
            yield read_file(path)


def _lines(path: Path) -> Iterator[tuple[Line, bytes]]:
    """Yield the lines of a file that are not empty."""
    try:
        content = plain_file(path).read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"{path} is a link to nothing") from error
    for number, text in enumerate(content.split(b"\n"), start=1):
        if text.strip():
            yield Line(path, number), text.strip()


def _of_line(place: Line, text: bytes) -> Record:
    """Return the record of a line."""
    if CONFLICT.match(text):
        raise UserError(
            f"{place} is a mark of a merge conflict: keep the lines of both sides, and remove the "
            "marks between them"
        )
    try:
        content = parse_json(text.decode())
    except ValueError as error:
        raise UserError(f"{place} is damaged: it is not JSON ({error})") from error
    return _record(unsealed(content, place), place)


def read_file(path: Path) -> Record:
    """Read a file of one record.

    Raises:
        UserError: the file was changed, or is damaged.
    """
    try:
        content = read_sealed(path)
    except FileNotFoundError as error:
        raise UserError(f"{path} is a link to nothing") from error
    return _record(content, path)


def _record(content: dict[str, Any], place: Line | Path) -> Record:
    if "source" in content:
        raise UserError(f"{place} is damaged: a record does not say where it lies")
    return replace(read_record(content, Record, place), source=place)


def _run_of(record: Record) -> object:
    """Return what no two runs with other numbers have in common, whatever key a record names."""
    settings = record.settings, record.parts, record.tied_values, tuple(sorted(record.data.items()))
    place = record.experiment, record.setting, record.variant
    return (*place, record.seed, record.kind, *settings)


def alike(ours: Record, theirs: Record) -> bool:
    """Return whether two records have the same numbers and answers, of the same data and updates.

    A run's folder may get more files later, so digests of its files are not compared.
    """
    first, second = (
        (made.metrics, made.updates, made.data, made.vocabulary, made.parameters)
        for made in (ours, theirs)
    )
    answers = [made.answers for made in (ours, theirs) if made.answers is not None]
    return first == second and len({of.content() for of in answers}) < 2


def write(made: Sequence[Record], folder: Path) -> list[Record]:
    """Add records to the files of a folder; return those that were not there.

    A file is replaced as a whole, and one process adds to a folder at a time: a reader, and who
    begins again after a kill, finds all lines of before or all of after.

    Raises:
        UserError: there is a record of the same key, seed and machine with other numbers; the
            others of its file are added. Or a file is damaged, or the folder cannot be made.
    """
    by_file: dict[str, list[Record]] = {}
    for record in made:
        by_file.setdefault(record.file_name, []).append(record)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made: {error.strerror}") from error
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(folder / LOCK, fallback_to_soft=False))
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
                raise  # without locks, two processes that add at once may lose the lines of one
        return [new for name, records in by_file.items() for new in _add(records, folder / name)]


def _add(records: Sequence[Record], path: Path) -> list[Record]:
    """Add records to their file, and return the new ones."""
    lines = [(_of_line(place, text), text) for place, text in _lines(path)] if path.exists() else []
    earlier = map(read_file, path.with_suffix("").glob("[!.]*/[!.]*.json"))
    known = {record.identity: record for record in (*earlier, *(record for record, _ in lines))}
    new = [record for record in records if record.identity not in known]
    if new:
        lines += [(record, _line(record)) for record in new]
        lines.sort(key=lambda line: line[0].identity)
        write_atomically(path, b"".join(text + b"\n" for _, text in lines))
    for record in records:
        there = known.setdefault(record.identity, record)
        if not alike(there, record):
            raise UserError(
                f"{there.source or path} is the record of another run with the same settings, seed "
                "and machine; records are never replaced"
            )
    return new


def _line(record: Record) -> bytes:
    """Return the line of a record."""
    content = asdict(replace(record, source=None))
    del content["source"]
    # the digest is that of the content as it will be read, in which tuples are lists
    return json_text(sealed(parse_json(json_text(content)))).encode()
