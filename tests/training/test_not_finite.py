"""An update that is not finite stops the run or is left out; its batch is kept."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from attnjax.errors import Diverged
from attnjax.lab.log import metrics_log
from attnjax.lab.loop.finite_check import FOLDER, MOST_IN_A_ROW
from attnjax.lab.loop.loop import train
from attnjax.lab.loop.run_state import Run, TrainResult
from attnjax.training.objectives.base import CrossEntropy, Totals
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import initial_state, on_one_device, train_step
from attnjax.training.train_setup import TrainSetup
from tests.training.looping import BATCHING, CORPUS, PER_EPOCH
from tests.training.toy import Toy

pytestmark = pytest.mark.usefixtures("compiled_once")

PLAN = BATCHING.plan(CORPUS.splits["train"])
SPOILED = 4
"""The update whose batch spoils the loss."""


def magic() -> float:
    """Return a number that is that batch's alone, of the batches of the first epochs."""
    numbers = [weighed(PLAN.batch(step, 0).source) for step in range(4 * PER_EPOCH)]
    assert numbers.count(numbers[SPOILED - 1]) == 1
    return float(numbers[SPOILED - 1])


def weighed(source: Any) -> Any:
    return (source * np.arange(1, source.size + 1).reshape(source.shape)).sum()


@dataclass(frozen=True, kw_only=True)
class Spoiled(CrossEntropy):
    """Spoils the training loss of one batch, or of all of them."""

    number: float = 0.0
    always: bool = False

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Any) -> Totals:
        totals = super().__call__(model, params, state, batch, key=key)
        spoil = (weighed(jnp.asarray(batch.source)) == self.number) | self.always
        if key is None:
            return totals
        loss, count = totals["loss"]
        factor = 1 + jnp.log(jnp.where(spoil, -1.0, 1.0))
        return {**totals, "loss": (factor * loss, count)}


def recipe(not_finite: Any, *, always: bool = False) -> Recipe:
    return Recipe(
        model=Toy(),
        objective=Spoiled(number=magic(), always=always),
        optimizer=Adam(schedule=Constant(value=1e-2), clip=1.0),
        training=Training(steps=4 * PER_EPOCH, batching=BATCHING, not_finite=not_finite),
    )


def go(folder: Path, given: Recipe, **options: Any) -> list[TrainResult]:
    runs = [Run(folder=folder, seed=0)]
    return train(runs, TrainSetup.of(given, CORPUS), console=Console(quiet=True), **options)


def test_a_skipped_update_changes_the_counts_alone():
    skipping, stopping = (
        jax.jit(partial(train_step, recipe=recipe(what), over_devices=on_one_device))
        for what in ("skip", "stop")
    )
    good, bad = PLAN.batch(0, 0), PLAN.batch(SPOILED - 1, 0)
    before = initial_state(jax.random.key(0), good, recipe=recipe("skip"))
    after, metrics = skipping(before, good)
    theirs, _ = stopping(before, good)
    assert metrics["skipped"] == 0
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-6), after.params, theirs.params)
    last, metrics = skipping(after, bad)
    assert metrics["skipped"] == 1
    assert not np.isfinite(metrics["loss"])
    assert last.step == 2
    jax.tree.map(np.testing.assert_array_equal, last.params, after.params)
    for ours, theirs in zip(
        jax.tree.leaves(last.optimizer), jax.tree.leaves(after.optimizer), strict=True
    ):
        moved = 1 if jnp.issubdtype(ours.dtype, jnp.integer) else 0
        np.testing.assert_array_equal(ours, theirs + moved)


def test_a_run_goes_on_without_the_update_and_keeps_its_batch(tmp_path):
    (result,) = go(tmp_path / "run", recipe("skip"))
    assert result.step == 4 * PER_EPOCH
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(result.params))
    rows = [row for row in metrics_log.read(tmp_path / "run") if row["split"] == "train"]
    assert sum(row["skipped"] for row in rows) == 1
    assert all(np.isfinite(row["loss"]) and row["host_memory"] > 2**20 for row in rows)
    (path,) = (tmp_path / "run" / FOLDER).iterdir()
    with np.load(path, allow_pickle=False) as kept:
        assert path.name == f"step-{SPOILED}.npz"
        jax.tree.map(np.testing.assert_array_equal, {**kept}, PLAN.batch(SPOILED - 1, 0)._asdict())


def test_a_run_that_stops_keeps_the_batch_and_names_its_file(tmp_path):
    said = rf"the loss of step {SPOILED} is nan; .*{FOLDER}/step-{SPOILED}\.npz"
    with pytest.raises(Diverged, match=said):
        go(tmp_path, recipe("stop"))
    assert (tmp_path / FOLDER / f"step-{SPOILED}.npz").is_file()


@pytest.mark.long
def test_jax_names_the_operation_if_it_is_asked_to(tmp_path):
    """Also after something has looked away from NaN for a while, as JAX itself does in a scan."""
    jax.config.update("jax_debug_nans", True)
    try:
        with jax.debug_nans(False):
            pass
        with pytest.raises(FloatingPointError, match="nan"):
            go(tmp_path, recipe("stop"))
    finally:
        jax.config.update("jax_debug_nans", False)


def test_too_many_skipped_updates_in_a_row_stop_the_run(tmp_path):
    said = f"last {MOST_IN_A_ROW} updates up to step {MOST_IN_A_ROW} were skipped"
    with pytest.raises(Diverged, match=said):
        go(tmp_path, recipe("skip", always=True))
