"""A run's metrics: a line each in metrics.jsonl, and the same for TensorBoard beside it."""

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tensorboardX.event_file_writer import EventsWriter

# protobuf makes the classes when the modules are imported
from tensorboardX.proto.event_pb2 import Event, SessionLog  # pyright: ignore
from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore

FILE = "metrics.jsonl"
"""The name of the file in a run's folder."""

SECONDS_BETWEEN_FLUSHES = 10
"""How late TensorBoard is; metrics.jsonl is up to date."""


class Record:
    """The metrics of the run in `folder`, which goes on after `step`: later rows are dropped."""

    def __init__(self, folder: Path, *, step: int) -> None:
        """Open the run's files."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        kept = [row for row in read(folder) if row["step"] <= step]
        rewritten = path.with_suffix(".tmp")
        rewritten.write_text("".join(_line(row) for row in kept), encoding="utf-8")
        rewritten.replace(path)
        self._file = path.open("a", encoding="utf-8", buffering=1)
        # not SummaryWriter, whose thread would meet a full disk where nobody sees it
        self._board = EventsWriter(str(folder / "events"), filename_suffix=f".{step}")
        self._flushed = time.monotonic()
        start = SessionLog(status=SessionLog.START)  # TensorBoard drops later steps, too
        self._board.write_event(Event(step=step + 1, session_log=start))

    def write(self, *, step: int, epoch: int, split: str, **values: float) -> None:
        """One row."""
        self._file.write(_line({"step": step, "epoch": epoch, "split": split, **values}))
        scalars = [
            Summary.Value(tag=f"{split}/{name}", simple_value=value)
            for name, value in values.items()
        ]
        self._board.write_event(
            Event(step=step, wall_time=time.time(), summary=Summary(value=scalars))
        )
        if time.monotonic() - self._flushed > SECONDS_BETWEEN_FLUSHES:
            self._board.flush()
            self._flushed = time.monotonic()

    def close(self) -> None:
        with closing(self._file), closing(self._board):
            pass


def read(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run's metrics.jsonl; the last may be cut off, and is then left out."""
    path = folder / FILE
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row) + "\n"
