"""Linear maps whose transpose, the gradient, is computed in a way of its own.

A function with `jax.custom_vjp` has no forward-mode derivative, one with `jax.custom_jvp` no
gradient of its own. It has both if its rule for `jax.custom_jvp` gives a `linear_map`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir


def linear_map(
    forward: Callable[[Any, Any], jax.Array],
    backward: Callable[[Any, jax.Array], Any],
    like: jax.Array,
    given: Any,
    x: Any,
) -> jax.Array:
    """Return forward(given, x), linear in x, whose transpose is backward(given, slope).

    The result has the shape and dtype of `like`. Differentiated again it is `forward`, an ordinary
    function; the transpose is a function that is differentiated as it is.
    """
    held, trees = zip(*(jax.tree.flatten(tree) for tree in (given, x)), strict=True)

    def split(leaves: Sequence[jax.Array]) -> tuple[Any, Any]:
        count = trees[0].num_leaves
        return trees[0].unflatten(leaves[:count]), trees[1].unflatten(leaves[count:])

    def flat_forward(_: jax.Array, *leaves: jax.Array) -> jax.Array:
        return forward(*split(leaves))

    def flat_backward(slope: jax.Array, *leaves: jax.Array) -> list[jax.Array]:
        return jax.tree.leaves(backward(trees[0].unflatten(leaves), slope))

    return _map.bind(
        like, *held[0], *held[1], forward=flat_forward, backward=flat_backward, linear=len(held[1])
    )


_map = Primitive("linear_map")


@_map.def_impl
def _run(*arrays: jax.Array, forward: Any, **_: Any) -> jax.Array:
    return forward(*arrays)


@_map.def_abstract_eval
def _shape(like: Any, *_: Any, **__: Any) -> Any:
    return like


def _differentiate(primals: Any, tangents: Any, *, forward: Any, **_: Any) -> Any:
    return jax.jvp(forward, (*primals,), tuple(ad.instantiate_zeros(x) for x in tangents))


def _transpose(slope: Any, *arrays: Any, backward: Any, linear: int, **_: Any) -> list[Any]:
    given = arrays[1 : len(arrays) - linear]
    slopes = backward(ad.instantiate_zeros(slope), *given)
    return [None] * (1 + len(given)) + slopes


def _batch(arrays: Any, axes: Any, *, forward: Any, backward: Any, linear: int) -> Any:
    """Map each example; `like` is one of each, too."""
    (size,) = {x.shape[axis] for x, axis in zip(arrays, axes, strict=True) if axis is not None}
    like, *others = arrays
    if axes[0] is None:
        like = jnp.broadcast_to(like, (size, *like.shape))
    elif axes[0]:
        like = jnp.moveaxis(like, axes[0], 0)
    others = [
        jnp.moveaxis(x, axis, 0) if axis is not None else x
        for x, axis in zip(others, axes[1:], strict=True)
    ]
    first = [None if axis is None else 0 for axis in axes[1:]]
    count = len(others) - linear
    # each example has its own linear arrays, as it has its own slope
    others[count:] = [
        x if axis == 0 else jnp.broadcast_to(x, (size, *x.shape))
        for x, axis in zip(others[count:], first[count:], strict=True)
    ]
    mapped = {
        "forward": jax.vmap(forward, (0, *first[:count], *[0] * linear)),
        "backward": jax.vmap(backward, (0, *first[:count])),
    }
    return _map.bind(like, *others, **mapped, linear=linear), 0


ad.primitive_jvps[_map] = _differentiate
ad.primitive_transposes[_map] = _transpose
batching.primitive_batchers[_map] = _batch
mlir.register_lowering(_map, mlir.lower_fun(_run, multiple_results=False))
