"""Forward and backward pass of blockwise attention over tiles.

The forward pass keeps a running softmax; the backward pass computes the weights again. N examples,
batch and heads alike, are read in groups of G. A group's results, at most [G, T, V], are carried
from tile to tile; logits, [G, rows, columns], exist for one tile at a time.
"""

from collections.abc import Callable
from functools import partial, reduce
from operator import add, and_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jax.tree_util import Partial

from attnjax.attention.fused.inputs import SideBias
from attnjax.attention.mask import Mask
from attnjax.attention.position import Positions
from attnjax.attention.score.base import soft_cap
from attnjax.nn.axes import varying_as
from attnjax.nn.dtypes import wide, widen
from attnjax.nn.product import product

type Share = Callable[[Any], Any]
"""Gives the part of arrays [N or 1, ...] that belongs to one group: [G or 1, ...]."""

ENTRIES = 8 * 512 * 512
"""The number of logits computed at once. Examples are read in groups, so that each core multiplies
examples of its own: on one example the cores would wait for one another."""


class TilePlan(NamedTuple):
    """The tiles, as known before compiling.

    Attributes:
        rows: the number of queries of a tile.
        columns: the number of keys of a tile.
        whole: tiles (i, j) without a forbidden pair.
        partial: the other tiles that may hold an allowed pair.
        cap: of the logits; None: they are not bounded.
    """

    rows: int
    columns: int
    whole: tuple[tuple[int, int], ...]
    partial: tuple[tuple[int, int], ...]
    scale: float
    cap: float | None = None

    def bounded(self, logits: jax.Array) -> jax.Array:
        """Return the logits, bounded by the cap."""
        return logits if self.cap is None else soft_cap(logits, self.cap)


class Tile(NamedTuple):
    """A block of queries and a block of keys: the index of each, and its size."""

    query: tuple[jax.Array, int]
    key: tuple[jax.Array, int]

    def cut(self, x: jax.Array, side: str, axis: int = 1) -> jax.Array:
        """Return the tile's part of an array whose axis is that of a side, "query" or "key"."""
        number, size = getattr(self, side)
        return lax.dynamic_slice_in_dim(x, number * size, size, axis)

    def put(self, x: jax.Array, part: jax.Array, side: str, axis: int) -> jax.Array:
        """Return the array with the part that `cut` gives replaced by another."""
        number, size = getattr(self, side)
        return lax.dynamic_update_slice_in_dim(x, part, number * size, axis)


class BiasTerms(NamedTuple):
    """A bias that is a function of (scaled query, positions), and one of two sides, or None."""

    function: Partial | None
    sides: SideBias | None

    def of_pairs(self, query: jax.Array, positions: Positions, shape: tuple[int, ...]) -> jax.Array:
        """Return their sum for scaled queries [G, T, K], in the shape [G, T, S]."""
        terms = []
        if self.function is not None:
            added = self.function(query, positions).astype(query.dtype)
            terms.append(jnp.broadcast_to(added, shape))
        if self.sides is not None:
            terms.append(self.sides.pairs().astype(query.dtype))
        return reduce(add, terms)

    def on(self, tile: Tile) -> "BiasTerms":
        """Return the terms of a tile."""
        if self.sides is None:
            return self
        return self._replace(sides=self.sides.map(tile.cut))


class Arrays(NamedTuple):
    """Queries [N, T, K], keys [N, S, K], values [N, S, V], and biases whose arrays lead with N.

    The sink of each example is [N, 1, 1]; None: there is none. T and S are multiples of the block
    sizes.
    """

    query: jax.Array
    key: jax.Array
    value: jax.Array
    bias: BiasTerms | None
    sink: jax.Array | None = None


class AllowedPairs(NamedTuple):
    """Which query-key pairs are allowed: rules, and arrays [N, T] and [N, S] of positions.

    `maybe_allowed` marks the tiles that may hold an allowed pair, [N, query blocks, key blocks];
    None: the plan does. A leading axis is N, or 1 if all examples are alike.
    """

    rules: tuple[Mask, ...]
    positions: Positions
    maybe_allowed: jax.Array | None

    def of_group(self, share: Share) -> "AllowedPairs":
        """Return the pairs of one group; `maybe_allowed` is then [query blocks, key blocks]."""
        rules = tuple(rule.map_arrays(lambda x, _: share(x)) for rule in self.rules)
        tiles = None if self.maybe_allowed is None else share(self.maybe_allowed).any(0)
        return AllowedPairs(rules, share(self.positions), tiles)

    def positions_of(self, tile: Tile) -> Positions:
        """Return the positions of a tile: [G or 1, rows], [G or 1, columns]."""
        query, key = self.positions
        return Positions(tile.cut(query, "query"), tile.cut(key, "key"))

    def bias(self, tile: Tile, bias: BiasTerms, query: jax.Array) -> jax.Array:
        """Return the bias on a tile with scaled queries [G, rows, K]: [G, rows, columns]."""
        shape = (*query.shape[:2], tile.key[1])
        return varying_as(bias.on(tile).of_pairs(query, self.positions_of(tile), shape), query)

    def allowed(self, tile: Tile) -> jax.Array:
        """Return the allowed pairs of a tile: booleans that broadcast to [G, rows, columns]."""

        def cut(x: jax.Array, axes: tuple[str, ...]) -> jax.Array:
            for axis, side in enumerate(axes, start=1):
                x = tile.cut(x, side, axis)
            return x

        positions = self.positions_of(tile)
        return reduce(and_, (rule.map_arrays(cut).dense(positions) for rule in self.rules))


def _vmap_as_examples(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make `vmap` over M extend the example axis to M N, which is read in groups.

    JAX's own rule would hold the tiles of all M at once, too many for a cache. Heads that have
    parameters or constants of their own come here by `vmap`. The function is of a plan, `Arrays`,
    `AllowedPairs` and other arrays; its results lead with N.
    """

    def run(plan: TilePlan, *given: Any) -> Any:
        call = custom_vmap(partial(function, plan))

        def rule(size: int, mapped: Any, arrays: Arrays, *given: Any) -> tuple[Any, Any]:
            shape = size, arrays.query.shape[1 if mapped[0].query else 0]

            def join(x: jax.Array, mapped: bool) -> jax.Array:
                """Merge M and N: [M, N or 1, ...] or [N or 1, ...] -> [M N, ...]."""
                x = x if mapped else x[None]
                return jnp.broadcast_to(x, (*shape, *x.shape[2:])).reshape(-1, *x.shape[2:])

            def join_unless_alike(x: jax.Array, mapped: bool) -> jax.Array:
                return join(x, mapped) if mapped or x.shape[0] != 1 else x

            joins = [join, join_unless_alike, *[join] * (len(given) - 1)]
            trees = zip(joins, (arrays, *given), mapped, strict=True)
            results = run(plan, *(jax.tree.map(*joined) for joined in trees))
            results = jax.tree.map(lambda x: x.reshape(*shape, *x.shape[1:]), results)
            return results, jax.tree.map(lambda _: True, results)

        call.def_vmap(rule)
        return call(*given)

    return run


@_vmap_as_examples
def contexts(plan: TilePlan, arrays: Arrays, pairs: AllowedPairs) -> tuple[jax.Array, jax.Array]:
    """Return the context [N, T, V], and log sum exp of each row of logits, [N, T, 1]."""
    query, key, value, bias, sink = arrays

    def group(share: Share) -> tuple[jax.Array, jax.Array]:
        own = pairs.of_group(share)
        q, k, v = plan.scale * share(widen(query)), share(key), share(value)
        added = jax.tree.map(widen, share(bias))

        def update(old: list[jax.Array], tile: Tile, masked: bool) -> list[jax.Array]:
            highest, total, context = old
            row, column = partial(tile.cut, side="query"), partial(tile.cut, side="key")
            logits = product("tk,sk->ts", row(q), widen(column(k)))
            if added is not None:
                logits += own.bias(tile, added, row(q))
            logits = plan.bounded(logits)
            if masked:
                logits = _forbid(logits, own.allowed(tile))
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
        if sink is not None:  # a key without a value, read before all others
            highest = jnp.broadcast_to(share(widen(sink)), column.shape).astype(column.dtype)
            start[:2] = highest, (highest > -jnp.inf).astype(column.dtype)
        highest, total, context = _scan_tiles(
            plan, own, update, start, [("query", 1)] * 3, (arrays, own)
        )
        empty = total == 0
        context = context / jnp.where(empty, 1, total)
        # For an empty row the level is inf, so that the backward pass computes weights of 0.
        level = jnp.where(empty, jnp.inf, highest + jnp.log(jnp.where(empty, 1, total)))
        return context.astype(value.dtype), level

    return _map_groups(plan, group, query.shape[0])


@_vmap_as_examples
def slopes(
    plan: TilePlan,
    arrays: Arrays,
    pairs: AllowedPairs,
    context: jax.Array,
    level: jax.Array,
    slope: jax.Array,
) -> Arrays:
    """Return the gradients of query, key, value, bias and sink.

    Tiles are transposed, [G, columns, rows]. Two of the three products that read a transposed tile
    then have it on their left in the order in which it is stored; the third computes the queries'
    gradients as [G, K, T]. A tile on the right would be copied before each product, which takes
    half as long again.
    """
    query, key, value, bias, sink = arrays

    def group(share: Share) -> Arrays:
        own = pairs.of_group(share)
        q, k, v, d = plan.scale * share(widen(query)), share(key), share(value), share(widen(slope))
        added, levels = jax.tree.map(widen, share(bias)), _transpose(share(level))
        inner = (d * widen(share(context))).sum(-1)[:, None]
        transposed_k = _transpose(k)

        def update(old: list[Any], tile: Tile, masked: bool) -> list[Any]:
            by_query, by_key, by_value, by_bias = old
            row, column = partial(tile.cut, side="query"), partial(tile.cut, side="key")
            logits = product("sk,tk->st", widen(column(k)), row(q))
            if added is not None:
                logits += _transpose(own.bias(tile, added, row(q)))
            bounded = logits = plan.bounded(logits)
            if masked:
                logits = _forbid(logits, _transpose(own.allowed(tile)))
            weights = jnp.exp(logits - row(levels, axis=2))
            by_weights = product("sv,tv->st", widen(column(v)), row(d))
            by_logits = weights * (by_weights - row(inner, axis=2))
            if plan.cap is not None:
                by_logits *= 1 - (bounded / plan.cap) ** 2
            by_query += product("ks,st->kt", widen(column(transposed_k, axis=2)), by_logits)
            by_key += product("st,tk->sk", by_logits, row(q))
            by_value += product("st,tv->sv", weights, row(d))
            if added is not None:
                _, pull = jax.vjp(partial(own.bias, tile), added, row(q))
                more, by_row = pull(_transpose(by_logits))
                by_bias = jax.tree.map(jnp.add, by_bias, more)
                by_query += _transpose(by_row)
            return [by_query, by_key, by_value, by_bias]

        start = [
            jnp.zeros_like(_transpose(q)),
            *(jnp.zeros_like(x, wide(x)) for x in (k, v)),
            jax.tree.map(jnp.zeros_like, added),
        ]
        slots = [("query", 2), ("key", 1), ("key", 1), None]
        by_query, by_key, by_value, by_bias = _scan_tiles(
            plan, own, update, start, slots, (arrays, own, slope)
        )
        by_sink = None
        if sink is not None:
            share_of_sink = jnp.exp(share(widen(sink)) - levels)
            by_sink = -(share_of_sink * inner).sum((1, 2), keepdims=True)
        slopes = Arrays(plan.scale * _transpose(by_query), by_key, by_value, by_bias, by_sink)
        return jax.tree.map(lambda x, y: x.astype(y.dtype), slopes, arrays)

    return _map_groups(plan, group, query.shape[0])


def _map_groups(plan: TilePlan, group: Callable[[Share], Any], examples: int) -> Any:
    """Compute the results of all groups, one group after the other: leaves [N, ...]."""
    most = max(1, ENTRIES // (plan.rows * plan.columns))
    size = max(number for number in range(1, most + 1) if examples % number == 0)

    def results(number: jax.Array) -> Any:
        def cut(x: jax.Array) -> jax.Array:
            return x if x.shape[0] == 1 else lax.dynamic_slice_in_dim(x, number * size, size)

        return group(partial(jax.tree.map, cut))

    grouped = lax.map(results, jnp.arange(examples // size))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), grouped)


def _scan_tiles(
    plan: TilePlan,
    own: AllowedPairs,
    update: Callable[..., Any],
    carry: Any,
    slots: Any,
    inputs: Any,
) -> Any:
    """Carry results over all tiles; `update` gets the part of each that its slot names.

    A slot is the side and the number of an axis; None: the part is all.
    """

    def step(masked: bool, carry: list[Any], index: Any) -> tuple[list[Any], None]:
        i, j = index
        tile = Tile((i, plan.rows), (j, plan.columns))
        parts = [tile.cut(x, *slot) if slot else x for x, slot in zip(carry, slots, strict=True)]
        change = partial(update, tile=tile, masked=masked)
        if own.maybe_allowed is not None:
            new = lax.cond(own.maybe_allowed[i, j], change, lambda parts: parts, parts)
        else:
            new = change(parts)
        return [
            tile.put(x, part, *slot) if slot else part
            for x, part, slot in zip(carry, new, slots, strict=True)
        ], None

    carry = varying_as(carry, inputs)
    for tiles, masked in ((plan.whole, False), (plan.partial, True)):
        if tiles:
            carry, _ = lax.scan(partial(step, masked), carry, jnp.array(tiles, jnp.int32))
    return carry


def _transpose(x: jax.Array) -> jax.Array:
    return jnp.swapaxes(x, 1, 2)


def _forbid(logits: jax.Array, allowed: jax.Array) -> jax.Array:
    """Return the logits, with -inf where a pair is forbidden."""
    # Without the barrier XLA fuses the comparison into the exponential, which takes twice as long.
    return lax.optimization_barrier(jnp.where(allowed, logits, -jnp.inf))
