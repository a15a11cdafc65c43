"""The stream of batches: the same on any number of processes, and from any step on."""

import hashlib
import pickle

import numpy as np
import pytest

from tests.training import joined
from tests.training.joined_stream import BATCHINGS, SEED
from tests.training.toy import pairs

pytestmark = pytest.mark.long

END, CUT = 9, 4


def stream(folder, batching: str, first: int, end: int, processes: int) -> str:
    """The hash of the batches that processes hold together, step by step."""
    folder.mkdir()
    words = ("-m", "tests.training.joined_stream", batching, str(first), str(end), folder)
    joined.finish(joined.start(words, processes=processes, devices=4 // processes))
    parts = [pickle.loads(path.read_bytes()) for path in sorted(folder.iterdir())]
    assert len(parts) == processes
    content = hashlib.sha256()
    for key in parts[0]:
        rows = sorted((held for part in parts for held in part[key]), key=lambda held: held[0])
        content.update(np.concatenate([rows for _, rows in rows]).tobytes())
    return content.hexdigest()


def expected(batching: str, first: int, end: int) -> str:
    """The hash of the plan's own batches."""
    plan, content = BATCHINGS[batching].plan(pairs(40)), hashlib.sha256()
    for step in range(first, end):
        for side in plan.batch(step, SEED):
            content.update(side.tobytes())
    return content.hexdigest()


@pytest.mark.parametrize("batching", BATCHINGS)
def test_killed_and_resumed_on_other_processes(tmp_path, batching):
    """Uninterrupted on 1, 2 and 4; cut at a step and resumed on another number of processes."""
    whole, head, tail = (expected(batching, *part) for part in ((0, END), (0, CUT), (CUT, END)))
    for processes in (1, 2, 4):
        assert stream(tmp_path / f"whole {processes}", batching, 0, END, processes) == whole
    for before, after in ((1, 2), (4, 1)):
        name = f"{before} then {after}"
        assert stream(tmp_path / f"{name}, cut", batching, 0, CUT, before) == head
        assert stream(tmp_path / f"{name}, resumed", batching, CUT, END, after) == tail
