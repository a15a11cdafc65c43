"""Runs trained together: how each begins, what validation is, who stops when, what is compiled."""

import itertools
from functools import partial
from types import SimpleNamespace
from typing import Any

import chex
import jax
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.special_tokens import START
from attnjax.errors import Interrupted
from attnjax.lab.checkpoints.checkpoint import Checkpoints
from attnjax.lab.log import metrics_log
from attnjax.lab.loop import loop, run_state
from attnjax.training.schedules import Constant, InverseSquareRoot
from attnjax.training.settings import Training
from tests import jitted
from tests.training.looping import BATCHING, CORPUS, PER_EPOCH, go, interrupt, same
from tests.training.toy import Toy

pytestmark = pytest.mark.usefixtures("compiled_once")


@pytest.mark.long
def test_a_seed_that_stops_leaves_the_others_to_go_on(tmp_path, monkeypatch):
    settings: dict[str, Any] = {"steps": 40 * PER_EPOCH, "patience": 1}
    schedule, clock = Constant(value=0.1), itertools.count()
    with monkeypatch.context() as patched:
        patched.setattr(run_state, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
        soon, late = go(tmp_path / "together", 0, 3, schedule=schedule, **settings)
    assert soon.seconds < late.seconds
    passed = next(clock)
    assert passed / 2 < soon.seconds + late.seconds <= passed, "they share the time"
    assert soon.step < late.step < settings["steps"]
    assert soon.stopped == late.stopped == "patience"
    # the one that is left goes on in the same program as before
    interrupt(monkeypatch, late.step - 1)
    with pytest.raises(Interrupted):
        go(tmp_path / "cut", 0, 3, schedule=schedule, **settings)
    resumed = go(tmp_path / "cut", 0, 3, schedule=schedule, **settings)
    assert [one.step for one in resumed] == [soon.step, late.step]
    assert same([one.params for one in resumed], [soon.params, late.params])
    (alone,) = go(tmp_path / "alone", 3, schedule=schedule, **settings)
    assert alone.step == late.step
    assert alone.best == pytest.approx(late.best, abs=1e-4)


def test_patience_counts_epochs_in_a_row(tmp_path, monkeypatch):
    losses = iter([3.0, 2.0, 2.5, 2.6, 1.9, 2.0, 2.1, 1.9, 0.1])

    def scripted(*_: Any) -> dict[str, np.ndarray]:
        return {"loss": np.array([next(losses)])}

    monkeypatch.setattr(loop, "validate", scripted)
    (outcome,) = go(tmp_path, 0, steps=20 * PER_EPOCH, patience=3)
    assert (outcome.step, outcome.stopped, outcome.best) == (8 * PER_EPOCH, "patience", 1.9)


def test_every_seed_begins_as_its_own(tmp_path):
    outcomes = go(tmp_path, 0, 3, steps=1, schedule=Constant(value=1e-9))
    batch = BATCHING.plan(CORPUS.splits["train"]).batch(0, 0)
    for outcome, seed in zip(outcomes, (0, 3), strict=True):
        first = Toy().init(
            jax.random.key(seed), batch.source[:1], batch.target[:1], deterministic=True
        )["params"]
        jax.tree.map(partial(np.testing.assert_allclose, atol=1e-7), outcome.params, first)
    assert not same(outcomes[0].params, outcomes[1].params)


def test_validation_is_the_mean_over_all_words_of_all_devices(tmp_path):
    (outcome,) = go(
        tmp_path,
        0,
        steps=3,
        schedule=InverseSquareRoot(peak=1e-2, warmup=2),
        batching=Batching(max_tokens=64, shapes=2, batch_size_multiple=8),
    )
    *_, train_row, valid_row = metrics_log.read(tmp_path / "0")
    total = count = 0.0
    for source, target, _ in CORPUS.splits["valid"]:
        given = np.array([[START, *target[:-1]]])
        params = {"params": outcome.params}
        logits = jitted.apply(Toy(), params, np.array([source]), given, deterministic=True)[0]
        logs = logits - np.log(np.exp(logits.astype(np.float64)).sum(-1, keepdims=True))
        total -= logs[np.arange(len(target)), target].sum()
        count += len(target)
    assert valid_row["nll"] == pytest.approx(total / count, rel=1e-5)
    assert train_row["learning_rate"] == pytest.approx(1e-2 * (2 / 3) ** 0.5)


def test_compiles_once_a_shape(tmp_path, monkeypatch):
    batching = Batching(max_tokens=48, shapes=2, batch_size_multiple=1)
    assert len(set(batching.plan(CORPUS.splits["train"]).shapes)) == 2
    for name in ("train_step", "evaluation_step"):
        traced_twice = chex.assert_max_traces(getattr(run_state, name), n=2)
        monkeypatch.setattr(run_state, name, traced_twice)
    go(tmp_path, 0, 1, batching=batching)


def test_bfloat16_keeps_float32_parameters(tmp_path):
    (half,), (full,) = go(tmp_path / "a", 0, precision="bfloat16"), go(tmp_path / "b", 0)
    assert {x.dtype for x in jax.tree.leaves(half.params)} == {np.dtype("float32")}
    assert not same(half.params, full.params)
    assert half.best == pytest.approx(full.best, rel=1e-2)


@pytest.mark.parametrize(
    "saved",
    [pytest.param(0, marks=pytest.mark.long), 1, pytest.param(2, marks=pytest.mark.long)],
    ids=["none", "one", "all but one"],
)
@pytest.mark.parametrize(
    "when",
    [
        pytest.param("first", marks=pytest.mark.long),
        "later",
        pytest.param("last", marks=pytest.mark.long),
    ],
)
def test_a_kill_between_the_saves_of_a_group_changes_no_bit(tmp_path, monkeypatch, saved, when):
    seeds, settings = (0, 1, 2), {"average": 2}
    whole = go(tmp_path / "whole", *seeds, **settings)
    save = Checkpoints.save
    count = {"first": 0, "later": 3, "last": 6}[when] + saved

    def killed(checkpoints: Checkpoints, *given: Any) -> None:
        nonlocal count
        if count == 0:
            raise RuntimeError("killed")
        count -= 1
        save(checkpoints, *given)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "save", killed)
        with pytest.raises(RuntimeError, match="killed"):
            go(tmp_path / "cut", *seeds, **settings)
    grouped = []
    init = run_state.RunGroup.__init__

    def spy(self: Any, setup: Any, runs: Any, *given: Any) -> None:
        grouped.append([(run.run.seed, run.step) for run in runs])
        init(self, setup, runs, *given)

    monkeypatch.setattr(run_state.RunGroup, "__init__", spy)
    resumed = go(tmp_path / "cut", *seeds, **settings)
    at = {"first": 0, "later": PER_EPOCH, "last": 2 * PER_EPOCH}[when]
    assert grouped == [[(seed, at) for seed in seeds]], "together, from the last whole save"
    assert same([one.params for one in resumed], [one.params for one in whole])
    assert [one.best for one in resumed] == [one.best for one in whole]


@pytest.mark.long
def test_a_kill_while_old_saves_are_deleted_changes_no_bit(tmp_path, monkeypatch):
    whole = go(tmp_path / "whole", 0, 1)
    prune, pruned = Checkpoints.prune, []

    def killed(checkpoints: Checkpoints, training: Training) -> None:
        if pruned:
            raise RuntimeError("killed")
        pruned.append(True)
        prune(checkpoints, training)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "prune", killed)
        with pytest.raises(RuntimeError, match="killed"):
            go(tmp_path / "cut", 0, 1)
    resumed = go(tmp_path / "cut", 0, 1)
    assert same([one.params for one in resumed], [one.params for one in whole])


@pytest.mark.long
def test_a_seed_that_joins_does_not_throw_others_back(tmp_path, monkeypatch):
    whole = go(tmp_path / "whole", 0, 1)
    interrupt(monkeypatch, PER_EPOCH + 2)
    with pytest.raises(Interrupted):
        go(tmp_path / "joined", 0, 1)
    zero, one, two = go(tmp_path / "joined", 0, 1, 2)
    assert same([zero.params, one.params], [run.params for run in whole])
    assert two.step == whole[0].step
