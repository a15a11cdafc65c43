"""Forward and backward pass of blockwise attention over tiles.

The forward pass keeps a running softmax; the backward pass computes the weights again. N examples,
batch and heads alike, are read in groups of G. A group's results, at most [G, T, V], are carried
from tile to tile; logits, [G, rows, columns], exist for one tile at a time.
"""

from collections.abc import Callable
from functools import partial, reduce
from operator import and_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jax.tree_util import Partial

from attnjax.attention.mask import Mask
from attnjax.attention.position import Positions
from attnjax.nn.dtypes import wide, widen
from attnjax.nn.product import product

type TileNumber = Any
"""The index of a tile or a group, a Python or a traced integer."""

ENTRIES = 8 * 512 * 512
"""The number of logits computed at once. Examples are read in groups, so that each core multiplies
examples of its own: on one example the cores would wait for one another."""


class TilePlan(NamedTuple):
    """The tiles, as far as they are known before compiling.

    Attributes:
        rows: queries in a tile.
        columns: keys in a tile.
        whole: tiles (i, j) without a forbidden pair.
        partial: the other tiles that may hold an allowed pair.
    """

    rows: int
    columns: int
    whole: tuple[tuple[int, int], ...]
    partial: tuple[tuple[int, int], ...]
    scale: float

    def group(self, examples: int) -> int:
        """G, how many of N examples are read at once: a divisor of N."""
        most = max(1, ENTRIES // (self.rows * self.columns))
        return max(number for number in range(1, most + 1) if examples % number == 0)


class Where(NamedTuple):
    """The allowed pairs; a leading axis is N, or 1 if all examples are alike.

    Attributes:
        rules: single rules, with arrays [N, T] or [N, S].
        positions: [N, T] and [N, S].
        some: which tiles may hold an allowed pair, [N, query blocks, key blocks]; None: the plan
            says which.
    """

    rules: tuple[Mask, ...]
    positions: Positions
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

    T and S are multiples of the block sizes. The arrays of the bias lead with N.
    """
    return _forward(plan, query, key, value, bias, where)[0]


def _more_examples(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, for which `vmap` means more examples: N becomes M N, read in groups.

    JAX's own rule would read the tiles of all M side by side, too many for a cache. Heads that have
    parameters or constants of their own come here by `vmap`. The function is of a plan, query, key,
    value, bias, where and other arrays; its results lead with N.
    """

    def run(plan: TilePlan, *arrays: Any) -> Any:
        call = custom_vmap(partial(function, plan))

        def rule(size: int, mapped: Any, *arrays: Any) -> tuple[Any, Any]:
            shape = size, len(arrays[0]) if not mapped[0] else arrays[0].shape[1]

            def join(x: jax.Array, mapped: bool) -> jax.Array:
                """[M, N or 1, ...] or [N or 1, ...] -> [M N, ...]."""
                x = x if mapped else x[None]
                return jnp.broadcast_to(x, (*shape, *x.shape[2:])).reshape(-1, *x.shape[2:])

            def join_unless_alike(x: jax.Array, mapped: bool) -> jax.Array:
                return join(x, mapped) if mapped or len(x) > 1 else x

            joins = [join] * len(arrays)
            joins[4] = join_unless_alike
            joined = (jax.tree.map(*each) for each in zip(joins, arrays, mapped, strict=True))
            results = jax.tree.map(lambda x: x.reshape(*shape, *x.shape[1:]), run(plan, *joined))
            return results, jax.tree.map(lambda _: True, results)

        call.def_vmap(rule)
        return call(*arrays)

    return run


def _forward(
    plan: TilePlan,
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    bias: Partial | None,
    where: Where,
) -> tuple[jax.Array, Any]:
    """The context, and what the backward pass needs: the inputs, and log sum exp of each row."""
    context, level = _contexts(plan, query, key, value, bias, where)
    return context, (query, key, value, bias, where, context, level)


@_more_examples
def _contexts(
    plan: TilePlan,
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    bias: Partial | None,
    where: Where,
) -> tuple[jax.Array, jax.Array]:
    """The context [N, T, V], and log sum exp of each row of logits, [N, T, 1]."""

    def group(number: TileNumber) -> tuple[jax.Array, jax.Array]:
        own, share = _of_group(size, where, number), partial(_share, size, number)
        q, k, v = plan.scale * share(widen(query)), share(key), share(value)
        added = jax.tree.map(widen, share(bias))

        def update(
            old: list[jax.Array], i: TileNumber, j: TileNumber, masked: bool
        ) -> list[jax.Array]:
            highest, total, context = old
            row, column = _cutters(plan, i, j)
            logits = product("tk,sk->ts", row(q), widen(column(k)))
            if added is not None:
                logits += _bias(plan, own, added, row(q), i, j)
            if masked:
                logits = _forbid(logits, _allowed(plan, own, i, j))
            higher = jnp.maximum(highest, logits.max(-1, keepdims=True))
            # A row without a key so far has no highest logit; any finite number will do.
            level = jnp.where(higher == -jnp.inf, 0, higher)
            weights, decay = jnp.exp(logits - level), jnp.exp(highest - level)
            more = product("ts,sv->tv", weights, widen(column(v)))
            total = total * decay + weights.sum(-1, keepdims=True)
            return [higher, total, context * decay + more]

        zeros = jnp.zeros((*q.shape[:-1], v.shape[-1]), wide(v))
        column = zeros[..., :1]
        start = [jnp.full_like(column, -jnp.inf), column, zeros]
        highest, total, context = _over(plan, own, update, start, [("query", 1)] * 3)
        empty = total == 0
        context = context / jnp.where(empty, 1, total)
        # For an empty row the level is inf, so that the backward pass computes weights of 0.
        level = jnp.where(empty, jnp.inf, highest + jnp.log(jnp.where(empty, 1, total)))
        return context.astype(value.dtype), level

    size = plan.group(len(query))
    return _each_group(size, group, query)


def _backward(plan: TilePlan, kept: Any, slope: jax.Array) -> tuple[Any, ...]:
    """The gradients of query, key, value and bias; positions and rules have none."""
    return *_slopes(plan, *kept, slope), None


@_more_examples
def _slopes(
    plan: TilePlan,
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    bias: Partial | None,
    where: Where,
    context: jax.Array,
    level: jax.Array,
    slope: jax.Array,
) -> tuple[Any, ...]:
    """The gradients of query, key, value and bias.

    Tiles are transposed, [G, columns, rows]. Two of the three products that read a transposed tile
    then have it on their left in the order in which it is stored; the third computes the queries'
    gradients as [G, K, T]. A tile on the right would be copied before each product, which takes
    half as long again.
    """

    def group(number: TileNumber) -> tuple[Any, ...]:
        own, share = _of_group(size, where, number), partial(_share, size, number)
        q, k, v, d = plan.scale * share(widen(query)), share(key), share(value), share(widen(slope))
        added, levels = jax.tree.map(widen, share(bias)), _turned(share(level))
        inner = (d * widen(share(context))).sum(-1)[:, None]
        k_turned = _turned(k)

        def update(old: list[Any], i: TileNumber, j: TileNumber, masked: bool) -> list[Any]:
            by_query, by_key, by_value, by_bias = old
            row, column = _cutters(plan, i, j)
            logits = product("sk,tk->st", widen(column(k)), row(q))
            if added is not None:
                logits += _turned(_bias(plan, own, added, row(q), i, j))
            if masked:
                logits = _forbid(logits, _turned(_allowed(plan, own, i, j)))
            weights = jnp.exp(logits - row(levels, axis=2))
            by_weights = product("sv,tv->st", widen(column(v)), row(d))
            by_logits = weights * (by_weights - row(inner, axis=2))
            by_query += product("ks,st->kt", widen(column(k_turned, axis=2)), by_logits)
            by_key += product("st,tk->sk", by_logits, row(q))
            by_value += product("st,tv->sv", weights, row(d))
            if added is not None:
                biased = lambda bias, query: _bias(plan, own, bias, query, i, j)  # noqa: E731
                more, by_row = jax.vjp(biased, added, row(q))[1](_turned(by_logits))
                by_bias = jax.tree.map(jnp.add, by_bias, more)
                by_query += _turned(by_row)
            return [by_query, by_key, by_value, by_bias]

        start = [
            jnp.zeros_like(_turned(q)),
            *(jnp.zeros_like(x, wide(x)) for x in (k, v)),
            jax.tree.map(jnp.zeros_like, added),
        ]
        slots = [("query", 2), ("key", 1), ("key", 1), (None, 0)]
        by_query, by_key, by_value, by_bias = _over(plan, own, update, start, slots)
        slopes = (plan.scale * _turned(by_query), by_key, by_value, by_bias)
        return jax.tree.map(lambda x, y: x.astype(y.dtype), slopes, (query, key, value, bias))

    size = plan.group(len(query))
    return _each_group(size, group, query)


attend.defvjp(_forward, _backward)


def _each_group(size: int, group: Callable[[TileNumber], Any], query: jax.Array) -> Any:
    """The results of all groups, computed one group after the other: leaves [N, ...]."""
    numbers = jnp.arange(query.shape[0] // size)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), lax.map(group, numbers))


def _over(plan: TilePlan, own: Where, update: Callable[..., Any], carry: Any, slots: Any) -> Any:
    """Carry results over all tiles; `update` gets the part of each result that its slot names."""

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


def _cut(x: jax.Array, number: TileNumber, size: int, axis: int = 1) -> jax.Array:
    return lax.dynamic_slice_in_dim(x, number * size, size, axis)


def _cutters(plan: TilePlan, i: TileNumber, j: TileNumber) -> tuple[Callable[..., jax.Array], ...]:
    """Functions that cut a tile's queries and a tile's keys out of an array."""
    row, column = (
        partial(_cut, number=i, size=plan.rows),
        partial(_cut, number=j, size=plan.columns),
    )
    return row, column


def _turned(x: jax.Array) -> jax.Array:
    return jnp.swapaxes(x, 1, 2)


def _share(size: int, number: TileNumber, tree: Any) -> Any:
    """The part of arrays [N or 1, ...] that belongs to one group of G: [G or 1, ...]."""
    return jax.tree.map(lambda x: x if x.shape[0] == 1 else _cut(x, number, size, 0), tree)


def _of_group(size: int, where: Where, number: TileNumber) -> Where:
    """The allowed pairs of one group; `some` is then [query blocks, key blocks]."""
    share = partial(_share, size, number)
    rules = tuple(rule.map_arrays(lambda x, _: share(x)) for rule in where.rules)
    some = None if where.some is None else share(where.some).any(0)
    return Where(rules, share(where.positions), some)


def _positions(plan: TilePlan, own: Where, i: TileNumber, j: TileNumber) -> Positions:
    """The positions of a tile: [G or 1, rows], [G or 1, columns]."""
    query, key = own.positions
    return Positions(_cut(query, i, plan.rows), _cut(key, j, plan.columns))


def _bias(
    plan: TilePlan, own: Where, bias: Partial, query: jax.Array, i: TileNumber, j: TileNumber
) -> jax.Array:
    """The bias on a tile with queries [G, rows, K], which are scaled: [G, rows, columns]."""
    added = bias(query, _positions(plan, own, i, j))
    return jnp.broadcast_to(added.astype(query.dtype), (*query.shape[:2], plan.columns))


def _allowed(plan: TilePlan, own: Where, i: TileNumber, j: TileNumber) -> jax.Array:
    """The allowed pairs of a tile: booleans that broadcast to [G, rows, columns]."""
    sizes = {"query": (i, plan.rows), "key": (j, plan.columns)}

    def tile(x: jax.Array, axes: tuple[str, ...]) -> jax.Array:
        for axis, side in enumerate(axes, start=1):
            x = _cut(x, *sizes[side], axis)
        return x

    positions = _positions(plan, own, i, j)
    return reduce(and_, (rule.map_arrays(tile).dense(positions) for rule in own.rules))


def _forbid(logits: jax.Array, allowed: jax.Array) -> jax.Array:
    """The logits, with -inf where a pair is forbidden."""
    # Without the barrier XLA fuses the comparison into the exponential, which takes twice as long.
    return lax.optimization_barrier(jnp.where(allowed, logits, -jnp.inf))
