"""The counters, against closed forms, and Table 1's columns."""

import math
from typing import Any

import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Window
from attnjax.errors import UserError
from attnjax.evaluation.depth import sequential_operations
from attnjax.evaluation.flops import product_flops
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.layer_cost import (
    LayerCost,
    call,
    exponent,
    maximum_path_length,
    memory,
)
from attnjax.models.rnn_cells import Elman
from attnjax.models.sequence_layers import Convolution, Recurrence
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import EncoderLayer

DENSE = MultiHead(heads=2, head=Attention(implementation="dense"))
BLOCKS = MultiHead(heads=2, head=Attention(implementation="blockwise"))
RECURRENT = Recurrence(cell=Elman())


def windowed(reach: int) -> MultiHead:
    mask = Window(before=reach, after=reach)
    return MultiHead(heads=2, head=Attention(mask=mask, implementation="blockwise"))


def flops(layer: Any, length: int, width: int) -> int:
    return product_flops(*call(layer, length, width))


def chain(layer: Any, length: int, width: int) -> int:
    return sequential_operations(*call(layer, length, width))


def test_operations_are_the_closed_forms():
    n, d = 32, 8
    assert flops(DENSE, n, d) == 4 * 2 * n * d * d + 2 * 2 * n * n * d
    assert flops(Convolution(kernel_width=5), n, d) == 2 * 5 * n * d * d
    assert flops(RECURRENT, n, d) == 2 * (2 * n * d * d // 2 + 2 * n * (d // 2) ** 2)


def test_only_the_tiles_in_a_window_are_computed():
    n, d, tile, reach = 2048, 8, 512, 100
    tiles = 2048 // tile + 2 * (2048 // tile - 1)
    assert flops(windowed(reach), n, d) == 4 * 2 * n * d * d + 2 * 2 * tiles * tile * tile * d
    assert flops(BLOCKS, n, d) == flops(DENSE, n, d)


@pytest.mark.parametrize("layer", [DENSE, Convolution()], ids=["attention", "convolution"])
def test_a_layer_without_a_loop_is_as_deep_at_any_length(layer):
    assert chain(layer, 8, 8) == chain(layer, 256, 8)


def test_a_recurrent_layer_is_deeper_by_the_same_for_every_word():
    depths = [chain(RECURRENT, n, 8) for n in (8, 9, 10, 40)]
    step = depths[1] - depths[0]
    # the product with the state, the sum, tanh, and the choice between word and padding
    assert step >= 3
    assert depths[2:] == [depths[0] + 2 * step, depths[0] + 32 * step]


def test_weights_take_the_square_of_the_length_and_tiles_do_not():
    assert memory(DENSE, 2048, 8) >= 2 * 2048**2 * 4
    assert memory(BLOCKS, 2048, 8) < 2048**2 * 4


@pytest.mark.parametrize(
    "length", [5, pytest.param(8, marks=pytest.mark.long), pytest.param(17, marks=pytest.mark.long)]
)
def test_paths_are_the_closed_forms(length):
    def path(layer: Any, width: int = 4) -> float:
        return maximum_path_length(lambda depth: layer, length, width)

    assert path(DENSE) == 1
    assert path(windowed(3)) == math.ceil((length - 1) / 3)
    assert path(Convolution(kernel_width=3)) == length - 1
    assert path(Convolution(kernel_width=7)) == math.ceil((length - 1) / 3)
    assert path(RECURRENT) == length
    for kernel_width, factor in ((3, 2), (5, 3)):
        layers = [Convolution(kernel_width=kernel_width, dilation=factor**n) for n in range(8)]
        dilated = maximum_path_length(layers.__getitem__, length, 4)
        assert dilated == math.ceil(math.log(length, factor) - 1e-9)


def test_a_stack_that_never_connects_two_positions_has_no_path():
    ahead = MultiHead(heads=2, head=Attention(mask=Window(before=2, after=0)))
    assert maximum_path_length(lambda depth: ahead, 6, 4) == math.inf


def test_an_exponent_is_the_slope():
    assert exponent((3, 6, 12), lambda n: 5 * n**1.5) == pytest.approx(1.5)
    assert exponent((3, 6, 13), lambda n: 7) == 0


SMALL = LayerCost(lengths=(64, 128), width=8, widths=(4, 8), path_lengths=(6, 12))


def test_the_measure_gives_the_exponents_of_the_layer_at_its_path():
    model = Transformer(width=16, encoder_layer=EncoderLayer(self_attention=RECURRENT))
    inputs = EvalInputs(model, {}, None, None)  # pyright: ignore
    found = {measurement.key: measurement.value for measurement in SMALL.at_init(inputs)}
    assert [key.name for key in found] == [
        *("time_by_length", "time_by_width", "memory_by_length"),
        *("sequential_by_length", "path_by_length"),
    ]
    assert found[MetricKey("time_by_length")] == pytest.approx(1)
    assert found[MetricKey("time_by_width")] == pytest.approx(2)
    assert found[MetricKey("sequential_by_length")] == pytest.approx(1, abs=0.1)
    assert found[MetricKey("path_by_length")] == pytest.approx(1)
    assert all(np.isfinite(value) for value in found.values())


def test_what_is_no_layer_of_self_attention_is_refused():
    model: Any = Transformer(width=16)
    SMALL.check(model, None)  # pyright: ignore
    with pytest.raises(UserError, match=r"no field encoder_layer.recurrence"):
        LayerCost(layer="encoder_layer.recurrence").check(model, None)  # pyright: ignore
    with pytest.raises(UserError, match="wants the path of a layer of self-attention; got posit"):
        LayerCost(layer="position").check(model, None)  # pyright: ignore
