"""Packed batches: every example once an epoch, in its own place; the stream from any step."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from attnjax.data.batching import Batching, in_order
from attnjax.data.corpus import Encoded
from attnjax.data.packed import Packed, row_patterns
from attnjax.errors import UserError

LENGTH = 24
pairs = st.lists(st.tuples(st.integers(1, LENGTH), st.integers(1, LENGTH)), min_size=1, max_size=60)
BATCHING = Packed(max_tokens=4 * LENGTH, length=LENGTH, batch_size_multiple=2)


def examples_of(lengths):
    """Examples whose symbols are all different from those of the others."""
    return [
        Encoded([1000 * number + place + 1 for place in range(source)],
                [1000 * number + place + 501 for place in range(target)])
        for number, (source, target) in enumerate(lengths)
    ]  # fmt: skip


def sentences(batch):
    """The (source, target) of each sentence of a batch."""
    for source, target, in_source, in_target in zip(*batch, strict=True):
        count = in_target[target != 0].max(initial=-1) + 1
        assert count == in_source[source != 0].max(initial=-1) + 1
        # behind the last sentence stands padding with the next number
        assert (in_source[source == 0] == count).all()
        assert (in_target[target == 0] == count).all()
        assert (np.diff(in_source) >= 0).all()
        assert (np.diff(in_target) >= 0).all()
        for number in range(count):
            yield tuple(source[in_source == number]), tuple(target[in_target == number])


def digest(plan, steps, seed):
    content = hashlib.sha256()
    for step in steps:
        for side in plan.batch(step, seed):
            content.update(side.tobytes())
    return content.hexdigest()


@settings(deadline=None)
@given(pairs, st.integers(0, 3), st.integers(0, 2**31))
def test_every_example_once_an_epoch(lengths, epoch, seed):
    plan = BATCHING.plan(examples := examples_of(lengths))
    batches = [
        plan.batch(step, seed)
        for step in range(epoch * plan.per_epoch, (epoch + 1) * plan.per_epoch)
    ]
    seen = [pair for batch in batches for pair in sentences(batch)]
    assert sorted(seen) == sorted((tuple(x.source), tuple(x.target)) for x in examples)
    assert {side.shape for batch in batches for side in batch} == {(4, LENGTH)}
    assert plan.shapes == [(4, LENGTH, LENGTH)]
    present = sum((side != 0).sum() for batch in batches for side in batch[:2])
    assert plan.padding == pytest.approx(1 - present / (len(batches) * 8 * LENGTH))
    assert plan.count == len(examples)


@given(pairs)
def test_rows_have_room(lengths):
    lengths = np.array(lengths)
    patterns = row_patterns(lengths, LENGTH)
    kinds = {kind: tuple(pair) for kind, pair in zip(patterns.kind, lengths, strict=True)}
    assert sorted(patterns.slots) == sorted(patterns.kind)
    for begin, end in zip(patterns.begins, patterns.begins[1:], strict=False):
        held = np.array([kinds[kind] for kind in patterns.slots[begin:end]])
        assert len(held)
        assert (held.sum(0) <= LENGTH).all()


@pytest.mark.parametrize("length", [46_339, 46_340, 65_536, 2_000_000])
def test_long_rows_have_room(length):
    """The number of a kind, length * (length + 1) at most, does not wrap around."""
    lengths = np.array([(length, length), (length - 1, 1), (1, length - 1), (length // 2, 7)])
    patterns = row_patterns(lengths.astype(np.int32), length)
    for begin, end in zip(patterns.begins, patterns.begins[1:], strict=False):
        of_row = [lengths[patterns.kind == kind][0] for kind in patterns.slots[begin:end]]
        assert (np.sum(of_row, 0) <= length).all()
    assert len(patterns.begins) - 1 == 3, "the second and the third share a row"


def test_little_is_padding():
    draw = np.random.default_rng(0)
    source = np.clip(np.exp(draw.normal(2.6, 0.5, 20_000)), 2, 60).astype(int)
    target = np.clip(source * np.exp(draw.normal(0, 0.2, 20_000)), 2, 60).astype(int)
    lengths = np.stack([source, target], 1)
    rows = len(row_patterns(lengths, 128).begins) - 1
    assert 1 - lengths.sum() / (2 * 128 * rows) < 0.03


def test_the_stream_goes_on_where_it_was_cut():
    """Each batch is a function of its step: a process that begins anywhere sees the same."""
    lengths = np.random.default_rng(0).integers(1, LENGTH, (97, 2))
    whole = BATCHING.plan(examples_of(lengths))
    steps = 3 * whole.per_epoch + 2
    expected = [digest(whole, [step], 5) for step in range(steps)]
    for cut in (1, whole.per_epoch, whole.per_epoch + 3, 2 * whole.per_epoch):
        again = BATCHING.plan(examples_of(lengths))
        assert [digest(again, [step], 5) for step in range(cut, steps)] == expected[cut:]
    assert len({*expected}) == steps, "batches differ"
    assert digest(whole, [0], 6) != expected[0], "another seed, another batch"


def test_examples_of_one_length_change_their_neighbors():
    """Which examples share a row depends on the epoch and on the seed, not the order of rows."""
    plan = BATCHING.plan(examples_of([(6, 6)] * 40))

    def rows(epoch, seed):
        steps = range(epoch * plan.per_epoch, (epoch + 1) * plan.per_epoch)
        sources = np.concatenate([plan.batch(step, seed).source for step in steps])
        return {frozenset(row[row != 0].tolist()) for row in sources} - {frozenset()}

    assert len({frozenset(rows(epoch, seed)) for epoch in (0, 1) for seed in (0, 1)}) == 4


def test_evaluation_reads_one_example_a_row():
    examples = examples_of([(3, 4), (5, 2), (24, 1)])
    with_shapes = Packed(max_tokens=48, length=24, batch_size_multiple=1, shapes=2)
    bucketed = Batching(max_tokens=48, batch_size_multiple=1, shapes=2)
    for mine, theirs in zip(
        in_order(examples, with_shapes), in_order(examples, bucketed), strict=True
    ):
        for one, other in zip((mine[0], *mine[1]), (theirs[0], *theirs[1]), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("batching", "lengths", "message"),
    [
        (BATCHING, [(1, 1), (25, 3)], "example 2 .*25 source and 3 target .*batching.length=24"),
        (Packed(length=24, batch_size=8), [(1, 1)], "wanted batching.batch_size none; got 8"),
        (Packed(max_tokens=100, length=24), [(1, 1)], "must be at least 192, 8 rows .*; got 100"),
        (BATCHING, [], "batches need at least one example"),
    ],
)  # fmt: skip
def test_refused(batching, lengths, message):
    with pytest.raises(UserError, match=message):
        batching.plan(examples_of(lengths))


def test_numbers_are_not_packed():
    points = Encoded(np.zeros((3, 2), np.float32), np.zeros((3, 2), np.float32))
    with pytest.raises(UserError, match="packed batches hold words"):
        BATCHING.plan([points])
