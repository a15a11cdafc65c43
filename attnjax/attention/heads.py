"""Computing the heads of a `MultiHead`: in one call if possible, else each on its own.

H heads of queries may share fewer keys and values. Then each of G heads of keys serves a group of
H / G neighboring heads of queries, and the memory holds G heads.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Mask
from attnjax.attention.position import Positions
from attnjax.errors import UserError
from attnjax.nn.lift import PARAMETERS, vmap_heads


def prepare_heads(head: AttentionBase, key: jax.Array, value: jax.Array, group: int) -> Any:
    """Keys and values [..., S, G, any] -> the memory, with [..., G, S, any] leaves.

    `group` is H / G, the number of heads that share each key. Heads whose `prepare` has parameters
    cannot share keys, since each head's would differ.
    """
    if group == 1:
        lifted = vmap_heads(lambda head, key, value: head.prepare(key, value), (-2, -2), -3)
        return lifted(head, key, value)
    before = jax.tree.structure(head.variables.get(PARAMETERS, {}))
    memory = head.prepare(jnp.swapaxes(key, -2, -3), jnp.swapaxes(value, -2, -3))
    if jax.tree.structure(head.variables.get(PARAMETERS, {})) != before:
        name = type(getattr(head, "score", head)).__name__
        raise UserError(
            f"key_heads wants heads that can share their keys; {name} has parameters for the keys "
            "of each head: leave key_heads out, or choose another score"
        )
    return memory


def start_heads(head: AttentionBase, memory: Any, group: int) -> Any | None:
    """The state of H heads, with [..., H, any, any] leaves; None: the head has none."""
    lifted = vmap_heads(lambda head, memory: head.start(memory), (-3,), -3)
    return lifted(head, _copied(memory, group))


def step_heads(
    head: AttentionBase, query: jax.Array, memory: Any, state: Any, group: int
) -> tuple[jax.Array, Any]:
    """One more word: query [..., 1, H, K] -> contexts [..., 1, H, V], and the state after it."""

    def step(head, query, memory, state):
        return head.step(query, memory, state)

    lifted = vmap_heads(step, (-2, -3, -3), (-2, -3))
    return lifted(head, query, _copied(memory, group), state)


def attend_heads(
    head: AttentionBase,
    query: jax.Array,
    memory: Any,
    mask: Mask | None,
    positions: Positions,
    group: int,
    *,
    deterministic: bool,
) -> jax.Array:
    """Queries [..., T, H, K] and the memory -> contexts [..., T, H, V].

    `group` is H / G, the number of heads that share each key; mask and positions are those of all
    heads.
    """
    attend: Callable = partial(type(head).attend, deterministic=deterministic)
    if type(head) is Attention:
        length = min(query.shape[-3], memory.value.shape[-2])
        kernel = head.kernel(length, mask, deterministic=deterministic)
        attend = partial(Attention.attend_by, kernel=kernel, deterministic=deterministic)
        # Sown weights of heads in groups would be [..., G, H / G, T, S].
        shown = group > 1 and head.is_mutable_collection("attention")
        if _same_in_every_head(head) and (deterministic or kernel) and not shown:
            return _at_once(partial(attend, head), query, memory, mask, positions, group)

    def each(head, query, memory, mask, positions):
        return attend(head, query, memory, mask, positions=positions)

    lifted = vmap_heads(each, (-2, -3, None, None), -2)
    return lifted(head, query, _copied(memory, group), mask, positions)


def _same_in_every_head(head: Attention) -> bool:
    """Whether heads [..., H, T, K] can be one more leading axis: no parameters, no draws."""
    alike = head.score.same_in_every_head() and head.align.same_in_every_head()
    return alike and head.needs_weights(deterministic=True) is None


def _at_once(
    attend: Callable,
    query: jax.Array,
    memory: Any,
    mask: Mask | None,
    positions: Positions,
    group: int,
) -> jax.Array:
    """The contexts, with heads as one more leading axis, or as two: [..., G, H / G, T, K].

    A lifted fused kernel would read the tiles of all heads side by side, too many for a cache.
    Lifted dense heads would lead with H, and the memory [B, H, S, any] would be transposed before
    each product: 40 % of the time if there are few queries.
    """
    query = jnp.swapaxes(query, -2, -3)
    *leading, heads, T, K = query.shape
    mask, positions = _for_every_head(mask, positions)
    if group > 1:
        query = query.reshape(*leading, heads // group, group, T, K)
        memory = jax.tree.map(lambda leaf: jnp.expand_dims(leaf, -3), memory)
        mask, positions = _for_every_head(mask, positions)
    context = attend(query, memory, mask, positions=positions)
    return jnp.swapaxes(context.reshape(*leading, heads, T, context.shape[-1]), -2, -3)


def _copied(memory: Any, group: int) -> Any:
    """The memory of G heads, copied for each head of a group: [..., H, S, any] leaves."""
    if group == 1:
        return memory
    return jax.tree.map(lambda leaf: jnp.repeat(leaf, group, axis=-3), memory)


def _for_every_head(mask: Mask | None, positions: Positions) -> tuple[Mask | None, Positions]:
    """The same mask and positions with one more leading axis."""
    return None if mask is None else mask.expand_heads(), positions.expand_heads()
