"""Softmax attention that never forms its weights: one signature, and the route to it.

    blockwise   anywhere, every rule, any bias of positions      `attnjax.attention.fused.blockwise`
    cudnn       NVIDIA GPUs, half precision, padding or causal   `attnjax.attention.fused.cudnn`
    splash      TPUs, causal, windows, segments and padding      `attnjax.attention.fused.splash`

A route that cannot honour a rule raises and names it; it never leaves one out.
"""

from collections.abc import Callable
from typing import Literal

import jax

from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.cudnn import cudnn, cudnn_refuses
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.fused.splash import splash, splash_refuses
from attnjax.attention.mask import Mask
from attnjax.errors import UserError

type Route = Literal["auto", "blockwise", "cudnn", "splash"]
"""What computes a context without weights."""

REFUSES = {"cudnn": cudnn_refuses, "splash": splash_refuses}
"""What says in words which of its inputs a route cannot honour."""

WANTS = {"cudnn": "gpu", "splash": "tpu"}
"""The platform of a route that is of one."""

PAYS_FROM = {"cpu": 256, "gpu": 4096, "tpu": 4096}
"""Queries and keys from which on blockwise is the faster (CPU, measured), or dense would take
memory that matters (elsewhere): at 4,096 the weights of one float32 head are 64 MiB.

CPU time of the dense path over blockwise's, gradients included, causal and padded, on two cores:
128 sentences of 4 heads of 32, at 32, 64, 128 words 0.97, 0.98, 1.07; 64 at 256 words 1.66, 16 at
512 words 2.07; 4 of 8 heads of 64 at 256, 512 words 1.16, 1.37; one of them 1.13, 1.25."""


def fused(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: Mask | None = None,
    *,
    query_position: jax.Array | None = None,
    key_position: jax.Array | None = None,
    bias: Callable[..., jax.Array] | None = None,
    scale: float = 1.0,
    route: Route = "auto",
) -> jax.Array:
    """context[t] = sum over allowed s of softmax_s(scale query[t] . key[s] + bias[t, s]) value[s].

    Args:
        query: [..., T, K].
        key: [..., S, K].
        value: [..., S, V].
        mask: what is allowed; None means everything.
        query_position: absolute, integers that broadcast to [..., T]; None means 0, 1, ..., and
            lets what the mask empties be left out before compiling.
        key_position: the same, [..., S].
        bias: a function of positions (see `Inputs`).
        scale: of the products.
        route: what computes it; auto means cuDNN or splash where there is one that can, else
            blockwise. Splash cannot be cut over several devices, unless `shard_map` or `pmap` cuts
            around it: auto takes it where there is one TPU.

    Returns:
        [..., T, V] in the value's dtype; 0 where a query may attend to nothing.

    Raises:
        UserError: the route cannot honour a rule of the mask, or whatever else it names; or it is
            of another platform.

    Source: Vaswani et al. 2017, eq. 1; Rabe and Staats 2021; Dao et al. 2022.
    """
    inputs = Inputs(query, key, value, mask, query_position, key_position, bias, scale)
    platform = jax.default_backend()
    if route == "auto":
        route = _best(inputs)
    elif route in REFUSES and (refused := REFUSES[route](inputs)):
        raise UserError(f"the route {route} cannot honour {refused}; choose blockwise or dense")
    elif WANTS.get(route, platform) != platform:
        raise UserError(f"the route {route} wants a {WANTS[route].upper()}; JAX runs on {platform}")
    return {"blockwise": blockwise, "cudnn": cudnn, "splash": splash}[route](inputs)


def _best(inputs: Inputs) -> Route:
    """The platform's own route, if it can do it all."""
    if jax.default_backend() == "gpu" and not cudnn_refuses(inputs):
        return "cudnn"
    if jax.default_backend() == "tpu" and jax.device_count() == 1 and not splash_refuses(inputs):
        return "splash"
    return "blockwise"


def pays_from() -> int:
    """The number of queries and of keys from which on no weights are better, on this platform."""
    return PAYS_FROM.get(jax.default_backend(), PAYS_FROM["gpu"])
