"""A run's log: rows in metrics.jsonl, and the same numbers for TensorBoard."""

import errno
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tensorboardX.event_file_writer import EventsWriter

# protobuf makes the classes when the modules are imported
from tensorboardX.proto.event_pb2 import Event, SessionLog  # pyright: ignore
from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore

from attnjax.config.read_json import WholeNumber, count
from attnjax.config.serialize import json_text
from attnjax.errors import first_line, warn
from attnjax.files import plain_file, write_atomically

FILE = "metrics.jsonl"  # in a run's folder
EVENTS = "events"  # the first letters of TensorBoard's files, there too
SECONDS_BETWEEN_FLUSHES = 10  # the longest delay of TensorBoard's files; metrics.jsonl has none

type Watcher = Callable[[Path, Mapping[str, Any]], object]
"""A function of a run's folder and a row of its log."""

_watchers: dict[str, Watcher] = {}


def watch(call: Watcher) -> Watcher:
    """Call a function with every row that is written from now on, as a program of tracking wants.

    A decorator, for an experiment file. A function of the same name is replaced. An error of the
    function ends no training: a warning says it, and the function is called no more.
    """
    _watchers[getattr(call, "__name__", type(call).__name__)] = call
    return call


def _tell(folder: Path, row: Mapping[str, Any]) -> None:
    for name, call in [*_watchers.items()]:
        try:
            call(folder, row)
        except Exception as error:
            del _watchers[name]
            reason = f"{type(error).__name__}: {first_line(error)}"
            warn(f"{name} watched the log, failed ({reason}), and is called no more")


@dataclass(frozen=True, kw_only=True)
class LogEnd:
    """The size and the digest of metrics.jsonl when a checkpoint was saved."""

    size: WholeNumber = 0
    digest: str = hashlib.sha256().hexdigest()


class MetricsLog:
    """The log of the run in `folder`, which goes on after `step`."""

    def __init__(self, folder: Path, *, step: int, end: LogEnd) -> None:
        """Open the run's files, and drop the rows after `end`, which will be written again.

        If metrics.jsonl does not begin with the content that `end` describes, a warning names it,
        the damaged file is kept aside, and the rows that can still be read are kept.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        path = folder / FILE
        content = plain_file(path).read_bytes() if path.exists() else b""
        kept = content[: end.size]
        if hashlib.sha256(kept).hexdigest() != end.digest:
            rows = [row for row in _rows(content) if row.get("step", step + 1) <= step]
            kept = "".join(map(_line, rows)).encode()
            aside = path.with_suffix(".jsonl.corrupt")
            if path.exists():
                path.replace(aside)
            warn(
                f"{path} is not as it was at step {step}: {len(rows)} rows could be read"
                + (f", and the damaged file is kept as {aside.name}" if aside.exists() else "")
                + "; the training itself is not affected"
            )
        write_atomically(path, kept)
        self._file = path.open("ab", buffering=0)
        self._size, self._digest = len(kept), hashlib.sha256(kept)
        # not SummaryWriter: an error in its thread, such as a full disk, would not be seen
        self._board = EventsWriter(str(folder / EVENTS), filename_suffix=f".{step}")
        self._flushed = time.monotonic()
        start = SessionLog(status=SessionLog.START)  # makes TensorBoard drop later steps, too
        self._board.write_event(Event(step=step + 1, session_log=start))

    @property
    def end(self) -> LogEnd:
        return LogEnd(size=self._size, digest=self._digest.hexdigest())

    def write(self, *, step: int, epoch: int, split: str, **values: float) -> None:
        row = {"step": step, "epoch": epoch, "split": split, **values}
        line = _line(row).encode()
        if self._file.write(line) < len(line):  # so a disk that becomes full says it
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(line)
        self._digest.update(line)
        scalars = [Summary.Value(tag=f"{split}/{k}", simple_value=v) for k, v in values.items()]
        summary = Summary(value=scalars)
        self._board.write_event(Event(step=step, wall_time=time.time(), summary=summary))
        if time.monotonic() - self._flushed > SECONDS_BETWEEN_FLUSHES:
            self._board.flush()
            self._flushed = time.monotonic()
        _tell(self._folder, row)

    def close(self) -> None:
        with closing(self._file), closing(self._board):
            pass


class RunningMean:
    """Means of metrics over tokens, since it was made: arrays with a value for each run."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.tokens: Any = 0.0
        self._sums: dict[str, Any] = {}

    @property
    def seconds(self) -> float:
        """The time since it was made."""
        return max(time.monotonic() - self._began, 1e-9)

    def add(self, metrics: dict[str, np.ndarray]) -> None:
        """Add the means of a step, weighted by its "tokens"."""
        tokens = metrics["tokens"]
        self.tokens = self.tokens + tokens
        for name, value in metrics.items():
            if name != "tokens":
                self._sums[name] = self._sums.get(name, 0.0) + value * tokens

    def means(self) -> dict[str, np.ndarray]:
        """Return the means, and "tokens_per_second"; {} if nothing was added."""
        if not self._sums:
            return {}
        speed = self.tokens / self.seconds
        # nan for a run whose updates were all skipped
        counts = np.where(self.tokens, self.tokens, np.nan)
        means = {name: total / counts for name, total in self._sums.items()}
        return means | {"tokens_per_second": speed}


def read(folder: Path) -> list[dict[str, Any]]:
    """Read the rows of a run's metrics.jsonl up to the first that is damaged or cut off."""
    path = folder / FILE
    return _rows(plain_file(path).read_bytes()) if path.exists() else []


def _rows(content: bytes) -> list[dict[str, Any]]:
    rows = []
    for line in content.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not _is_row(row):
            break
        # null stands for a number that is not finite
        rows.append({name: math.nan if value is None else value for name, value in row.items()})
    return rows


def _is_row(row: Any) -> bool:
    """Return whether a row is one that `MetricsLog` writes: numbers, at a step of a split."""
    return (
        isinstance(row, dict)
        and isinstance(row.get("split"), str)
        and count(row.get("step"))
        and all(isinstance(row[name], int | float | None) for name in row if name != "split")
    )


def _line(row: dict[str, Any]) -> str:
    return json_text(row) + "\n"
