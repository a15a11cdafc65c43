"""The choice of a kernel for softmax attention: the only place that knows which one computes it.

    dense       anywhere; computes the [T, S] weights            `attnjax.attention.attention`
    blockwise   anywhere, every mask, bias, cap and sink         `attnjax.attention.fused.blockwise`
    cudnn       NVIDIA GPUs, half precision, padding or causal   `attnjax.attention.fused.cudnn`
    splash      TPUs, causal, windows, segments and padding,     `attnjax.attention.fused.splash`
                caps and sinks

All but dense are fused: they never hold the weights. All give the same results. A kernel that
cannot compute a mask raises and names it. Blockwise has derivatives of every kind and order; cudnn
and splash have gradients alone.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
from jax.sharding import PartitionSpec as P, auto_axes

from attnjax.attention.align.base import softmax
from attnjax.attention.align.open import softmax_with_sink
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.cudnn import cudnn, cudnn_refuses
from attnjax.attention.fused.inputs import (
    AxisLayout,
    Inputs,
    RunKernel,
    check_given,
    check_shapes,
    heads_first,
    of_sentences,
    share_keys,
)
from attnjax.attention.fused.splash import splash, splash_refuses
from attnjax.attention.mask import And, Mask, MaskLike, allowed_pairs, as_mask
from attnjax.attention.masked import zero_hidden
from attnjax.attention.pool import weighted_sum
from attnjax.attention.position import Positions
from attnjax.attention.score.base import DotProduct
from attnjax.errors import UserError
from attnjax.nn.axes import explicit_axes, smaller_length
from attnjax.nn.dtypes import as_floats
from attnjax.nn.platform import is_for_one_device, platforms

type Fused = Literal["auto", "blockwise", "cudnn", "splash"]
"""A fused kernel; auto is the best one for the platform that is compiled for."""

type Implementation = Literal["auto", "dense", "blockwise", "cudnn", "splash"]
"""The implementation of an attention; auto is dense for short sequences, else the best kernel."""


class FusedKernel(NamedTuple):
    """A way to compute softmax attention without its weights, on one platform or (None) on any.

    `refuses` names the part of the inputs that the kernel cannot compute; None: all is well.
    """

    name: Implementation
    run: RunKernel
    platform: str | None = None
    refuses: Callable[[Inputs], str | None] = lambda inputs: None


KERNELS = {
    "blockwise": FusedKernel("blockwise", blockwise),
    "cudnn": FusedKernel("cudnn", cudnn, "cuda", cudnn_refuses),
    "splash": FusedKernel("splash", splash, "tpu", splash_refuses),
}

log = logging.getLogger(__name__)
"""Says at level INFO why a platform's kernel is not used."""

FUSED_FROM = {"cpu": 256, "cuda": 4096, "rocm": 4096, "tpu": 4096}
"""The number of queries and of keys from which `Attention` uses a fused kernel, by platform: from
there blockwise is faster (CPU, measured), or the weights take much memory (elsewhere): at 4,096 the
weights of one float32 head take 64 MiB.

CPU time of dense over blockwise, gradients included, causal and padded, on two cores: 128 sentences
of 4 heads of 32, at 32, 64, 128 words 0.97, 0.98, 1.07; 64 at 256 words 1.66, 16 at 512 words 2.07;
4 of 8 heads of 64 at 256, 512 words 1.16, 1.37; one of them 1.13, 1.25."""


def fused(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: MaskLike = None,
    *,
    positions: Positions = Positions(),
    bias: Callable[..., jax.Array] | None = None,
    scale: float | jax.Array | None = None,
    cap: float | None = None,
    sink: jax.Array | None = None,
    implementation: Fused = "auto",
    layout: AxisLayout | None = None,
) -> jax.Array:
    """Compute softmax attention without its [T, S] weights.

        context[t] = sum over allowed s of softmax_s(scale query[t] . key[s] + bias[t, s]) value[s]

    With layout "BTNH" it computes what `jax.nn.dot_product_attention` does, but for a row that may
    attend to nothing: it gives 0, where that function gives the mean of the values.

    The context, [..., T, V], has the value's dtype, float32 for whole numbers. On a mesh of the
    type `jax.sharding.AxisType.Explicit` it is divided as the queries are.

    Args:
        query: [..., T, K].
        key: [..., S, K].
        value: [..., S, V].
        mask: a mask, or booleans [..., T, S], True = attend; None allows everything. Its axes, like
            those of positions and bias, are in the order [B, N, T, S] with either layout; with the
            layout BTNH a rule's arrays and positions [B, S] are those of sentences.
        positions: absolute, integers that broadcast to [..., T] and [..., S]. None means 0, 1, ...:
            then tiles that the mask empties are left out of the program.
        bias: a function of queries and positions (see `Inputs`).
        scale: of the dot products, a number or an array that broadcasts to the queries; None means
            1 / sqrt(K).
        cap: bounds the logits, bias included, by cap tanh(logits / cap); None: nothing does.
        sink: a logit whose exponential is added to the sum of each row, without a value; it
            broadcasts to [..., 1, 1]. None: there is none.
        implementation: the kernel. auto takes cudnn or splash if the program is compiled for their
            platform and they can compute the inputs, else blockwise. XLA cannot divide splash among
            devices, so auto takes it in the program of one device only: with one TPU, or in a
            training step, where each device has a program for its own rows.
        layout: of four axes, which want it. BNTH: heads are a leading axis, [B, N, T, H]. BTNH:
            queries, keys, values and context are [B, T, N, H], as in JAX. Keys and values have N
            heads, or a number that divides N: each is shared by neighboring heads of queries. None:
            there are fewer or more than four axes, and all but the last two lead.

    Raises:
        UserError: the kernel cannot compute the inputs, or needs a platform that JAX does not have
            here; the mask is an array of another dtype or rank; an array has four axes and no
            layout is given; shapes do not fit each other, as where the layout is another, unless
            T = S and no mask or position has an array.

    Source: Vaswani et al. 2017, eq. 1; Rabe and Staats 2021; Dao et al. 2022.
    """
    check_given(mask, bias, layout)

    def compute(
        query: jax.Array, key: jax.Array, value: jax.Array, mask: Any, at: Positions, more: Any
    ) -> jax.Array:
        query, key, value = (heads_first(as_floats(x), layout) for x in (query, key, value))
        key, value = share_keys(query, key, value)
        scale, sink = more
        factor = query.shape[-1] ** -0.5 if scale is None else scale
        mask = as_mask(mask, query)
        inputs = Inputs(query, key, value, mask, at, bias, factor, cap, sink)
        if layout == "BTNH":
            inputs = of_sentences(inputs)
            mask = inputs.mask or And()
        check_shapes(inputs, layout)
        inputs = replace(inputs, key=zero_hidden(mask, key), value=zero_hidden(mask, value))
        auto = implementation == "auto"
        context = (
            _run_by_platform(_best_fused, inputs) if auto else _run(KERNELS[implementation], inputs)
        )
        return context.swapaxes(-2, -3) if layout == "BTNH" else context

    given = query, key, value, mask, positions, (scale, sink)
    if not any(map(explicit_axes, (query, key, value))):
        return compute(*given)
    # JAX divides the tiles; of the context it wants to know how, which is as its arrays are
    *rows, _ = explicit_axes(query) or (None,) * query.ndim
    *_, width = explicit_axes(value) or (None,)
    out = P(*rows, None if width in rows else width)
    return auto_axes(out_sharding=out)(compute)(*given)


def choose(
    implementation: Implementation, length: int, mask: Mask, *, needed: str | None, training: bool
) -> RunKernel | None:
    """Return the fused kernel for an attention, or None to compute the weights.

    cudnn and splash are used in training only. Elsewhere auto replaces them, since they can compute
    neither the masks of a search nor all dtypes. `length` is the smaller of T and S; `needed` says
    what needs the weights, in words: then a fused kernel that was configured is refused.
    """
    if implementation == "dense":
        return None
    if needed and implementation != "auto":
        raise UserError(
            f"{needed} needs the [T, S] weights, which implementation {implementation} does not "
            "compute; choose implementation auto or dense"
        )
    if needed:
        log.info("an attention computes its weights: %s needs them", needed)
        return None
    kernel = KERNELS.get(implementation)
    if kernel and (training or kernel.platform is None):
        return partial(_run, kernel)
    if mask.has_blocks() and length >= min(FUSED_FROM.values()):
        return partial(_run_by_platform, _best)
    return None


def _run(kernel: FusedKernel, inputs: Inputs) -> jax.Array:
    """Run the kernel that the user chose."""
    inputs = inputs.with_known_scale()
    if refused := inputs.refused_array() or kernel.refuses(inputs):
        raise UserError(
            f"implementation {kernel.name} cannot compute {refused}; choose blockwise or dense"
        )
    if kernel.platform and kernel.platform not in platforms():
        raise UserError(
            f"implementation {kernel.name} needs the platform {kernel.platform}; "
            f"the program is for {', '.join(platforms())}"
        )
    return kernel.run(inputs)


def _run_by_platform(best: Callable[[Inputs, str], RunKernel], inputs: Inputs) -> jax.Array:
    """Run the best kernel for the platform that the program is compiled for.

    Where it is not known, a branch is traced for each platform of this machine, and only one of
    them is compiled. Programs exported to another platform compute blockwise.
    """
    inputs = inputs.with_known_scale()
    kernels = {name: best(inputs, name) for name in FUSED_FROM if name in platforms()}
    if len({*kernels.values()}) == 1:
        return next(iter(kernels.values()))(inputs)
    branches = {name: partial(run, inputs) for name, run in kernels.items()}
    return jax.lax.platform_dependent(**branches, default=partial(blockwise, inputs))


def _best(inputs: Inputs, platform: str) -> RunKernel:
    """Return dense below the platform's length, else the best fused kernel."""
    if refused := inputs.refused_array():
        log.info("an attention computes its weights: no kernel takes %s", refused)
        return _dense
    length = smaller_length(inputs.query.shape[-2], inputs.key.shape[-2])
    if length >= FUSED_FROM[platform]:
        return _best_fused(inputs, platform)
    log.info("an attention computes its weights: %d queries or keys are few", length)
    return _dense


def _best_fused(inputs: Inputs, platform: str) -> RunKernel:
    """Return the platform's own kernel if it can compute the inputs, else blockwise.

    Raises:
        UserError: an array is where every kernel takes a constant.
    """
    if array := inputs.refused_array():
        raise UserError(f"fused cannot compute {array}")
    kernels = KERNELS.values()
    own = next((kernel for kernel in kernels if kernel.platform == platform), KERNELS["blockwise"])
    refused = own.refuses(inputs)
    if own.name == "splash" and not is_for_one_device(platform):
        refused = "a program that is divided among several devices"
    if refused:
        log.info("an attention is computed blockwise: %s cannot compute %s", own.name, refused)
        return blockwise
    return own.run


def _dense(inputs: Inputs) -> jax.Array:
    """Compute the context by way of the weights."""
    positions = inputs.positions.filled(inputs.query, inputs.key)
    product = DotProduct(inputs.query, inputs.key, inputs.scale, inputs.logit_bias, inputs.cap)
    logits = product.logits(positions)
    if inputs.sides is not None:
        logits = logits + inputs.sides.pairs()
    allowed = allowed_pairs(inputs.mask or And(), positions, logits.shape)
    kept = inputs.value.dtype
    if inputs.sink is None:
        weights = softmax(logits, allowed, kept=kept)
    else:
        weights = softmax_with_sink(logits, allowed, inputs.sink, kept=kept)
    return weighted_sum(weights, inputs.value)
