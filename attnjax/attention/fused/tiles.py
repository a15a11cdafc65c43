"""The two passes of attention over tiles: a running softmax forwards, the weights anew backwards.

N examples, batch and heads alike, are read in groups of G. A group's results are carried from tile
to tile, at most [G, T, V]; logits, [G, rows, columns], live as long as their tile.
"""

from collections.abc import Callable
from functools import partial, reduce
from operator import and_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.tree_util import Partial

from attnjax.attention.mask import Mask

type Number = Any
"""A tile's or a group's number, which a loop counts."""


class TilePlan(NamedTuple):
    """What is known before compiling.

    Attributes:
        rows: queries in a tile.
        columns: keys in a tile.
        group: G, how many examples are read at once.
        whole: tiles (i, j) without a forbidden pair.
        partial: the others that may hold an allowed pair.
        scale: what products are multiplied by.
    """

    rows: int
    columns: int
    group: int
    whole: tuple[tuple[int, int], ...]
    partial: tuple[tuple[int, int], ...]
    scale: float


class Where(NamedTuple):
    """Which pairs are allowed; a leading axis is N, or 1 where all examples are alike.

    Attributes:
        rules: single rules, with arrays [N, T] or [N, S].
        query_position: [N, T].
        key_position: [N, S].
        some: which tiles may hold an allowed pair, [N, query blocks, key blocks]; None where the
            plan says it all.
    """

    rules: tuple[Mask, ...]
    query_position: jax.Array
    key_position: jax.Array
    some: jax.Array | None


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def attend(
    plan: TilePlan,
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    bias: Partial | None,
    where: Where,
) -> jax.Array:
    """Queries [N, T, K], keys [N, S, K], values [N, S, V] -> context [N, T, V].

    T and S are whole blocks. The bias' arrays lead with N; it is called on one example's tile.
    """
    return _forward(plan, query, key, value, bias, where)[0]


def _forward(
    plan: TilePlan,
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    bias: Partial | None,
    where: Where,
) -> tuple[jax.Array, Any]:
    """The context, and what the backward pass needs: besides it log sum exp of each row."""

    def group(number: Number) -> tuple[jax.Array, jax.Array]:
        own, share = _of_group(plan, where, number), partial(_share, plan, number)
        q, k, v, added = plan.scale * share(_wide(query)), share(key), share(value), share(bias)

        def update(old: list[jax.Array], i: Number, j: Number, masked: bool) -> list[jax.Array]:
            highest, total, context = old
            row, column = _cutters(plan, i, j)
            logits = jnp.einsum("gtk,gsk->gts", row(q), _wide(column(k)))
            if bias is not None:
                logits += _bias(plan, own, added, i, j)
            if masked:
                logits = _forbid(logits, _allowed(plan, own, i, j))
            higher = jnp.maximum(highest, logits.max(-1, keepdims=True))
            # A row without a key so far has no highest logit; any finite number does.
            level = jnp.where(higher == -jnp.inf, 0, higher)
            weights, decay = jnp.exp(logits - level), jnp.exp(highest - level)
            more = jnp.einsum("gts,gsv->gtv", weights, _wide(column(v)))
            total = total * decay + weights.sum(-1, keepdims=True)
            return [higher, total, context * decay + more]

        wide = jnp.zeros((*q.shape[:-1], v.shape[-1]), _wide(v).dtype)
        column = wide[..., :1]
        start = [jnp.full_like(column, -jnp.inf), column, wide]
        highest, total, context = _over(plan, own, update, start, [("query", 1)] * 3)
        empty = total == 0
        context = context / jnp.where(empty, 1, total)
        # Minus this, every logit of an empty row is -inf, and its weight 0.
        level = jnp.where(empty, jnp.inf, highest + jnp.log(jnp.where(empty, 1, total)))
        return context.astype(value.dtype), level

    context, level = _each_group(plan, group, query)
    return context, (query, key, value, bias, where, context, level)


def _backward(plan: TilePlan, kept: Any, slope: jax.Array) -> tuple[Any, ...]:
    """The gradients of query, key, value and bias.

    Its tiles are turned, [G, columns, rows]: two of three products that read a turned tile then
    have it on their left, as it lies, and the third has queries' gradients as [G, K, T]. On the
    right a tile is laid out anew before each product, which costs half as much again.
    """
    query, key, value, bias, where, context, level = kept

    def group(number: Number) -> tuple[Any, ...]:
        own, share = _of_group(plan, where, number), partial(_share, plan, number)
        q, k, v, d = plan.scale * share(_wide(query)), share(key), share(value), share(_wide(slope))
        added, levels = share(bias), _turned(share(level))
        inner = (d * _wide(share(context))).sum(-1)[:, None]
        k_turned = _turned(k)

        def update(old: list[Any], i: Number, j: Number, masked: bool) -> list[Any]:
            by_query, by_key, by_value, by_bias = old
            row, column = _cutters(plan, i, j)
            logits = jnp.einsum("gsk,gtk->gst", _wide(column(k)), row(q))
            if bias is not None:
                logits += _turned(_bias(plan, own, added, i, j))
            if masked:
                logits = _forbid(logits, _turned(_allowed(plan, own, i, j)))
            weights = jnp.exp(logits - row(levels, axis=2))
            by_weights = jnp.einsum("gsv,gtv->gst", _wide(column(v)), row(d))
            by_logits = weights * (by_weights - row(inner, axis=2))
            by_query += jnp.einsum("gks,gst->gkt", _wide(column(k_turned, axis=2)), by_logits)
            by_key += jnp.einsum("gst,gtk->gsk", by_logits, row(q))
            by_value += jnp.einsum("gst,gtv->gsv", weights, row(d))
            if bias is not None:
                pull = jax.vjp(lambda bias: _bias(plan, own, bias, i, j), added)[1]
                by_bias = jax.tree.map(jnp.add, by_bias, *pull(_turned(by_logits)))
            return [by_query, by_key, by_value, by_bias]

        start = [
            jnp.zeros_like(_turned(q)),
            *(jnp.zeros_like(x, _wide(x).dtype) for x in (k, v)),
            jax.tree.map(jnp.zeros_like, added),
        ]
        slots = [("query", 2), ("key", 1), ("key", 1), (None, 0)]
        by_query, by_key, by_value, by_bias = _over(plan, own, update, start, slots)
        given = (query, key, value)
        slopes = (plan.scale * _turned(by_query), by_key, by_value)
        return *(x.astype(y.dtype) for x, y in zip(slopes, given, strict=True)), by_bias

    return *_each_group(plan, group, query), None


attend.defvjp(_forward, _backward)


def _each_group(plan: TilePlan, group: Callable[[Number], Any], query: jax.Array) -> Any:
    """What each group of examples gives, one after the other: leaves [N, ...]."""
    numbers = jnp.arange(query.shape[0] // plan.group)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), lax.map(group, numbers))


def _over(plan: TilePlan, own: Where, update: Callable[..., Any], carry: Any, slots: Any) -> Any:
    """Carry results over all tiles: of each, `update` sees the part that its slot says."""

    def step(masked: bool, carry: list[Any], place: Any) -> tuple[list[Any], None]:
        i, j = place
        sizes = {"query": (i, plan.rows), "key": (j, plan.columns)}
        parts = [
            _cut(x, *sizes[side], axis) if side else x
            for x, (side, axis) in zip(carry, slots, strict=True)
        ]
        change = partial(update, i=i, j=j, masked=masked)
        if own.some is not None:
            new = lax.cond(own.some[i, j], change, lambda parts: parts, parts)
        else:
            new = change(parts)
        return [
            lax.dynamic_update_slice_in_dim(x, part, sizes[side][0] * sizes[side][1], axis)
            if side
            else part
            for x, part, (side, axis) in zip(carry, new, slots, strict=True)
        ], None

    for places, masked in ((plan.whole, False), (plan.partial, True)):
        if places:
            carry, _ = lax.scan(partial(step, masked), carry, jnp.array(places, jnp.int32))
    return carry


def _cut(x: jax.Array, number: Number, size: int, axis: int = 1) -> jax.Array:
    return lax.dynamic_slice_in_dim(x, number * size, size, axis)


def _cutters(plan: TilePlan, i: Number, j: Number) -> tuple[Callable[..., jax.Array], ...]:
    """What takes a tile's queries, and what takes its keys."""
    row, column = (
        partial(_cut, number=i, size=plan.rows),
        partial(_cut, number=j, size=plan.columns),
    )
    return row, column


def _turned(x: jax.Array) -> jax.Array:
    return jnp.swapaxes(x, 1, 2)


def _wide(x: jax.Array) -> jax.Array:
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def _share(plan: TilePlan, number: Number, tree: Any) -> Any:
    """One group's part of arrays [N or 1, ...]: [G or 1, ...]."""
    return jax.tree.map(lambda x: x if x.shape[0] == 1 else _cut(x, number, plan.group, 0), tree)


def _of_group(plan: TilePlan, where: Where, number: Number) -> Where:
    """What is allowed in one group; `some` is then [query blocks, key blocks], of any example."""
    share = partial(_share, plan, number)
    rules = tuple(rule.map_arrays(lambda x, _: share(x)) for rule in where.rules)
    some = None if where.some is None else share(where.some).any(0)
    return Where(rules, share(where.query_position), share(where.key_position), some)


def _positions(plan: TilePlan, own: Where, i: Number, j: Number) -> tuple[jax.Array, jax.Array]:
    """Those of a tile: [G or 1, rows], [G or 1, columns]."""
    return _cut(own.query_position, i, plan.rows), _cut(own.key_position, j, plan.columns)


def _bias(plan: TilePlan, own: Where, bias: Partial, i: Number, j: Number) -> jax.Array:
    """The bias on a tile: [G, rows, columns]."""
    places = (jnp.broadcast_to(x, (plan.group, x.shape[1])) for x in _positions(plan, own, i, j))
    return jax.vmap(lambda bias, at, of: bias(at, of))(bias, *places)


def _allowed(plan: TilePlan, own: Where, i: Number, j: Number) -> jax.Array:
    """Which pairs of a tile are: booleans that broadcast to [G, rows, columns]."""
    sizes = {"query": (i, plan.rows), "key": (j, plan.columns)}

    def tile(x: jax.Array, axes: tuple[str, ...]) -> jax.Array:
        for axis, side in enumerate(axes, start=1):
            x = _cut(x, *sizes[side], axis)
        return x

    places = _positions(plan, own, i, j)
    return reduce(and_, (rule.map_arrays(tile).dense(*places) for rule in own.rules))


def _forbid(logits: jax.Array, allowed: jax.Array) -> jax.Array:
    """-inf where a pair is forbidden."""
    # Fused into the exponential, the comparison would take it twice as long as both apart.
    return lax.optimization_barrier(jnp.where(allowed, logits, -jnp.inf))
