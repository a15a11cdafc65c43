"""Scores during a training: when they are computed, what they decide, and what survives a kill."""

import io
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from attnjax.errors import Diverged, Interrupted, UserError
from attnjax.lab.log import metrics_log
from attnjax.lab.loop.loop import train
from attnjax.lab.loop.run_state import Run, TrainResult
from attnjax.lab.loop.validation import ValidationScore
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Recipe, Scoring, Training
from attnjax.training.train_setup import TrainSetup
from tests.training.looping import BATCHING, CORPUS, PER_EPOCH, interrupt, same
from tests.training.test_diverged import Bursting
from tests.training.toy import Toy

pytestmark = pytest.mark.usefixtures("compiled_once")


def go(
    folder: Path,
    scores: dict[int, list[float]],
    *seeds: int,
    diverging: tuple[int, ...] = (),
    **settings: Any,
) -> Any:
    """Train with scores from a script: for each seed, in the order of the epochs."""
    recipe = Recipe(
        model=Toy(),
        objective=CrossEntropy(),
        optimizer=Adam(schedule=Constant(value=1e-2), clip=1.0),
        training=Training(**{"steps": 3 * PER_EPOCH, "batching": BATCHING} | settings),
    )
    by_epoch = zip_longest(*scores.values())
    called = iter([score for row in by_epoch for score in row if score is not None])
    runs = [
        Run(
            folder=folder / str(seed), seed=seed, schedule=Bursting() if seed in diverging else None
        )
        for seed in seeds
    ]
    return train(
        runs,
        TrainSetup.of(recipe, CORPUS),
        console=Console(file=io.StringIO()),
        score=ValidationScore(name="bleu", sign=1, score=lambda *_: next(called)),
    )


def rows(folder: Path) -> list[tuple[int, float | None]]:
    valid = (row for row in metrics_log.read(folder) if row["split"] == "valid")
    return [(row["step"], row.get("bleu")) for row in valid]


def test_every_second_epoch_and_the_last_are_scored(tmp_path):
    scores = {0: [1.0, 2.0, 3.0], 1: [4.0, 5.0, 6.0]}
    settings: dict[str, Any] = {"steps": 5 * PER_EPOCH, "scoring": Scoring(every=2)}
    outcomes: list[TrainResult] = go(tmp_path, scores, 0, 1, **settings)
    for seed, values in scores.items():
        assert [score for _, score in rows(tmp_path / str(seed))] == [
            None,
            values[0],
            None,
            values[1],
            values[2],
        ]
    assert all(outcome.best is not None and outcome.best > 0 for outcome in outcomes)


def test_patience_and_the_result_go_by_the_score(tmp_path):
    scoring = Scoring(decides="score")
    (outcome,) = go(
        tmp_path,
        {0: [10.0, 30.0, 20.0, 25.0, 99.0]},
        0,
        steps=20 * PER_EPOCH,
        patience=2,
        result="best",
        scoring=scoring,
    )
    assert (outcome.step, outcome.stopped, outcome.best) == (4 * PER_EPOCH, "patience", -30.0)
    (until,) = go(tmp_path / "until", {0: [10.0, 30.0]}, 0, steps=2 * PER_EPOCH, scoring=scoring)
    assert same(outcome.params, until.params), "of the epoch with the highest score"


def test_an_equal_score_is_no_better_one(tmp_path):
    """A run whose score stands still is stopped, and keeps the first of equal epochs."""
    settings: dict[str, Any] = {"result": "best", "scoring": Scoring(decides="score")}
    steps = {"steps": 20 * PER_EPOCH, "patience": 2}
    (outcome,) = go(tmp_path, {0: [10.0, 30.0, 30.0, 30.0, 99.0]}, 0, **settings, **steps)
    assert (outcome.step, outcome.stopped) == (4 * PER_EPOCH, "patience")
    (until,) = go(tmp_path / "until", {0: [10.0, 30.0]}, 0, steps=2 * PER_EPOCH, **settings)
    assert same(outcome.params, until.params)


def test_resumed_equals_uninterrupted(tmp_path, monkeypatch):
    settings: dict[str, Any] = {"scoring": Scoring(decides="score"), "result": "best", "average": 2}
    (whole,) = go(tmp_path / "whole", {0: [1.0, 3.0, 2.0]}, 0, **settings)
    interrupt(monkeypatch, PER_EPOCH + 1)
    with pytest.raises(Interrupted):
        go(tmp_path / "cut", {0: [1.0]}, 0, **settings)
    (resumed,) = go(tmp_path / "cut", {0: [3.0, 2.0]}, 0, **settings)
    assert same(resumed.params, whole.params)
    assert rows(tmp_path / "cut/0") == rows(tmp_path / "whole/0")


def test_a_run_that_diverged_is_not_decoded(tmp_path):
    scores = {0: [1.0], 1: [2.0, 3.0, 4.0]}  # a further call would have no score
    with pytest.raises(Diverged) as caught:
        go(tmp_path, scores, 0, 1, diverging=(0,), scoring=Scoring())
    assert caught.value.errors.keys() == {tmp_path / "0"}
    assert [[score for _, score in rows(tmp_path / str(seed))] for seed in scores] == [
        *scores.values()
    ]


def test_a_score_that_decides_is_of_every_epoch():
    with pytest.raises(UserError, match="every must be 1; got 3"):
        Scoring(every=3, decides="score")
