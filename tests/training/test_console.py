"""Lines in a log say what their numbers are of."""

import io
from contextlib import closing

import numpy as np
import pytest
from rich.console import Console

from attnjax.training.log.console import Display


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
