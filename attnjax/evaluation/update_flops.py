"""The FLOPs of an update; nothing is compiled or allocated."""

from functools import partial

from attnjax.data.batch_plan import Batch
from attnjax.data.packing import PackedBatch
from attnjax.evaluation.flops import product_flops
from attnjax.training.settings import Recipe
from attnjax.training.step import on_one_device, state_shapes, train_step

type AnyBatch = Batch | PackedBatch


def update_flops(recipe: Recipe, batch: AnyBatch) -> int:
    """The floating-point operations of the matrix products of an update; arrays may be shapes."""
    step = partial(train_step, recipe=recipe, over_devices=on_one_device)
    return product_flops(step, state_shapes(recipe, batch), batch)
