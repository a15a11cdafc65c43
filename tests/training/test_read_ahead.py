"""Batches made ahead are those of their steps; the thread ends with the training."""

import threading

import numpy as np
import pytest

from attnjax.data.packed import Packed
from attnjax.errors import Interrupted
from attnjax.lab.log import metrics_log
from attnjax.lab.loop.run_state import AHEAD, ReadAhead
from tests.models.small import small
from tests.training.looping import CORPUS, go, interrupt, same

PACKED = Packed(max_tokens=48, length=12, shapes=1, batch_size_multiple=1)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "read ahead"]


def test_values_in_order_and_a_few_ahead():
    made, first = [], threading.Event()

    def make(number):
        made.append(number)
        if number == AHEAD + 3:
            first.set()
        return 10 * number

    ahead = ReadAhead(make, end=100)
    assert [ahead.take(number) for number in (3, 4)] == [30, 40]
    # two were taken, AHEAD wait in the queue, one waits for room
    assert first.wait(10)
    assert max(made) <= 4 + AHEAD + 1
    assert ahead.take(50) == 500, "a number that is not the next begins anew"
    ahead.close()
    assert not threads()


def test_nothing_behind_the_end():
    made = []
    ahead = ReadAhead(made.append, end=2)
    ahead.take(0)
    ahead.take(1)
    ahead.close()
    assert made == [0, 1]


def test_an_error_comes_where_the_value_is_taken():
    def make(number):
        if number == 1:
            raise OSError("the disk is gone")
        return number

    ahead = ReadAhead(make, end=5)
    assert ahead.take(0) == 0
    with pytest.raises(OSError, match="the disk is gone"):
        ahead.take(1)
    ahead.close()
    assert not threads()


@pytest.fixture(scope="module")
def model():
    return small(layers=1).clone(vocabulary=12, embeddings="shared")


def test_packed_training_goes_on_after_an_interruption(tmp_path, monkeypatch, model):
    per_epoch = PACKED.plan(CORPUS.splits["train"]).per_epoch
    settings = {"model": model, "batching": PACKED, "steps": 2 * per_epoch + 1}
    (whole,) = go(tmp_path / "whole", 1, **settings)
    rows = [row for row in metrics_log.read(tmp_path / "whole" / "1") if row["split"] == "train"]
    assert all(0 <= row["waiting_for_data"] <= 1 and 0 <= row["padding"] < 1 for row in rows)
    assert rows[0]["padding"] == pytest.approx(PACKED.plan(CORPUS.splits["train"]).padding)
    assert not threads()
    with monkeypatch.context() as patched:
        interrupt(patched, 4)
        with pytest.raises(Interrupted, match="step 4"):
            go(tmp_path / "cut", 1, **settings)
    assert not threads(), "Ctrl-C ends the thread"
    (resumed,) = go(tmp_path / "cut", 1, **settings)
    assert same(whole.params, resumed.params)
    assert np.isfinite(whole.best)
