"""Lines in a log say what their numbers are of."""

import io
from contextlib import closing

import numpy as np
import pytest
from rich.console import Console

from attnjax.lab.log import console
from attnjax.lab.log.console import Display


@pytest.mark.parametrize(
    "losses, loss",
    [([2.0, 4.0, 6.0], "loss 4  valid loss 8  (mean of 3 seeds)"), ([4.0], "loss 4")],
)
def test_a_mean_over_seeds_is_called_one(losses, loss):
    written = io.StringIO()
    with closing(Display(Console(file=written), title="scaled", steps=10)) as shown:
        train = {"loss": np.asarray(losses), "tokens_per_second": np.ones(len(losses))}
        valid = {"loss": 2 * np.asarray(losses)} if len(losses) > 1 else {}
        shown.epoch(1, 5, train, valid)
    speed = f"{len(losses)} tokens/s"
    assert written.getvalue() == f"scaled  epoch 1  step 5 of 10  {loss}  {speed}\n"


def test_the_time_left_forgets_the_minutes_in_which_shapes_were_compiled(monkeypatch):
    """Three updates of new shapes take five minutes, then an update takes half a second."""
    now, written = 0.0, io.StringIO()
    monkeypatch.setattr(console.time, "monotonic", lambda: now)
    to_a_log = Console(file=written, get_time=lambda: now)
    with closing(Display(to_a_log, title="tiny", steps=1_000)) as shown:
        for step in range(1, 1_000):
            now += 100.0 if step <= 4 else 0.5
            shown.step(step, np.ones(1))
    left = [line.rpartition("  ")[2] for line in written.getvalue().splitlines()]
    assert left[:4] == ["loss 1", "1663 min left", "1662 min left", "1660 min left"]
    # then the updates that are left, at half a second each
    assert left[4:] == [*(f"{minutes} min left" for minutes in (7, 6, 5, 4, 3, 2, 1)), "18 s left"]


def test_runs_that_follow_from_an_earlier_step_have_a_speed_of_their_own(monkeypatch):
    """Runs that stood at different steps when they were interrupted go on in groups."""
    now, written = 0.0, io.StringIO()
    monkeypatch.setattr(console.time, "monotonic", lambda: now)
    to_a_log = Console(file=written, get_time=lambda: now)
    with closing(Display(to_a_log, title="tiny", steps=1_000)) as shown:
        for step in [*range(600, 1_001), *range(1, 201)]:
            now += 0.5 if step >= 600 else 2.0
            shown.step(step, np.ones(1))
    second = [line for line in written.getvalue().splitlines() if int(line.split()[2]) < 600]
    left = [line.rpartition("  ")[2] for line in second]
    assert left == [f"{minutes} min left" for minutes in (33, 32, 31, 30, 29, 28, 27)]
