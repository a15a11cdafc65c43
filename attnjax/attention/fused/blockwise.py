"""Blockwise softmax attention: memory linear in length, on any platform.

Logits and weights are computed one tile at a time, a block of queries against a block of keys that
fits in a core's cache. Tiles without an allowed pair are skipped: left out of the program if the
positions are known before compiling, else passed over while it runs.
"""

from dataclasses import replace
from functools import partial, reduce
from operator import and_
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from attnjax.attention.fused.derivatives import attend
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.fused.tiles import AllowedPairs, Arrays, BiasTerms, TilePlan
from attnjax.attention.mask import And, Mask, Padding
from attnjax.attention.position import AnyArray, BlockRange, Positions
from attnjax.nn.axes import known_length, varying_as


def blockwise(inputs: Inputs, tile: tuple[int, int] | None = None) -> jax.Array:
    """Return the context [..., T, V] in the value's dtype; 0 where a query may attend to nothing.

    `tile` has the numbers of queries and of keys in a tile; None chooses them by the length.

    Source: Rabe and Staats 2021; the backward pass, Dao et al. 2022, algorithm 4.
    """
    if joined := _join_heads(inputs):
        context = blockwise(joined, tile)
        return context.reshape(*inputs.query.shape[:-1], context.shape[-1])
    query, key, value, bias = inputs.query, inputs.key, inputs.value, inputs.logit_bias
    leading = jnp.broadcast_shapes(*(x.shape[:-2] for x in (query, key, value)))
    T, S = (known_length(x.shape[-2], "blockwise attention") for x in (query, key))
    if 0 in (*leading, T, S):
        return jnp.zeros((*leading, T, value.shape[-1]), value.dtype)
    rows, columns = tile or (_side(T), _side(S))
    rows, columns = min(rows, T), min(columns, S)
    axes = _Axes(leading, {"query": (T, -T % rows), "key": (S, -S % columns), "width": (0, 0)})
    query, key, value = (
        axes.flat(jnp.broadcast_to(x, (*leading, *x.shape[-2:])), (side, "width"))
        for x, side in ((query, "query"), (key, "key"), (value, "key"))
    )
    query_positions = axes.positions(inputs.positions.query, "query")
    key_positions = axes.positions(inputs.positions.key, "key")
    rules = tuple(rule.map_arrays(axes.flat) for rule in inputs.rules())
    some, whole, maybe_allowed = _tiles(
        rules, BlockRange.of(query_positions, rows), BlockRange.of(key_positions, columns)
    )
    if S % columns:
        rules = (*rules, Padding(jnp.arange(S + -S % columns)[None] < S))
        whole = whole & (np.arange(whole.shape[-1]) < whole.shape[-1] - 1)
    plan = TilePlan(
        rows,
        columns,
        _true_entries(some & whole),
        _true_entries(some & ~whole),
        *inputs.constants,
    )
    if bias is not None and not isinstance(bias, Partial):
        bias = Partial(bias)
    bias = jax.tree.map(lambda x: x.reshape(-1, *x.shape[len(leading) :]), bias)
    sides = None if inputs.sides is None else inputs.sides.map(axes.of_examples)
    terms = None if bias is sides is None else BiasTerms(bias, sides)
    positions = Positions(jnp.asarray(query_positions), jnp.asarray(key_positions))
    pairs = AllowedPairs(rules, positions, maybe_allowed)
    sink = inputs.sink
    if sink is not None:
        sink = jnp.broadcast_to(sink, (*leading, 1, 1)).reshape(-1, 1, 1)
    arrays = Arrays(query, key, value, terms, sink)
    context = attend(plan, varying_as(arrays, (arrays, pairs)), pairs)
    return context[:, :T].reshape(*leading, T, -1)


def _join_heads(inputs: Inputs) -> Inputs | None:
    """Read heads that share keys as more queries of one head, so that no key is copied.

    Queries [..., R, T, K] of keys [..., 1, S, K] become queries [..., R T, K] of keys [..., S, K].
    None: no heads share keys, or they differ in their masks, positions, biases or sinks.
    """
    group, steps = inputs.group(), inputs.query.shape[-2]
    if group == 1 or any(x is not None for x in (inputs.logit_bias, inputs.sides, inputs.sink)):
        return None
    if any(x.ndim > len(axes) and x.shape[-len(axes) - 1] > 1 for x, axes in inputs.arrays()):
        return None
    join = partial(_join, group=group)
    at_query, at_key = inputs.positions
    # numbered before compiling, so that empty tiles are still left out of the program
    numbers = np.tile(np.arange(steps), group) if at_query is None else join(at_query, ("query",))
    query = inputs.query
    return replace(
        inputs,
        query=query.reshape(*query.shape[:-3], group * steps, query.shape[-1]),
        key=jnp.squeeze(inputs.key, -3),
        value=jnp.squeeze(inputs.value, -3),
        mask=And(tuple(rule.map_arrays(join) for rule in inputs.rules())),
        positions=Positions(numbers, None if at_key is None else join(at_key, ("key",))),
    )


def _join(x: jax.Array, axes: tuple[str, ...], group: int) -> jax.Array:
    """Drop the axis of heads: [..., 1, *axes] -> [..., *axes], queries repeated for each head."""
    x = jnp.squeeze(x, -len(axes) - 1) if x.ndim > len(axes) else x
    if "query" not in axes:
        return x
    side = axes.index("query") - len(axes)
    # an axis of length 1 stands for all queries
    return x if x.shape[side] == 1 else jnp.concatenate([x] * group, side)


class _Axes(NamedTuple):
    """Axes that are padded to whole blocks: added rows are cut off, added keys are masked.

    The leading axes become one, N. `sizes` are those of each axis, and of the rows that are added.
    """

    leading: tuple[int, ...]
    sizes: dict[str, tuple[int, int]]

    def flat(self, x: AnyArray, names: tuple[str, ...]) -> jax.Array:
        """Flatten and pad [..., *names] -> [N, *names]; [1, *names] if all examples share x."""
        before, own = x.shape[: -len(names)], x.shape[-len(names) :]
        own = tuple(max(size, self.sizes[name][0]) for size, name in zip(own, names, strict=True))
        x = jnp.broadcast_to(x, (*before, *own))
        if any(size != 1 for size in before):
            x = jnp.broadcast_to(x, (*self.leading, *own))
        mode = "edge" if jnp.issubdtype(x.dtype, jnp.integer) else "constant"
        fill = [(0, 0), *((0, self.sizes[name][1]) for name in names)]
        return jnp.pad(x.reshape(-1, *own), fill, mode=mode)

    def of_examples(self, x: jax.Array, name: str) -> jax.Array:
        """Flatten and pad numbers [..., name] of each example -> [N, name]."""
        own, added = self.sizes[name]
        x = jnp.broadcast_to(x, (*self.leading, own)).reshape(-1, own)
        return jnp.pad(x, ((0, 0), (0, added)))

    def positions(self, given: AnyArray, name: str) -> AnyArray:
        """Return the positions of an axis, padded: of NumPy if they are known before compiling."""
        size, added = self.sizes[name]
        if given is None:
            return np.arange(size + added)[None]
        if isinstance(given, np.ndarray) and given.ndim == 1:
            return np.pad(given, (0, added), mode="edge")[None]
        return self.flat(given, (name,))


def _side(length: int) -> int:
    """Return the side of a tile: small tiles skip more, large ones have less overhead."""
    return 256 if length <= 1024 else 512


def _true_entries(table: AnyArray) -> tuple[tuple[int, int], ...]:
    """Return the indices (i, j) of the true entries of a table of tiles."""
    return tuple((i, j) for i, j in np.argwhere(table).tolist())


def _tiles(
    rules: tuple[Mask, ...], query: BlockRange, key: BlockRange
) -> tuple[AnyArray, AnyArray, jax.Array | None]:
    """Return which tiles may hold an allowed pair, and which hold allowed pairs only.

    These two tables, [query blocks, key blocks], are known before compiling. The third, [N, query
    blocks, key blocks], marks the tiles that may hold an allowed pair by the rules' own arrays;
    None: no rule holds an array.
    """
    tables = [rule.block(query, key) for rule in rules]
    early = [table for table in tables if isinstance(table.any, np.ndarray)]
    late = [table.any for table in tables if not isinstance(table.any, np.ndarray)]
    every = np.ones((query.lowest.shape[-1], key.lowest.shape[-1]), bool)
    some = reduce(and_, (table.any[0] for table in early), every)
    whole = reduce(and_, (table.all[0] for table in early), every & (not late))
    maybe_allowed = None
    if late:
        table = reduce(and_, late)
        maybe_allowed = jnp.broadcast_to(table, (table.shape[0], *every.shape))
    return some, whole, maybe_allowed
