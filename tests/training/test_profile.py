"""A trace of a few steps that Perfetto reads."""

import gzip
import json

import pytest
from rich.console import Console

from attnjax.lab.loop.loop import STEPS_BEFORE_PROFILE, train
from attnjax.lab.loop.run_state import STEP_NAME, Run
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.settings import Recipe, Training
from attnjax.training.train_setup import TrainSetup
from tests.training.looping import BATCHING, CORPUS
from tests.training.toy import Toy

pytestmark = pytest.mark.usefixtures("compiled_once")


@pytest.mark.parametrize(
    "asked, traced",
    [(2, 2), pytest.param(100, 3, marks=pytest.mark.long)],
    ids=["a few", "more than there are"],
)
def test_the_trace_has_the_steps_and_their_numbers(tmp_path, asked, traced):
    training = Training(steps=STEPS_BEFORE_PROFILE + 3, batching=BATCHING)
    recipe = Recipe(model=Toy(), objective=CrossEntropy(), optimizer=Adam(), training=training)
    setup, runs = TrainSetup.of(recipe, CORPUS), [Run(folder=tmp_path, seed=0)]
    train(runs, setup, console=Console(quiet=True), profiled_steps=asked)
    (path,) = (tmp_path / "profile").rglob("perfetto_trace.json.gz")
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    steps = [int(one["args"]["step_num"]) for one in events if one.get("name") == STEP_NAME]
    assert sorted(steps) == [STEPS_BEFORE_PROFILE + 1 + number for number in range(traced)]
