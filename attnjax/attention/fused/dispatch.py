"""The choice of a kernel for softmax attention: the only place that knows which one computes it.

    dense       anywhere; computes the [T, S] weights            `attnjax.attention.attention`
    blockwise   anywhere, every mask, any bias of positions      `attnjax.attention.fused.blockwise`
    cudnn       NVIDIA GPUs, half precision, padding or causal   `attnjax.attention.fused.cudnn`
    splash      TPUs, causal, windows, segments and padding      `attnjax.attention.fused.splash`

All but dense are fused: they never hold the weights. All give the same results. A kernel that
cannot compute a mask raises and names it.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Literal, Protocol

import jax
import jax.numpy as jnp

from attnjax.attention.align import Align, softmax
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.cudnn import cudnn, cudnn_refuses
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.fused.layout import AxisLayout, check_shapes, heads_first
from attnjax.attention.fused.splash import splash, splash_refuses
from attnjax.attention.mask import Mask, MaskLike, as_mask, join
from attnjax.attention.pool import Pool, weighted_sum
from attnjax.attention.position import Positions
from attnjax.attention.score import DotProduct, Score, dot
from attnjax.errors import UserError
from attnjax.nn.platform import is_for_one_device, platforms

type Fused = Literal["auto", "blockwise", "cudnn", "splash"]
"""A fused kernel; auto is the best one for the platform that is compiled for."""

type Implementation = Literal["auto", "dense", "blockwise", "cudnn", "splash"]
"""The implementation of an attention; auto is dense for short sequences, else the best kernel."""

type Kernel = Callable[[Inputs], jax.Array]
"""From the inputs to the context."""


log = logging.getLogger(__name__)
"""Says at level INFO why a platform's kernel is not used."""


class Configuration(Protocol):
    """The configuration of an `Attention`, as far as the choice depends on it."""

    score: Score
    align: Align
    pool: Pool
    mask: Mask | None
    dropout: float
    implementation: Implementation

    def is_initializing(self) -> bool: ...

    def is_mutable_collection(self, col: str) -> bool: ...


REFUSES = {"cudnn": cudnn_refuses, "splash": splash_refuses}
"""For each kernel of one platform, the function that says what of its inputs it cannot compute."""

PLATFORM = {"cudnn": "cuda", "splash": "tpu"}
"""The platform of a kernel that has only one."""

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
    scale: float | None = None,
    implementation: Fused = "auto",
    layout: AxisLayout = "BNTH",
) -> jax.Array:
    """context[t] = sum over allowed s of softmax_s(scale query[t] . key[s] + bias[t, s]) value[s].

    With layout "BTNH" it computes what `jax.nn.dot_product_attention` does, but for a row that may
    attend to nothing: it gives 0, where that function gives the mean of the values.

    Args:
        query: [..., T, K].
        key: [..., S, K].
        value: [..., S, V].
        mask: a mask, or booleans [..., T, S], True = attend; None allows everything. Its axes, like
            those of positions and bias, are in the order [B, N, T, S] with either layout.
        positions: absolute, integers that broadcast to [..., T] and [..., S]. None means 0, 1, ...:
            then tiles that the mask empties are left out of the program.
        bias: a function of queries and positions (see `Inputs`).
        scale: of the dot products; None means 1 / sqrt(K).
        implementation: the kernel. auto takes cudnn or splash if the program is compiled for their
            platform and they can compute the inputs, else blockwise. XLA cannot divide splash among
            devices, so auto takes it in the program of one device only: with one TPU, or in a
            training step, where each device has a program for its own rows.
        layout: BNTH: heads are a leading axis, [B, N, T, H]. BTNH: queries, keys, values and
            context are [B, T, N, H], as in JAX. Keys and values have N heads, or one that all
            queries share.

    Returns:
        [..., T, V] in the value's dtype; 0 where a query may attend to nothing.

    Raises:
        UserError: the kernel cannot compute the inputs, or needs a platform that JAX does not have
            here; the mask is an array of another dtype or rank; shapes do not fit each other, as
            where the layout is another, unless T = S and no mask or position has an array.

    Source: Vaswani et al. 2017, eq. 1; Rabe and Staats 2021; Dao et al. 2022.
    """
    query, key, value = (heads_first(x, layout) for x in (query, key, value))
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    inputs = Inputs(query, key, value, as_mask(mask, query), positions, bias, factor)
    check_shapes(inputs, layout)
    auto = implementation == "auto"
    context = _by_platform(inputs, _best_fused) if auto else _run(implementation, inputs)
    return context if layout == "BNTH" else context.swapaxes(-2, -3)


def choose(
    attention: Configuration,
    query: jax.Array,
    key: jax.Array,
    mask: Mask | None,
    *,
    deterministic: bool,
) -> Callable[[DotProduct, jax.Array, Mask | None, Positions], jax.Array] | None:
    """The fused kernel for an attention; None: compute the weights.

    cudnn and splash are used in training only. Elsewhere auto replaces them, since they can compute
    neither the masks of a search nor all dtypes.

    Args:
        attention: what the user configured.
        query: [..., T, any].
        key: [..., S, any].
        mask: None allows everything.
        deterministic: no dropout.

    Returns:
        A function of the score as a dot product, the values, the mask and the positions.

    Raises:
        UserError: a fused kernel was configured, and some part needs the weights.
    """
    implementation, initializing = attention.implementation, attention.is_initializing()
    shown = attention.is_mutable_collection("attention") and not initializing
    training = not (deterministic or initializing)
    if implementation == "dense" or shown:
        return None
    needed = needs_weights(attention, deterministic=deterministic)
    if needed and implementation != "auto":
        raise UserError(
            f"{needed} needs the [T, S] weights, which implementation {implementation} does not "
            "compute; choose implementation auto or dense"
        )
    if needed:
        log.info("an attention computes its weights: %s needs them", needed)
        return None
    if implementation == "blockwise" or (implementation in PLATFORM and training):
        run = partial(_run, implementation)
    elif (mask is None or mask.has_blocks()) and _length(query, key) >= min(FUSED_FROM.values()):
        run = partial(_by_platform, kernel=_best)
    else:
        return None
    return lambda product, value, mask, positions: run(
        Inputs(product.query, product.key, value, mask, positions, product.bias, product.scale)
    )


def same_in_every_head(
    attention: Configuration,
    query: jax.Array,
    key: jax.Array,
    mask: Mask | None,
    *,
    deterministic: bool,
) -> bool:
    """Whether heads [..., H, T, K] can be one more leading axis: no parameters, no draws.

    Arguments as of `choose`, with heads.
    """
    alike = attention.score.same_in_every_head() and attention.align.same_in_every_head()
    if not alike or needs_weights(attention, deterministic=True):
        return False
    if deterministic:
        return True
    mask = join(attention.mask, mask)
    return choose(attention, query, key, mask, deterministic=False) is not None


def needs_weights(attention: Configuration, *, deterministic: bool) -> str | None:
    """The part of an attention that no fused kernel can compute, in words; None: there is none."""
    if not attention.score.is_dot_product():
        return f"the score {attention.score.in_words()}"
    if not attention.align.is_softmax:
        return f"the align {type(attention.align).__name__}"
    if not attention.pool.is_weighted_sum:
        return f"the pool {type(attention.pool).__name__}"
    return "dropout of weights" if attention.dropout and not deterministic else None


def describe(attention: Configuration) -> str:
    """The implementation that computes an attention in training, in words."""
    implementation = attention.implementation
    needed = needs_weights(attention, deterministic=False)
    if needed or implementation == "dense":
        return f"dense, computes its weights{f' for {needed}' if needed else ''}"
    if implementation != "auto":
        return f"{implementation}, computes its weights only if they are requested"
    lengths = ", ".join(f"{length:,} ({name})" for name, length in FUSED_FROM.items())
    return f"auto, computes its weights below a length of {lengths}"


def _run(implementation: Implementation, inputs: Inputs) -> jax.Array:
    """The context by the kernel that the user chose."""
    if implementation == "blockwise":
        return blockwise(inputs)
    if refused := REFUSES[implementation](inputs):
        raise UserError(
            f"implementation {implementation} cannot compute {refused}; choose blockwise or dense"
        )
    if PLATFORM[implementation] not in platforms():
        raise UserError(
            f"implementation {implementation} needs the platform {PLATFORM[implementation]}; "
            f"the program is for {', '.join(platforms())}"
        )
    return _kernel(implementation)(inputs)


def _by_platform(inputs: Inputs, kernel: Callable[[Inputs, str], Kernel]) -> jax.Array:
    """The context by the kernel of the platform that the program is compiled for.

    Where it is not known, a branch is traced for each platform of this machine, and only one of
    them is compiled. Programs exported to another platform compute blockwise.
    """
    kernels = {name: kernel(inputs, name) for name in FUSED_FROM if name in platforms()}
    if len({*kernels.values()}) == 1:
        return next(iter(kernels.values()))(inputs)
    branches = {name: partial(run, inputs) for name, run in kernels.items()}
    return jax.lax.platform_dependent(**branches, default=partial(blockwise, inputs))


def _best(inputs: Inputs, platform: str) -> Kernel:
    """Dense below the platform's length, else the best fused kernel."""
    length = _length(inputs.query, inputs.key)
    if length >= FUSED_FROM[platform]:
        return _best_fused(inputs, platform)
    log.info("an attention computes its weights: %d queries or keys are few", length)
    return _dense


def _best_fused(inputs: Inputs, platform: str) -> Kernel:
    """The platform's own kernel if it can compute the inputs, else blockwise."""
    own = {name: kernel for kernel, name in PLATFORM.items()}.get(platform)
    if own is None:
        return blockwise
    refused = REFUSES[own](inputs)
    if own == "splash" and not is_for_one_device(platform):
        refused = "a program that is divided among several devices"
    if refused:
        log.info("an attention is computed blockwise: %s cannot compute %s", own, refused)
        return blockwise
    return _kernel(own)


def _kernel(name: str) -> Kernel:
    """The kernel of one platform."""
    return {"cudnn": cudnn, "splash": splash}[name]


def _dense(inputs: Inputs) -> jax.Array:
    """The context by way of the weights."""
    logits, allowed = inputs.scale * dot(inputs.query, inputs.key), None
    positions = inputs.positions.filled(inputs.query, inputs.key)
    if inputs.bias is not None:
        bias = inputs.bias(inputs.scale * inputs.query, positions)
        logits += jnp.broadcast_to(bias, logits.shape)
    if inputs.mask is not None:
        allowed = jnp.broadcast_to(inputs.mask.dense(positions), logits.shape)
    return weighted_sum(softmax(logits, allowed), inputs.value)


def _length(query: jax.Array, key: jax.Array) -> int:
    """The smaller of T and S."""
    return min(query.shape[-2], key.shape[-2])
