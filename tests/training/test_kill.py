"""SIGKILL at random moments: runs that train together come out to the same bits."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attnjax.training.checkpoint import average
from attnjax.training.metrics_log import read
from tests.training.looping import same

ROOT = Path(__file__).parents[2]
KILLS, SECONDS = 20, 2.0
PROGRAM = """
import sys
from pathlib import Path
from attnjax.data.batching import BatchPlan
from attnjax.training import trainer
from tests.training.looping import PER_EPOCH, go

trainer.SECONDS_BETWEEN_CHECKPOINTS, trainer.SECONDS_WITHIN_AN_EPOCH = 0, 0.02
batch = BatchPlan.batch

def told(plan, step, seed):
    print("training", flush=True)
    BatchPlan.batch = batch
    return batch(plan, step, seed)

folder, *seeds = sys.argv[1:]
BatchPlan.batch = told
go(Path(folder), *map(int, seeds), steps=60 * PER_EPOCH, average=3)
print("done", flush=True)
"""


def start(folder: Path, seeds: tuple[int, ...]) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), *map(str, seeds)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path, seeds: tuple[int, ...]) -> None:
    with start(folder, seeds) as process:
        said, failed = process.communicate(timeout=600)
    assert process.returncode == 0, failed
    assert "done" in said


@pytest.mark.long
@pytest.mark.parametrize("seeds", [(0, 1), (3, 4, 5)], ids=["two", "three"])
def test_killed_at_random_moments_a_group_comes_out_to_the_same_bits(tmp_path, seeds):
    finish(tmp_path / "whole", seeds)
    moments, killed = random.Random(0), 0
    for _ in range(KILLS):
        with start(tmp_path / "killed", seeds) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "training\n"
            time.sleep(moments.uniform(0, SECONDS))
            killed += process.poll() is None
            process.kill()
    assert killed > KILLS / 2, "a training that is finished cannot be killed"
    finish(tmp_path / "killed", seeds)
    for seed in map(str, seeds):
        ours, theirs = tmp_path / "killed" / seed, tmp_path / "whole" / seed
        assert same(average(ours, last=3), average(theirs, last=3))
        losses = [
            [(row["step"], row["loss"]) for row in read(folder) if row["split"] == "valid"]
            for folder in (ours, theirs)
        ]
        assert losses[0] == losses[1]
