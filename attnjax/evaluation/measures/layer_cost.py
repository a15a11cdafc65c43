"""The costs of a layer of self-attention, counted: Table 1 of Vaswani et al. 2017."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import MinLen

from attnjax.attention.attention import Mixer
from attnjax.config.constraints import PositiveInt
from attnjax.config.vary import field_at, vary
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.depth import longest_loop, sequential_operations
from attnjax.evaluation.flops import product_flops
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import EvalInputs, Measure, Numbers
from attnjax.models.base import Model

type Sizes = Annotated[tuple[PositiveInt, ...], MinLen(2)]


@dataclass(frozen=True, kw_only=True)
class LayerCost(Measure):
    """The exponents of the growth of the costs of a layer of self-attention.

        cost ~ size^exponent, by least squares of log cost against log size

    Measured are `time_by_length` and `time_by_width` (see `product_flops`), `memory_by_length` (the
    bytes that the compiled layer and its gradient allocate for intermediate results),
    `sequential_by_length` (see `sequential_operations`) and `path_by_length` (see
    `maximum_path_length`); all but the memory in the forward pass, over one sequence. They are
    counted: no clock is read, no seed changes them.

    Attributes:
        layer: the path of the layer in the model.
        lengths: of the sequences, at the width `width`.
        widths: D, at the longest length.
        path_lengths: of the sequences whose paths are followed.
        growing: a field of the layer that is multiplied by a factor from each layer of a stack to
            the next, as ("dilation", 2); None: all layers of a stack are equal.

    Source: Vaswani et al. 2017, section 4 and Table 1.
    """

    numbers: ClassVar[Numbers] = {
        "time_by_length": None,
        "time_by_width": None,
        "memory_by_length": None,
        "sequential_by_length": None,
        "path_by_length": None,
    }

    layer: str = "encoder_layer.self_attention"
    lengths: Sizes = (4096, 8192, 16384)
    width: PositiveInt = 32
    widths: Sizes = (16, 32, 64)
    path_lengths: Sizes = (8, 16, 32, 64)
    growing: tuple[str, PositiveInt] | None = None

    def check(self, model: Model, corpus: Corpus) -> None:
        """Refuse a model without such a layer; the corpus does not matter."""
        self._layer(model)

    def at_init(self, inputs: EvalInputs) -> Sequence[Measurement]:
        layer, longest = self._layer(inputs.model), max(self.lengths)
        return self.measured(
            exponent(self.lengths, lambda n: product_flops(*call(layer, n, self.width))),
            exponent(self.widths, lambda d: product_flops(*call(layer, longest, d))),
            exponent(self.lengths, lambda n: memory(layer, n, self.width)),
            exponent(self.lengths, lambda n: sequential_operations(*call(layer, n, self.width))),
            exponent(
                self.path_lengths,
                lambda n: maximum_path_length(partial(self._layer_at, layer), n, self.width),
            ),
        )

    def _layer(self, model: Model) -> Mixer:
        _, layer = field_at(model, self.layer)
        if not isinstance(layer, Mixer):
            raise UserError(
                f"LayerCost.layer wants the path of a layer of self-attention; got {self.layer}, "
                f"a {type(layer).__name__}"
            )
        return layer

    def _layer_at(self, lowest: Mixer, depth: int) -> Mixer:
        if self.growing is None:
            return lowest
        path, factor = self.growing
        return vary(lowest, {path: field_at(lowest, path)[1] * factor**depth})


def exponent(sizes: Sequence[int], cost: Callable[[int], float]) -> float:
    """Return the least-squares slope of log cost against log size; 0 for a constant cost."""
    x, y = np.log(sizes), np.log([cost(size) for size in sizes])
    x = x - x.mean()
    return float(x @ (y - y[0]) / (x @ x))


def memory(layer: Mixer, length: int, width: int) -> int:
    """Return the bytes of temporary memory of the compiled layer and its gradient."""
    function, *arguments = call(layer, length, width)
    square = jax.grad(lambda params, x: (function(params, x) ** 2).sum(), argnums=(0, 1))
    analysis = jax.jit(square).lower(*arguments).compile().memory_analysis()
    if analysis is None:
        platform = jax.devices()[0].platform
        raise UserError(f"LayerCost: {platform} does not report the memory that is allocated")
    return analysis.temp_size_in_bytes


def maximum_path_length(layer_at: Callable[[int], Mixer], length: int, width: int) -> float:
    """Return the number of steps of a signal between the farthest positions, in a stack of layers.

    A layer is a step, or as many as the steps of its longest loop: a recurrent layer passes a
    signal from word to word. The stack is as high as it must be for every output to depend on every
    input, by the gradient d output[t] / d input[s] of each layer; infinite if `length` layers do
    not connect every pair. `layer_at(0)` is the lowest layer.
    """
    # the seeds are arguments: of constants the compiler would compute the gradient itself
    reached, steps, seeds = np.eye(length, dtype=bool), 0, np.arange(2)
    loops: dict[Any, int] = {}
    for depth in range(length):
        layer = layer_at(depth)
        reached = np.asarray(_depends(layer, length, width, seeds)) @ reached
        if layer not in loops:
            loops[layer] = longest_loop(*call(layer, length, width))
        steps += loops[layer]
        if reached.all():
            return steps
    return math.inf


def call(layer: Mixer, length: int, width: int) -> tuple[Callable[..., Any], Any, Any]:
    """Return the layer as a function of its parameters and a sequence, and the shapes of both."""
    x = jax.ShapeDtypeStruct((1, length, width), jnp.float32)
    params = jax.eval_shape(lambda x: _init(layer, x), x)
    return lambda params, x: layer.apply(params, x, deterministic=True), params, x


def _init(layer: Mixer, x: jax.Array) -> Any:
    return layer.init(jax.random.key(0), x, deterministic=True, mutable=["params"])


@partial(jax.jit, static_argnames=("layer", "length", "width"))
def _depends(layer: Mixer, length: int, width: int, seeds: jax.Array) -> jax.Array:
    """Return booleans [T, S]: whether output t depends on input s, by the gradient at a sample.

    `seeds` are two, of the sample and of the output's direction whose gradient is taken.
    """
    x = jax.random.normal(jax.random.key(seeds[0]), (1, length, width))
    probe = jax.random.normal(jax.random.key(seeds[1]), (width,))
    params = _init(layer, x)

    def outputs(x: jax.Array) -> jax.Array:
        return layer.apply(params, x, deterministic=True)[0] @ probe  # pyright: ignore

    return (jax.jacrev(outputs)(x)[:, 0] != 0).any(-1)
