"""Trainings that are killed at random moments, begun again, and compared with one that is not."""

import multiprocessing
import random
import shutil
import signal
import time
from collections.abc import Sequence
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from attnjax.lab.checkpoints.checkpoint import FOLDER, average
from attnjax.lab.log import metrics_log
from tests.training.looping import same

AVERAGE, EPOCHS = 3, 20
LIFE = 2.0
"""The longest time, in seconds, from the first batch of a training to its death."""


def live(folder: Path, seeds: Sequence[int], born: Connection) -> None:
    """Train: every step is logged, saves are frequent and slow."""
    import orbax.checkpoint as ocp

    from attnjax.data.batch_plan import BatchPlan
    from attnjax.lab.loop import saving as saves, train_log
    from tests.training.looping import PER_EPOCH, go

    train_log.FEWEST_STEPS_A_ROW = train_log.MOST_STEPS_A_ROW = 1
    saves.SECONDS_WITHIN_AN_EPOCH = 0.05
    save, batch = ocp.Checkpointer.save, BatchPlan.batch

    def slowly(*given: Any, **named: Any) -> Any:
        time.sleep(0.02)
        saved = save(*given, **named)
        time.sleep(0.02)  # there is no digest yet
        return saved

    def told(plan: BatchPlan, step: int, seed: int) -> Any:
        BatchPlan.batch = batch
        born.send("training")
        return batch(plan, step, seed)

    ocp.Checkpointer.save, BatchPlan.batch = slowly, told
    go(folder, *seeds, steps=EPOCHS * PER_EPOCH, average=AVERAGE)


class Lives:
    """Trainings in processes that are forked from one that has imported everything."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__, "attnjax.lab.loop.loop"])

    def spend(
        self, folder: Path, seeds: Sequence[int], seconds: float | None, *, saving: bool = False
    ) -> bool:
        """Train; kill it `seconds` after its first batch; return whether it was killed.

        With `saving` the next moment is waited for at which a checkpoint is half written.
        """
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=live, args=(folder, seeds, theirs))
        process.start()
        theirs.close()
        try:
            if seconds is not None and ours.poll(600):
                process.join(seconds)
                while saving and process.is_alive() and not half_saved(folder, seeds):
                    time.sleep(0.001)
                process.kill()
            process.join(600)
        finally:
            process.kill()
        assert process.exitcode in (0, -signal.SIGKILL)
        return process.exitcode != 0


def survived(folder: Path, kills: int, groups: Sequence[Sequence[int]]) -> str:
    """Kill trainings `kills` times and compare each with one that was not killed, in words.

    The groups, which have no seed in common, take turns; every second kill is inside a save. A
    training that has come to its end is compared, and begins anew.
    """
    lives, moments = Lives(), random.Random(0)
    for seeds in groups:
        assert not lives.spend(folder / "whole", seeds, None)
    done = within = 0
    for number, seeds in enumerate(cycle(groups)):
        killed = folder / f"killed-{number}"
        most = min(kills, done + -(-kills // len(groups)))  # the end of the turn
        while done < most:
            seconds = moments.uniform(0, LIFE)
            if not lives.spend(killed, seeds, seconds, saving=bool(done % 2)):
                break
            done += 1
            within += half_saved(killed, seeds)
        lives.spend(killed, seeds, None)
        for seed in map(str, seeds):
            assert_same(killed / seed, folder / "whole" / seed)
        shutil.rmtree(killed)
        if done == kills:
            break
    assert within, "no kill was inside a save"
    return f"{kills} SIGKILLs at random moments survived with equal bits, {within} inside a save"


def half_saved(folder: Path, seeds: Sequence[int]) -> bool:
    """Return whether a run has a checkpoint that is not complete."""
    steps = (step for seed in seeds for step in (folder / str(seed) / FOLDER).glob("*"))
    return any(
        step.suffix not in (".corrupt", ".deleted") and not (step / "digest").is_file()
        for step in steps
    )


def assert_same(ours: Path, theirs: Path) -> None:
    """Assert that two runs have the same result, and the same losses at every step."""

    assert same(average(ours, AVERAGE), average(theirs, AVERAGE))
    losses = [
        [(row["step"], row["split"], row["loss"]) for row in metrics_log.read(run)]
        for run in (ours, theirs)
    ]
    assert losses[0] == losses[1]
