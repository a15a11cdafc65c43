"""The arguments of a fused kernel, as one value that every kernel reads, and their layout."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import and_
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from attnjax.attention.mask import And, Causal, Mask, MaskLike, Padding, Window
from attnjax.attention.masked import check_booleans
from attnjax.attention.position import AnyArray, Positions
from attnjax.errors import UserError

type RunKernel = Callable[[Inputs], jax.Array]
"""Computes the context of inputs, [..., T, V]."""

type AxisLayout = Literal["BNTH", "BTNH"]
"""The order of batch, heads, length and width, in the letters of `jax.nn.dot_product_attention`."""


class SideBias(NamedTuple):
    """A bias query[t] + key[s] of logits, as of a decay; floats [..., T] and [..., S].

    Attributes:
        coarse: another, whose sums of pairs are added: the large part of numbers that nearly cancel
            each other, rounded so that its sums are exact. None: there is none.
    """

    query: jax.Array
    key: jax.Array
    coarse: "SideBias | None" = None

    def map(self, function: Callable[[jax.Array, str], jax.Array]) -> "SideBias":
        """Return function(array, "query" or "key") of each array."""
        coarse = None if self.coarse is None else self.coarse.map(function)
        return SideBias(function(self.query, "query"), function(self.key, "key"), coarse)

    def pairs(self) -> jax.Array:
        """Return the bias of all pairs, [..., T, S]."""
        fine = self.query[..., :, None] + self.key[..., None, :]
        return fine if self.coarse is None else self.coarse.pairs() + fine


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of context[t] = sum_s softmax_s(scale query[t] . key[s] + bias[t, s]) value[s].

    Queries are [..., T, K], keys [..., S, K], values [..., S, V]; mask and positions as in `fused`.
    With a cap the logits x, bias included, become cap tanh(x / cap); with a sink z the softmax
    divides by exp(z) + sum_s exp(x[t, s]).

    Attributes:
        logit_bias: a function of (scale query, positions), [..., T, K] and `Positions`, to what
            broadcasts to [..., T, S]; a kernel calls it on one tile at a time. The arrays of a
            `jax.tree_util.Partial` are passed first; they are floats that lead with the query's
            leading axes, and have gradients.
        scale: a number, or an array that broadcasts to the queries, see `with_known_scale`.
        cap: a positive number; None: logits are not bounded. See `refused_array` for an array.
        sink: [..., 1, 1], one for each example, has a gradient; None: there is none.
        sides: a second bias, in arrays that have gradients; None: there is none.
    """

    query: jax.Array
    key: jax.Array
    value: jax.Array
    mask: Mask | None = None
    positions: Positions = Positions()
    logit_bias: Callable[..., jax.Array] | None = None
    scale: float | jax.Array = 1.0
    cap: float | jax.Array | None = None
    sink: jax.Array | None = None
    sides: SideBias | None = None

    def with_known_scale(self) -> "Inputs":
        """Multiply the query by a scale that is an array: a kernel has no gradient of its scale."""
        if isinstance(self.scale, int | float | np.number):
            return self
        query = self.query * jnp.asarray(self.scale, self.query.dtype)
        return replace(self, query=query, scale=1.0)

    @property
    def constants(self) -> tuple[float, float | None]:
        """The scale and the cap, of inputs that `with_known_scale` and `refused_array` let pass."""
        return float(self.scale), None if self.cap is None else float(self.cap)

    def refused_array(self) -> str | None:
        """Return which array is where a kernel takes constants, in words, or None.

        A kernel is compiled with its cap, and traced again for gradients with its bias.
        """
        if not (self.cap is None or isinstance(self.cap, int | float | np.number)):
            return "a cap that is an array, such as a learned one"
        if _holds_tracer(self.logit_bias):
            return "a bias that closes over an array; give jax.tree_util.Partial(bias, array)"
        return None

    def rules(self) -> tuple[Mask, ...]:
        """Return the single rules of the mask."""
        return () if self.mask is None else self.mask.rules()

    def arrays(self) -> Iterator[tuple[AnyArray, tuple[str, ...]]]:
        """Yield the arrays of positions and mask, each with the names of its last axes."""
        yield from ((x, (axis,)) for axis, x in self.positions._asdict().items() if x is not None)
        for rule in self.rules():
            yield from rule.arrays()

    def refused_rule(self, *kinds: type[Mask]) -> str | None:
        """Return the first rule of another kind, or on given positions, in words, or None."""
        for rule in self.rules():
            name = type(rule).__name__
            if not isinstance(rule, kinds):
                return f"the mask {name}"
            if isinstance(rule, Causal | Window) and any(x is not None for x in self.positions):
                return f"the mask {name} on positions other than 0, 1, ..."
        return None

    def window(self) -> tuple[int, int] | None:
        """Return the (before, after) of the intersection of all windows, or None without one."""
        windows = [rule for rule in self.rules() if isinstance(rule, Window)]
        if not windows:
            return None
        return min(int(rule.before) for rule in windows), min(int(rule.after) for rule in windows)

    def is_causal(self) -> bool:
        """Return whether a rule of the mask is `Causal`."""
        return any(isinstance(rule, Causal) for rule in self.rules())

    def refused_extra(self, *takes: str) -> str | None:
        """Return which field of biases, cap and sink is given and not taken, in words, or None."""
        extras = {
            "logit_bias": "a bias that is a function of positions",
            "sides": "a bias of each query and key",
            "cap": "a cap of logits",
            "sink": "a sink of the softmax",
        }
        given = (name for name in extras if name not in takes and getattr(self, name) is not None)
        return next((extras[name] for name in given), None)

    def group(self) -> int:
        """Return R, how many heads share a key: queries [..., R, T, K] and keys [..., 1, S, K]."""
        shared = self.key.shape[-3:-2] == self.value.shape[-3:-2] == (1,)
        return self.query.shape[-3] if shared and self.query.ndim == self.key.ndim else 1

    def present(self) -> jax.Array | None:
        """Return which keys no rule `Padding` forbids, [..., S], or None without such a rule."""
        shape = self.key.shape[:-1]
        padding = [rule.present for rule in self.rules() if isinstance(rule, Padding)]
        return reduce(and_, (jnp.broadcast_to(x, shape) for x in padding)) if padding else None


def _holds_tracer(value: object) -> bool:
    """Return whether a function closes over, or was given, an array that is being traced.

    The arrays of a `jax.tree_util.Partial` are arguments, and do not count.
    """
    if isinstance(value, jax.tree_util.Partial):
        return _holds_tracer(value.func)
    if isinstance(value, partial):
        return any(map(_holds_tracer, (value.func, *value.args, *value.keywords.values())))
    cells = getattr(value, "__closure__", None) or ()
    held = [cell.cell_contents for cell in cells]
    return isinstance(value, Tracer) or any(map(_holds_tracer, held))


def check_given(mask: MaskLike, bias: object, layout: AxisLayout | None) -> None:
    """Refuse arrays that would be read otherwise than `jax.nn.dot_product_attention` does."""
    if bias is not None and not callable(bias):
        raise UserError(
            "the bias of fused is a function of queries and positions, computed tile by tile; got "
            f"{type(bias).__name__}: an array [T, S] is what it does without, see "
            "jax.nn.dot_product_attention"
        )
    array = None if mask is None or isinstance(mask, Mask) else mask
    if layout == "BTNH" and array is not None and jnp.ndim(array) == 3:
        raise UserError(
            "with the layout BTNH a mask that is an array is [B, N, T, S], where B and N may be 1, "
            f"or [T, S]; got {list(jnp.shape(array))}"
        )
    for rule in mask.rules() if isinstance(mask, Mask) else ():
        if isinstance(rule, Padding):
            check_booleans(rule)


def heads_first(x: jax.Array, layout: AxisLayout | None) -> jax.Array:
    """Move heads first: return [B, N, T, H], or what has no layout, with any leading axes."""
    if layout not in ("BNTH", "BTNH", None):
        raise UserError(f"the layout of fused is BNTH or BTNH; got {layout}")
    if layout is None and x.ndim == 4:
        raise UserError(
            'arrays with four axes want a layout: fused(..., layout="BTNH") for [batch, length, '
            'heads, width], as in jax.nn.dot_product_attention, or "BNTH" where heads are before '
            f"the length; got {list(x.shape)}"
        )
    if layout == "BTNH" and x.ndim != 4:
        raise UserError(f"the layout BTNH wants arrays with four axes; got {list(x.shape)}")
    return x.swapaxes(-2, -3) if layout == "BTNH" else x


def share_keys(query: jax.Array, *keys: jax.Array) -> tuple[jax.Array, ...]:
    """Return keys or values [B, G, S, any] as N heads of queries read them, where G divides N.

    Each is read by N / G neighboring heads. One that all share stays one.
    """
    heads = query.shape[-3] if query.ndim == 4 else 1

    def shared(x: jax.Array) -> jax.Array:
        groups = x.shape[-3] if x.ndim == 4 else heads
        return x if groups in (0, 1, heads) or heads % groups else x.repeat(heads // groups, -3)

    return tuple(map(shared, keys))


def of_sentences(inputs: Inputs) -> Inputs:
    """Return the inputs, whose masks and positions [B, S] are those of the sentences' heads."""

    def expand(x: AnyArray, axes: tuple[str, ...]) -> AnyArray:
        return jnp.expand_dims(x, -len(axes) - 1) if jnp.ndim(x) == len(axes) + 1 else x

    query, key = (
        None if x is None else expand(x, (axis,)) for axis, x in inputs.positions._asdict().items()
    )
    mask = And(tuple(rule.map_arrays(expand) for rule in inputs.rules()))
    return replace(inputs, mask=mask, positions=Positions(query, key))


def check_shapes(inputs: Inputs, layout: AxisLayout | None) -> None:
    """Refuse arrays, heads first, that do not fit: those of the other layout rarely do."""
    query, key, value = (x.shape for x in (inputs.query, inputs.key, inputs.value))
    length = {"query": query[-2], "key": key[-2]}
    fits = query[-1] == key[-1] and key[-2] == value[-2]
    leading = [query[:-2], key[:-2], value[:-2]]
    for x, axes in inputs.arrays():
        sizes = zip(axes, np.shape(x)[-len(axes) :], strict=False)
        fits &= all(size in (1, length[axis]) for axis, size in sizes)
        leading.append(np.shape(x)[: -len(axes)])
    try:
        jnp.broadcast_shapes(*leading)
    except ValueError:
        fits = False
    if not fits:
        others = {"BNTH": ": is the layout BTNH (that of JAX)?", "BTNH": ": is the layout BNTH?"}
        called = "fused" if layout is None else f"fused with layout {layout}"
        raise UserError(
            f"{called} wants, with heads first, queries [..., T, K], keys "
            "[..., S, K], values [..., S, V] and masks and positions of T queries and S keys; got "
            f"{list(query)}, {list(key)}, {list(value)}, T = {query[-2]}, S = {key[-2]}"
            f"{others.get(layout or '', '')}"
        )
