"""A step of a run, computed again from the checkpoint before it."""

from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from attnjax.data.loaded import Corpora
from attnjax.errors import UserError
from attnjax.runs.initial_parameters import with_initial_parameters
from attnjax.trained.diagnosis import Diagnosis, diagnose
from attnjax.trained.trained_run import begun
from attnjax.training.checkpoints.checkpoint import Checkpoints, has_checkpoints
from attnjax.training.devices import sharding
from attnjax.training.loop.finite_check import kept_batch
from attnjax.training.loop.run_state import Run
from attnjax.training.step import State, train_step
from attnjax.training.train_setup import TrainSetup


def replay(folder: Path, step: int, *, trust: bool = False) -> tuple[int, Diagnosis]:
    """Compute a step of a run again, alone, and say what in it is not finite.

    Returns the step of the checkpoint before it, from which updates are made again, and the
    diagnosis. Steps count from 1. A run that was trained together with other seeds is rounded
    differently when it is alone.

    Raises:
        UserError: as `open_trained`, the run has fewer steps, or its data are not what they were.
    """
    manifest, experiment, vocabularies = begun(folder, trust=trust)
    steps = experiment.training.steps
    if step > steps:
        raise UserError(f"{folder} has {steps} steps; got step {step}")
    corpus = Corpora().of(experiment.task)
    if corpus.vocabularies.digest != vocabularies.digest:
        raise UserError(f"the data of {folder} are not what they were: the vocabulary is another")
    experiment = experiment.resolve(corpus)
    recipe, seed = experiment.recipe, manifest.seed
    setup = TrainSetup.of(recipe, corpus).of_seeds(corpus, manifest.group_seeds)
    plan = setup.plan_of(seed)
    batch = plan.batch(step - 1, seed)
    kept = kept_batch(folder, step)
    if kept is not None and not all(map(partial(np.array_equal, equal_nan=True), kept, batch)):
        raise UserError(f"the data of {folder} are not what they were when step {step} was made")
    if experiment.initial_parameters_from is not None:
        runs = [Run(folder=folder, seed=seed)]
        above = folder.resolve().parents[2]
        setup, _ = with_initial_parameters(setup, experiment, vocabularies, runs, above)
    state = _state_before(folder, step, setup, seed)
    first = int(state.step)
    devices = sharding.devices(
        recipe.training.parallel, rows=recipe.training.batching.batch_size_multiple, seeds=False
    )
    healthy = None
    if first < step - 1:
        healthy = state, plan.batch(first, seed)
        update = devices.compile(partial(train_step, recipe=recipe), donate=False)
        held = devices.replicate(state)
        for number in range(first, step - 1):
            held, _ = update(held, devices.shard(plan.batch(number, seed)))
        state = devices.fetch(held)
    return first, diagnose(state, batch, recipe=recipe, healthy=healthy)


def _state_before(folder: Path, step: int, setup: TrainSetup, seed: int) -> State:
    """The state of the latest checkpoint before a step; the initial state if there is none."""
    if has_checkpoints(folder):
        with closing(Checkpoints(folder, only_read=True)) as checkpoints:
            if before := [saved for saved in checkpoints.steps if saved < step]:
                return checkpoints.restore(before[-1], setup.state_shapes())
    return setup.initial_state(seed)
