"""The stream of batches: the same on any number of processes, and from any step on."""

import hashlib
import pickle

import numpy as np
import pytest

from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.prepared import VARIABLE
from tests.training import joined
from tests.training.joined_stream import BATCHINGS, SEED
from tests.training.toy import pairs

pytestmark = pytest.mark.long

END, CUT = 9, 4


def stream(folder, corpus: str, batching: str, first: int, end: int, processes: int) -> str:
    """Return the hash of the batches that processes hold together, step by step."""
    folder.mkdir()
    words = ("-m", "tests.training.joined_stream", corpus, batching, str(first), str(end), folder)
    joined.finish(joined.start(words, processes=processes, devices=4 // processes))
    parts = [pickle.loads(path.read_bytes()) for path in sorted(folder.iterdir())]
    assert len(parts) == processes
    content = hashlib.sha256()
    for key in parts[0]:
        rows = sorted((held for part in parts for held in part[key]), key=lambda held: held[0])
        content.update(np.concatenate([rows for _, rows in rows]).tobytes())
    return content.hexdigest()


def expected(examples, batching: str, first: int, end: int) -> str:
    """Return the hash of the batches that a plan makes of examples in memory."""
    plan, content = BATCHINGS[batching].plan(examples), hashlib.sha256()
    for step in range(first, end):
        for side in plan.batch(step, SEED):
            content.update(side.tobytes())
    return content.hexdigest()


@pytest.fixture(params=["memory", "prepared"])
def corpus(request, tmp_path, monkeypatch):
    """Return the name of a corpus for the processes, and its examples in memory."""
    if request.param == "memory":
        return "memory", pairs(40)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "prepared"))
    draw = np.random.default_rng(0)
    for side in ("en", "de"):
        lines = (" ".join(draw.choice([*"abcdef"], draw.integers(0, 9))) for _ in range(40))
        (tmp_path / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    task = ParallelText(folder=str(tmp_path), valid=None, test=None)
    return str(tmp_path), task.load().splits["train"]


@pytest.mark.parametrize("batching", BATCHINGS)
def test_killed_and_resumed_on_other_processes(tmp_path, corpus, batching):
    """Uninterrupted on 1, 2 and 4; cut at a step and resumed on another number of processes.

    All processes begin at once where the corpus is prepared.
    """
    name, examples = corpus
    parts = ((0, END), (0, CUT), (CUT, END))
    whole, head, tail = (expected(examples, batching, *part) for part in parts)
    for processes in (1, 2, 4):
        assert stream(tmp_path / f"whole {processes}", name, batching, 0, END, processes) == whole
    for before, after in ((1, 2), (4, 1)):
        title = f"{before} then {after}"
        assert stream(tmp_path / f"{title}, cut", name, batching, 0, CUT, before) == head
        assert stream(tmp_path / f"{title}, resumed", name, batching, CUT, END, after) == tail
