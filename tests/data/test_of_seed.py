"""Generated data are drawn by the seed of the run, with the same shapes for every seed."""

from dataclasses import replace

import numpy as np
import pytest

from attnjax.config.walk import differences
from attnjax.data import (
    AssociativeRecall,
    Batching,
    Copy,
    Dates,
    NoisyFunction,
    Packed,
    Shapes,
    Shuffled,
    Sort,
    WithTest,
    Zip,
)
from attnjax.data.loaded import Corpora
from attnjax.errors import UserError

FEW = {"train": 60, "valid": 10, "test": 20}
TASKS = [
    Copy(**FEW),
    Sort(**FEW),
    Zip(**FEW, longest=4),
    AssociativeRecall(**FEW),
    Dates(**FEW, locales="en,de", formats="long;medium"),
    Shapes(**FEW, most=3),
    WithTest(task=Copy(**FEW), test=Copy(**FEW, longest=20)),
    Shuffled(task=Copy(**FEW)),
]
BY_NAME = {"argvalues": TASKS, "ids": lambda task: type(task).__name__}


@pytest.mark.parametrize("task", **BY_NAME)
def test_each_seed_has_data_of_its_own(task):
    corpus = Corpora().of(task)
    drawn = [corpus.of_seed(seed) for seed in range(3)]
    for split in ("train", "valid", "test"):
        assert len({corpus.digest(split) for corpus in drawn}) == 3
    assert corpus.of_seed(0) == corpus
    assert drawn[2] is corpus.of_seed(2)
    assert drawn[2].digest("test") == task.of_seed(2).load().digest("test")
    assert len({corpus.vocabularies.digest for corpus in drawn}) == 1


@pytest.mark.parametrize("task", **BY_NAME)
def test_the_vocabulary_is_that_of_every_seed(task):
    digests = {task.of_seed(seed).load().vocabularies.digest for seed in range(3)}
    assert len(digests) == 1


@pytest.mark.parametrize("task", [Copy(**FEW, seed=0), Copy(**FEW, seed=7), NoisyFunction()])
def test_a_given_seed_is_that_of_all_runs(task):
    assert task.of_seed(3) == task
    corpus = Corpora().of(task)
    assert corpus.of_seed(3) is corpus


def test_the_seed_reaches_the_tasks_inside():
    inner = Copy(**FEW)
    task = Shuffled(task=WithTest(task=inner, test=replace(inner, longest=20)), seed=5)
    seeds = {"task.task.task.seed", "task.task.test.seed"}
    assert differences(task, task.of_seed(3), "task") == dict.fromkeys(seeds, (None, 3))


def test_test_and_training_of_a_seed_do_not_overlap():
    task = Sort(symbols=4, longest=5, train=500, valid=50, test=100)
    for seed in range(4):
        sources = task.of_seed(seed).load().sources
        everything = [source for split in sources.values() for source in split]
        assert len(set(everything)) == 650


@pytest.mark.parametrize("task", **BY_NAME)
def test_batches_of_all_seeds_can_be_stacked(task):
    corpus = Corpora().of(task)
    batching = Batching(max_tokens=256, shapes=3)
    plan = batching.plan(corpus.splits["train"])
    drawn = [corpus.of_seed(seed).splits["train"] for seed in (4, 5, 6)]
    plans = plan.like(drawn)
    rows = [bucket.shape[0] for bucket in plan.buckets]
    for seed, (made, examples) in enumerate(zip(plans, drawn, strict=True)):
        assert (made.per_epoch, made.shapes) == (plan.per_epoch, plans[0].shapes)
        assert [bucket.shape[0] for bucket in made.buckets] == rows
        held = np.sort(np.concatenate([bucket.indices for bucket in made.buckets]))
        np.testing.assert_array_equal(held, np.arange(len(examples)))
        # every symbol of every example comes once an epoch
        batches = [made.batch(step, seed) for step in range(made.per_epoch)]
        assert sum(int((batch.target != 0).sum()) for batch in batches) == sum(
            len(example.target) for example in examples
        )
    for step in range(2 * plan.per_epoch):
        shapes = {tuple(map(np.shape, made.batch(step, 1))) for made in plans}
        assert len(shapes) == 1


def test_a_plan_like_itself_is_the_same():
    examples = Copy(**FEW).load().splits["train"]
    plan = Batching(max_tokens=256).plan(examples)
    (again,) = plan.like([examples])
    for step in range(plan.per_epoch):
        for ours, theirs in zip(plan.batch(step, 1), again.batch(step, 1), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_examples_of_one_length_are_batched_as_they_are_alone():
    task = Copy(**FEW, shortest=6, longest=6)
    batching, corpus = Batching(max_tokens=256), Corpora().of(task)
    drawn = [corpus.of_seed(seed).splits["train"] for seed in (1, 2)]
    together = batching.plan(corpus.splits["train"]).like(drawn)
    for seed, (made, examples) in enumerate(zip(together, drawn, strict=True), start=1):
        alone = batching.plan(examples)
        for step in range(2 * alone.per_epoch):
            for ours, theirs in zip(made.batch(step, seed), alone.batch(step, seed), strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_packed_batches_of_seeds_are_stacked_if_they_are_as_many():
    packed = Packed(max_tokens=512, length=32)
    equal = [
        Copy(**FEW, shortest=6, longest=6, seed=seed).load().splits["train"] for seed in (1, 2)
    ]
    plan = packed.plan(equal[0])
    for made, examples in zip(plan.like(equal), equal, strict=True):
        alone = packed.plan(examples).batch(0, 3)
        for ours, theirs in zip(made.batch(0, 3), alone, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(UserError, match="packed into different numbers of batches, 1 to 2"):
        plan.like([equal[0], Copy(**FEW, shortest=15, longest=15).load().splits["train"]])


def test_different_numbers_of_examples_are_refused():
    plan = Batching().plan(Copy(**FEW).load().splits["train"])
    with pytest.raises(UserError, match="equally many examples of a split; got 60 and 20"):
        plan.like([Copy(**FEW).load().splits["test"]])
