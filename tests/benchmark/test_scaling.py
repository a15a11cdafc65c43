"""What more devices cost."""

import jax
import pytest

from attnjax.benchmark import scaling
from attnjax.benchmark.train import Size, transformer


def test_the_bytes_of_all_reduces_are_read_from_the_program():
    program = """
      %sum = (f32[2,3]{1,0}, s32[], bf16[4]{0}) all-reduce(%a, %b, %c), channel_id=1
      %begun = f32[5]{0} all-reduce-start(%d), channel_id=2
      %done = f32[5]{0} all-reduce-done(%begun)
      %other = f32[100]{0} add(%e, %f)
    """
    assert scaling.reduced_bytes(program) == 4 * (6 + 1 + 5) + 2 * 4


@pytest.mark.long
def test_a_step_adds_up_its_gradients_over_all_devices():
    size = Size(width=8, feed_forward=16, layers=1, heads=2, rows=8, length=4)
    row = scaling.step_times(size, turns=1)
    drawn = jax.eval_shape(
        lambda: transformer(size).init(
            jax.random.key(0),
            jax.numpy.ones((1, 4), int),
            jax.numpy.ones((1, 4), int),
            deterministic=True,
        )
    )
    gradients = sum(4 * leaf.size for leaf in jax.tree.leaves(drawn))
    assert row["devices"] == 8
    assert row["seconds"] > 0
    assert gradients <= row["bytes"] < gradients + 100  # and a few metrics


def test_the_table_compares_with_one_device():
    rows = [
        {"devices": count, "seconds": 0.2 / count, "share": 0.1, "bytes": 2**20 * (count - 1)}
        for count in (1, 2)
    ]
    drawn = scaling.table(rows)
    shown = [list(column.cells) for column in drawn.columns]
    assert shown == [["1", "2"], ["200", "100"], ["1.00", "2.00"], ["10%", "10%"], ["0.0", "1.0"]]
