"""Training, from the beginning or from where it was left, to its end."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import jax
from rich.console import Console

from attnjax.data.batching import in_order
from attnjax.errors import Interrupted
from attnjax.training.checkpoint import full_disk
from attnjax.training.console import display
from attnjax.training.group import Group, TrainSetup
from attnjax.training.interruption import interruption
from attnjax.training.member import Run, RunState, TrainResult
from attnjax.training.objectives.base import Objective
from attnjax.training.optimizers import Optimizer
from attnjax.training.settings import Training
from attnjax.training.step import initial_state


def train(
    runs: Sequence[Run],
    *,
    model: Any,
    corpus: Any,
    objective: Objective,
    optimizer: Optimizer,
    training: Training,
    console: Console,
    title: str = "",
) -> list[TrainResult]:
    """Train runs that differ in their seed only, together in one program.

    Each goes on from its folder's latest checkpoint, and the result is bit for bit that of a run
    that was not interrupted; one that had finished is not trained again. A run's folder gets
    checkpoints, metrics.jsonl and TensorBoard's files.

    metrics.jsonl has an object a line: "step", "epoch" (from 1), "split" ("train" or "valid"),
    "seconds" (as in `TrainResult`, so far) and the objective's means over tokens ("loss", "nll",
    "accuracy"). Training rows hold means since the row before, or since an interruption after it,
    and also "learning_rate", "gradient_norm" (before clipping) and "tokens_per_second" (of the
    target).

    Args:
        runs: folders and seeds.
        model: see `attnjax.models`; its vocabulary is filled in.
        corpus: see `attnjax.data.corpus`; its splits "train" and "valid" (if it has one) are used.
        objective: what is minimised.
        optimizer: how.
        training: how long, and on what.
        console: where the progress is shown.
        title: the name of the training there; the first run's folder by default.

    Raises:
        UserError: as `Training.check`; a loss or gradient that is not finite, a checkpoint that
            cannot be read, a full disk.
        Interrupted: Ctrl-C was pressed; every run is saved as it is.
    """
    training.check(corpus)
    plan = training.batching.plan(corpus.splits["train"])
    examples = corpus.splits.get("valid")
    valid = [batch for _, batch in in_order(examples, training.batching)] if examples else []
    job = TrainSetup(
        model=model,
        plan=plan,
        valid=valid,
        objective=objective,
        optimizer=optimizer,
        training=training,
        several=len(runs) > 1,
    )
    with ExitStack() as opened:
        opened.enter_context(full_disk(runs[0].folder))
        interrupted = opened.enter_context(interruption())
        members = _members(runs, job, opened)
        shown = opened.enter_context(
            display(console, title=title or runs[0].folder.name, steps=training.steps)
        )
        # the runs of a group are at one step, unless they were killed while they were being saved
        for step in sorted({member.step for member in members}):
            together = [m for m in members if m.step == step and m.standing.stopped is None]
            if together:
                Group(together, job, shown, interrupted).train()
        outcomes = [_outcome(member, job) for member in members]
        if interrupted():
            raise Interrupted(f"{runs[0].folder} is trained")
        return outcomes


def _members(runs: Sequence[Run], job: TrainSetup, opened: ExitStack) -> list[RunState]:
    """The runs, as they were left or with first parameters."""
    batch = job.plan.batch(0, runs[0].seed)
    initial = partial(
        initial_state,
        batch=batch,
        model=job.model,
        objective=job.objective,
        transform=job.optimizer.make(),
    )
    like = jax.eval_shape(initial, jax.random.key(0))
    members = [opened.enter_context(closing(RunState(run, like))) for run in runs]
    for member in members:
        if member.state is None:
            # not compiled: drawing many arrays in one program takes XLA longer than the drawing
            member.state = initial(jax.random.key(member.run.seed))
    return members


def _outcome(member: RunState, job: TrainSetup) -> TrainResult:
    step = member.checkpoints.steps[-1]
    standing = member.standing
    return TrainResult(
        params=member.checkpoints.average(job.training.average),
        step=step,
        epochs=step / job.plan.per_epoch,
        seconds=standing.seconds,
        stopped=standing.stopped or "steps",
        best=standing.best,
    )
