"""T5's buckets of distances: their numbers, what they refuse."""

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.score import bucketed
from attnjax.attention.score.bucketed import Bucketed
from attnjax.errors import UserError
from tests.attention.short import D, T, initial

distance_bucket = jax.jit(
    bucketed.distance_bucket, static_argnames=("buckets", "most", "both_sides")
)


def test_buckets_hold_near_distances_alone_and_far_ones_by_their_logarithm():
    ahead = jnp.arange(-200, 201)
    bucket = dict(
        zip(ahead.tolist(), distance_bucket(ahead, buckets=32, most=128).tolist(), strict=True)
    )
    # T5's own numbers of bidirectional buckets
    assert [bucket[-d] for d in range(8)] == list(range(8))
    assert [bucket[d] for d in range(1, 8)] == list(range(17, 24))
    for distance, number in ((8, 8), (11, 8), (12, 9), (16, 10), (32, 12), (64, 14), (90, 14)):
        assert bucket[-distance] == number, distance
    assert bucket[-91] == bucket[-200] == 15
    assert bucket[91] == bucket[200] == 31
    past = distance_bucket(ahead, buckets=32, most=128, both_sides=False)
    assert past.max() == 31
    assert (past[200:] == 0).all()
    assert (jnp.diff(past[:200]) <= 0).all()


def test_a_distance_at_the_edge_of_a_bucket_is_in_it_in_any_precision(float64):
    """log(64 / 8) / log(128 / 8) is 3/4, and rounding to float64 must not put it below."""
    bucket = distance_bucket(jnp.array([-16, -32, -64, -63]), buckets=32, most=128)
    assert bucket.tolist() == [10, 12, 14, 13]


@pytest.mark.parametrize("buckets, most", [(2, 16), (32, 8)])
def test_buckets_without_room_are_refused(buckets, most):
    module = Attention(score=Bucketed(buckets=buckets, most=most))
    with pytest.raises(UserError, match=f"got {buckets} buckets on both sides, most {most}"):
        initial(module, jnp.zeros((1, T, D)))
