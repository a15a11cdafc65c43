"""What a training waits for too long is said."""

import threading
from contextlib import closing

import pytest

from attnjax.training.loop import stall_watch as watched
from attnjax.training.loop.stall_watch import StallWatch


@pytest.mark.parametrize("what", ["the data", "the devices"])
def test_a_long_wait_is_said_and_a_short_one_is_not(monkeypatch, what):
    monkeypatch.setattr(watched, "SECONDS_OF_SILENCE", 0.05)
    said: list[str] = []
    heard = threading.Event()

    def say(sentence: str) -> None:
        said.append(sentence)
        heard.set()

    with closing(StallWatch(say)) as watch:
        with watch.waiting_for(what):
            assert heard.wait(60), "nothing was said"
        with watch.waiting_for("nothing"):
            pass
    assert said[0].startswith(f"has been waiting for {what} for ")
    assert not any("nothing" in sentence for sentence in said)
