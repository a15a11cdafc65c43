"""Every example once an epoch, in shapes that the seed does not change, within the budget."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from attnjax.config.constraints import check_fields
from attnjax.data.batch_plan import Batch
from attnjax.data.batching import Batching, cheapest_cuts, in_order
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.examples import Encoded
from attnjax.data.special_tokens import END, PAD
from attnjax.errors import UserError


def examples_of(lengths) -> list[Encoded]:
    """One example a pair of lengths, recognized by what its source begins with."""
    return [
        Encoded([number + 10] * (source - 1) + [number + 10], [7] * (target - 1) + [END])
        for number, (source, target) in enumerate(lengths)
    ]


batchings = st.builds(
    Batching,
    max_tokens=st.integers(160, 600),
    batch_size=st.none() | st.integers(8, 40),
    shapes=st.integers(1, 5),
    batch_size_multiple=st.sampled_from([1, 2, 8]),
)
lengths = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=120)


def contents(batch: Batch) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The pairs of a batch without padding; a filler row must be empty on both sides."""
    rows = []
    for source, target in zip(batch.source, batch.target, strict=True):
        pair = tuple(source[source != PAD]), tuple(target[target != PAD])
        assert bool(pair[0]) == bool(pair[1])
        # padding is behind, never within
        assert (source[: len(pair[0])] != PAD).all()
        assert (target[: len(pair[1])] != PAD).all()
        if pair[0]:
            rows.append(pair)
    return rows


@given(lengths, batchings, st.integers(0, 3), st.integers(0, 2**31))
def test_every_example_once_an_epoch(lengths, batching, epoch, seed):
    examples = examples_of(lengths)
    plan = batching.plan(examples)
    steps = range(epoch * plan.per_epoch, (epoch + 1) * plan.per_epoch)
    seen = [pair for step in steps for pair in contents(plan.batch(step, seed))]
    assert sorted(seen) == sorted((tuple(e.source), tuple(e.target)) for e in examples)


@given(lengths, batchings)
def test_budget_rows_and_number_of_shapes(lengths, batching):
    plan = batching.plan(examples_of(lengths))
    batches = [plan.batch(step, 0) for step in range(plan.per_epoch)]
    shapes = {(*batch.source.shape, batch.target.shape[1]) for batch in batches}
    assert shapes == set(plan.shapes)
    assert len(plan.shapes) <= batching.shapes
    for rows, source, target in shapes:
        assert rows * max(source, target) <= batching.max_tokens
        assert rows % batching.batch_size_multiple == 0
        assert batching.batch_size is None or rows <= batching.batch_size
    for batch in batches:
        assert {side.dtype for side in batch} == {np.dtype(np.int32)}
        # shared evenly: a batch lacks less than a multiple of rows, and one for the remainder
        assert len(contents(batch)) > len(batch.source) - batching.batch_size_multiple - 1
        assert contents(batch)


@given(lengths, st.integers(0, 50))
def test_a_batch_depends_on_step_and_seed_alone(lengths, step):
    batching = Batching(max_tokens=200, shapes=3, batch_size_multiple=2)
    examples = examples_of(lengths)
    one, again = batching.plan(examples), batching.plan(examples)
    for other in (step + 3, step):  # whatever was asked for before
        batch = again.batch(other, 5)
    for left, right in zip(one.batch(step, 5), batch, strict=True):
        np.testing.assert_array_equal(left, right)
    shape = [side.shape for side in one.batch(step, 5)]
    assert all([side.shape for side in one.batch(step, seed)] == shape for seed in range(4))


def test_seeds_and_epochs_differ_in_the_examples():
    plan = Batching(max_tokens=64, shapes=2, batch_size_multiple=1).plan(
        examples_of([(4, 4), (8, 8)] * 50)
    )
    epoch = range(plan.per_epoch)

    def together(seed, first):
        return {frozenset(contents(plan.batch(first + step, seed))) for step in epoch}

    def shapes(first):
        return [plan.batch(first + step, 0).source.shape for step in epoch]

    assert together(0, 0) != together(1, 0)
    assert together(0, 0) != together(0, plan.per_epoch)
    assert shapes(0) != shapes(plan.per_epoch)  # the order of shapes is another each epoch


@given(lengths, batchings)
def test_in_order(lengths, batching):
    examples = examples_of(lengths)
    seen, longest = [], []
    for indices, batch in in_order(examples, batching):
        assert len(indices) == len(batch.source)
        for index, row in zip(indices, batch.source, strict=True):
            if index < 0:
                assert not row.any()
            else:
                assert row[row != PAD].tolist() == examples[index].source
                seen.append(int(index))
        longest.append(max(map(max, (lengths[index] for index in indices if index >= 0))))
    assert sorted(seen) == list(range(len(examples)))
    assert longest == sorted(longest)


@given(
    st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=40),
    st.integers(1, 3),
)
def test_no_other_cuts_are_cheaper(lengths, shapes):
    ordered = np.array(sorted(lengths, key=max))

    def places(cuts):
        parts = np.split(ordered, cuts)
        return sum(len(part) * part.max(0).sum() for part in parts)

    first, *found = cheapest_cuts(ordered, shapes)
    assert first == 0
    assert len(found) < shapes
    longer = ordered.max(1)
    between = [n for n in range(1, len(ordered)) if longer[n] > longer[n - 1]]
    possible = chain.from_iterable(combinations(between, n) for n in range(shapes))
    assert places(found) == min(places(cuts) for cuts in possible)


def test_a_few_examples_of_a_length_share_a_batch_with_others():
    for lengths in ([(10, 10)] * 300 + [(16, 16)], [(10, 10)] * 3 + [(16, 16)] * 319):
        plan = Batching(max_tokens=1024, shapes=8, batch_size_multiple=8).plan(examples_of(lengths))
        batches = [plan.batch(step, 0) for step in range(plan.per_epoch)]
        assert min(len(contents(batch)) for batch in batches) >= 32


def test_what_cannot_be_batched():
    with pytest.raises(
        UserError, match=r"example 2 has 30 source and 40 target .* 320.*max_tokens=256"
    ):
        Batching(max_tokens=256).plan(examples_of([(1, 1), (30, 40)]))
    assert Batching(max_tokens=320).plan(examples_of([(1, 1), (30, 40)])).per_epoch == 1
    with pytest.raises(UserError, match="there are none"):
        Batching().plan([])
    with pytest.raises(UserError, match=r"batch_size=4 must be at least .*multiple=8"):
        Batching(batch_size=4).plan(examples_of([(1, 1)]))
    for name in ("max_tokens", "batch_size", "shapes", "batch_size_multiple"):
        with pytest.raises(UserError, match=f"{name}: wanted"):
            check_fields(Batching(**{name: 0}))


def test_one_example_a_batch():
    examples = examples_of([(1, 3), (4, 2), (9, 9), (2, 2)])
    plan = Batching(max_tokens=64, batch_size=1, batch_size_multiple=1).plan(examples)
    assert plan.per_epoch == 4
    assert {len(plan.batch(step, 0).source) for step in range(4)} == {1}


def test_many_different_lengths():
    plan = Batching(max_tokens=8192, shapes=4).plan(examples_of([(n, n) for n in range(1, 1001)]))
    assert sum(len(contents(plan.batch(step, 0))) for step in range(plan.per_epoch)) == 1000


def test_little_of_multi30k_is_padding(data):
    corpus = ParallelText(folder=str(data / "multi30k-bpe"), test="test.2016").load()
    plan = Batching(max_tokens=8192, shapes=8).plan(corpus.splits["train"])
    batches = [plan.batch(step, 1) for step in range(plan.per_epoch)]
    filled = sum(np.count_nonzero(b.source) + np.count_nonzero(b.target) for b in batches)
    assert filled == sum(len(e.source) + len(e.target) for e in corpus.splits["train"])
    assert filled / sum(b.source.size + b.target.size for b in batches) > 0.85
    assert plan.per_epoch < 70
