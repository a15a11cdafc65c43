"""A task that is tested on the examples of another."""

from dataclasses import replace

import pytest

from attnjax.data import Copy, NoisyFunction, ParallelText, Sort, WithTest
from attnjax.errors import UserError

SHORT = Copy(symbols=5, shortest=2, longest=4, train=60, valid=10, test=15)
LONG = Copy(symbols=5, shortest=2, longest=9, train=1, valid=1, test=80)


def test_it_learns_from_one_task_and_is_tested_on_the_other():
    corpus = WithTest(task=SHORT, test=LONG).load()
    short, long = SHORT.load(), LONG.load()
    for split in ("train", "valid"):
        assert corpus.splits[split] == short.splits[split]
        assert corpus.sources[split] == short.sources[split]
    assert {len(example.source) - 1 for example in corpus.splits["test"]} == set(range(2, 10))
    learned = {text for split in ("train", "valid") for text in short.sources[split]}
    expected = [text for text in long.sources["test"] if text not in learned]
    assert 0 < len(expected) < 80
    assert corpus.sources["test"] == corpus.references["test"] == expected
    decode = corpus.vocabularies.source.decode
    assert [decode(example.source) for example in corpus.splits["test"]] == expected
    (note,) = corpus.notes
    assert note.startswith(f"{80 - len(expected)} of 80 test examples are left out")


def test_the_test_is_the_other_tasks_own():
    corpus = WithTest(task=SHORT, test=Sort(**vars(LONG))).load()
    for source, reference in zip(corpus.sources["test"], corpus.references["test"], strict=True):
        assert reference == " ".join(sorted(source.split()))


def test_a_task_without_a_validation_split(tmp_path):
    for split in ("train", "test"):
        for side in ("en", "de"):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{split} {n}\n" for n in range(3)))
    task = ParallelText(folder=str(tmp_path), valid=None)
    corpus = WithTest(task=task, test=task).load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {"train": 3, "test": 3}
    with pytest.raises(UserError, match="task.test has no test example"):
        WithTest(task=task, test=replace(task, test=None)).load()


def test_a_task_of_another_kind_is_refused():
    with pytest.raises(UserError, match="answers of the same kind as task.task, exact; got None"):
        WithTest(task=SHORT, test=NoisyFunction()).load()


def test_a_test_of_training_examples_alone_is_refused():
    few = Copy(symbols=2, shortest=1, longest=2, train=4, valid=1, test=1)
    learned = few.load()
    seen = learned.sources["train"] + learned.sources["valid"]
    drawn = (replace(few, seed=seed) for seed in range(1, 99))
    again = next(task for task in drawn if task.load().sources["test"][0] in seen)
    with pytest.raises(UserError, match="no test example that is not one of task.task"):
        WithTest(task=few, test=again).load()
