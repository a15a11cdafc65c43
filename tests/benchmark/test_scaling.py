"""What more devices cost."""

import jax
import pytest

from attnjax.benchmark import scaling
from attnjax.benchmark.train import Size, transformer


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
    (drawn,) = scaling.tables({"scaling": rows})
    shown = [list(column.cells) for column in drawn.columns]
    assert shown == [["1", "2"], ["200", "100"], ["1.00", "2.00"], ["10%", "10%"], ["0.0", "1.0"]]
