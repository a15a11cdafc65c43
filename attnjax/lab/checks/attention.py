"""The properties of an attention, tried with small random inputs."""

from collections.abc import Callable, Container
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.align.base import Align, AlignContext
from attnjax.attention.attention import AttentionBase
from attnjax.attention.fused import FUSED_FROM
from attnjax.attention.mask import Causal, Mask, Padding, Segments
from attnjax.attention.pool import Pool
from attnjax.attention.position import Positions
from attnjax.attention.score.bias import Forgetting
from attnjax.attention.state.recurrent import RecurrentAttention
from attnjax.attention.traits import Expectations
from attnjax.lab.checks import recurrence
from attnjax.lab.checks.finding import (
    Finding,
    Problems,
    cast,
    findings,
    not_alike,
    not_equal,
    not_finite,
    not_zero,
)
from attnjax.lab.checks.initialized import (
    B,
    Initialized,
    S,
    at_both,
    first_key,
    normal,
    parts_of,
)
from attnjax.lab.checks.noise import noisy
from attnjax.models.input_widths import Widths

LONG = min(FUSED_FROM.values())
"""The number of queries and keys from which a fused kernel is used."""

MANY = 2048
"""A number of keys to which bfloat16 cannot count, nor add up their equal shares."""

FAR = 400.0
"""The standard deviation of queries and keys that fit each other badly."""

HIDDEN_FROM, EMPTY_ROW, QUERY = 3, 3, 1

MOVED = 100
"""The shift of all positions."""


NARROW = Widths(4, 4, 4)


def check_attention(
    attention: AttentionBase, widths: Widths = NARROW, only: Container[str] | None = None
) -> list[Finding]:
    """Check the properties that every attention of attnjax has.

    - A query that may attend to nothing has context 0; no gradient flows to it, nor to a key or
      value that no query may attend to.
    - Under `Causal`, no gradient flows to later keys and values.
    - A mask that hides keys gives the same context as leaving the keys out.
    - Queries one at a time, at their positions, have the same context as all together; so have
      words one at a time by `start` and `step`, if the attention has them, over more than a chunk.
    - Keys that are prepared in two pieces have the same context as all at once.
    - The context of long sequences is the same if the weights are requested: a score that declares
      itself a dot product computes that product.
    - In bfloat16 and float16 the context is finite, also for logits beyond float16.
    - Of many keys the context in bfloat16 is that in float32. So are the sums of the weights of its
      aligns, given logits in bfloat16, and the contexts of its pools.
    - Queries that fit every key badly have finite gradients, and attend: their context is not 0,
      unless a part `may_be_zero`.
    - Positions that are all moved by the same number give the same context, unless a part
      `uses_absolute_positions`.
    - The masks in its fields are pytrees, so that a program can take them as arguments.
    - If the attention `packs`, sentences in one row have the contexts of each alone.
    - `start` gives the same state from the memory of any keys.
    - Chunks and steps of a recurrence are its equations in float64; so are they with a decay of 1,
      which forgets nothing. A word of strength 0, without a decay, leaves the state as it is.
    - A bias of forget gates that are 1 is 0.

    Each is tried with the parameters that are drawn, and with noise on them: a kernel that begins
    at 0 does nothing yet.

    The attention is for queries, keys and values of these widths. Of its properties those with a
    name in `only` are checked, by default all.
    """
    properties: dict[str, Callable[[Initialized], Problems]] = {
        "masked rows give zero": _masked_rows,
        "causal": _causal,
        "a mask equals a subset": _subset,
        "one query at a time equals all": _one_at_a_time,
        "keys in two pieces equal all at once": _in_pieces,
        "the same context if the weights are requested": _requested,
        "finite in half precision": _half_precision,
        "many keys in half precision": _many_keys,
        "queries that fit badly attend": _fitting_badly,
    }
    if not any(part.uses_absolute_positions for part in parts_of(attention, Expectations)):
        properties["moved positions give the same context"] = _moved
    if parts_of(attention, Mask):
        properties["masks are pytrees"] = _pytrees
    if all(part.packs for part in parts_of(attention, AttentionBase)):
        properties["packed sentences stay apart"] = _packed
    if parts_of(attention, RecurrentAttention):
        properties["chunks and steps are the recurrence"] = _recurrent(recurrence.by_equations)
        properties["a decay of 1 forgets nothing"] = _recurrent(recurrence.decay_of_one)
        properties["a word of strength 0 leaves the state"] = _recurrent(
            recurrence.strength_of_zero
        )
    if parts_of(attention, Forgetting):
        properties["gates of 1 forget nothing"] = _open_gates
    chosen = {
        name: problems if problems is _pytrees else at_both(problems)
        for name, problems in properties.items()
        if only is None or name in only
    }
    return findings(partial(Initialized, attention, widths), chosen)


def _position() -> Any:
    """Return the positions of words [B, S]."""
    return np.broadcast_to(np.arange(S), (B, S))


def _present() -> Any:
    """Return booleans [B, S] that hide the last keys."""
    return _position() < HIDDEN_FROM


def _masked_rows(of: Initialized) -> Problems:
    mask = Padding(_present()) & Causal()
    # no key stands before position -1
    before_all = Positions(query=np.where(_position() == EMPTY_ROW, -1, _position()))
    (query, key, value), context = of.slopes(of.inputs, mask, positions=before_all)
    yield not_zero("the context of a query that may attend to nothing", context[:, EMPTY_ROW])
    yield not_zero("the gradient of a query that may attend to nothing", query[:, EMPTY_ROW])
    yield not_zero("the gradient of a hidden key", key[:, HIDDEN_FROM:])
    yield not_zero("the gradient of a hidden value", value[:, HIDDEN_FROM:])


def _causal(of: Initialized) -> Problems:
    (_, key, value), _ = of.slopes(of.inputs, Causal(), row=QUERY)
    yield not_zero("the gradient of a later key", key[:, QUERY + 1 :])
    yield not_zero("the gradient of a later value", value[:, QUERY + 1 :])


def _subset(of: Initialized) -> Problems:
    query, key, value = of.inputs
    masked = of.context(*of.inputs, Padding(_present()))
    left = of.context(query, key[:, :HIDDEN_FROM], value[:, :HIDDEN_FROM])
    yield not_equal("the context", masked, left)


def _one_at_a_time(of: Initialized) -> Problems:
    query, *memory = of.inputs
    together = of.context(*of.inputs, Causal())
    single = []
    for position in range(S):
        at = Positions(query=np.full((B, 1), position))
        row = query[:, position : position + 1]
        single.append(of.context(row, *memory, Causal(), positions=at))
    yield not_equal("the context", together, np.concatenate(single, axis=1))
    yield from _stepped(of)


def _stepped(of: Initialized) -> Problems:
    inputs = of.drawn(B, recurrence.LENGTH)

    def start(variables: Any, key: Any, value: Any) -> Any:
        call: Any = partial(of.attention.apply, variables)
        return call(call(key, value, method="prepare"), method="start")

    def read(variables: Any, *inputs: Any) -> Any:
        call: Any = partial(of.attention.apply, variables)

        def step(state: Any, word: Any) -> tuple[Any, jax.Array]:
            query, key, value = (x[:, None] for x in word)
            context, state = call(query, call(key, value, method="prepare"), state, method="step")
            return state, context[:, 0]

        one = start(variables, *(x[:, :1] for x in inputs[1:]))
        _, context = jax.lax.scan(step, one, tuple(jnp.moveaxis(x, 1, 0) for x in inputs))
        return one, start(variables, *inputs[1:]), jnp.moveaxis(context, 0, 1)

    if jax.eval_shape(start, of.variables, *inputs[1:]) is None:
        return
    of_one, of_all, context = jax.device_get(of.compiled("steps", read)(of.variables, *inputs))
    same = jax.tree.map(lambda x, y: x.shape == y.shape and (x == y).all(), of_one, of_all)
    if not all(jax.tree.leaves(same)):
        yield "the state before the first word depends on the keys that start is given"
    yield not_equal("the context by step", of.context(*inputs, Causal()), context)


def _in_pieces(of: Initialized) -> Problems:
    """Read keys whose memory was prepared in two pieces, as a cache of two prefixes."""

    def read(variables: Any, query: Any, *words: Any) -> Any:
        call: Any = partial(of.attention.apply, variables)
        pieces = [
            call(*(x[:, rows] for x in words), method="prepare")
            for rows in (slice(HIDDEN_FROM), slice(HIDDEN_FROM, None))
        ]
        memory = jax.tree.map(lambda *x: jnp.concatenate(x, axis=-2), *pieces)
        return call(query, memory, Causal(), deterministic=True, method="attend")

    in_pieces = of.compiled("pieces", read)(of.variables, *of.inputs)
    yield not_equal("the context", of.context(*of.inputs, Causal()), in_pieces)


def _recurrent(
    problems: Callable[[recurrence.PreparedRecurrence], Problems],
) -> Callable[[Initialized], Problems]:
    """Return the problems of each recurrence within an attention."""

    def of_each(of: Initialized) -> Problems:
        for each in of.recurrences():
            yield from problems(each)

    return of_each


def _open_gates(of: Initialized) -> Problems:
    inputs = of.inputs[1]
    allowed = np.broadcast_to(np.tri(S, dtype=bool), (B, S, S))

    def bias_of(part: Forgetting, deviation: Any) -> Any:
        variables = noisy(part.init(first_key(), inputs, method="prepare"), deviation)
        opened = jax.tree.map(jnp.zeros_like, part.apply(variables, inputs, method="prepare"))
        return part.apply(variables, opened, jnp.asarray(allowed), (B, S, S))

    for number, part in enumerate(parts_of(of.attention, Forgetting)):
        program = of.compiled(("bias", number), partial(bias_of, part))
        bias = np.asarray(program(of.deviation))
        yield not_zero("the bias of forget gates that are 1", np.where(allowed, bias, 0))


def _requested(of: Initialized) -> Problems:
    inputs = of.drawn(1, LONG)
    context = of.context(*inputs, Causal())
    sowing: Any = partial(of.attention.apply, deterministic=True, mutable=["attention"])
    requested, _ = of.compiled("sowing", sowing)(of.variables, *inputs, Causal())
    yield not_equal("the context", context, requested)


def _half_precision(of: Initialized) -> Problems:
    for dtype in (jnp.bfloat16, jnp.float16):
        narrow, (query, key, value) = cast((of.variables, of.inputs), dtype)
        # the product of a query and a key passes the range of float16, 65,504
        scale = np.asarray(300, dtype)
        context = of.call(narrow, query * scale, key * scale, value, Causal())
        yield not_finite(f"the context in {jnp.dtype(dtype).name}", context)


def _many_keys(of: Initialized) -> Problems:
    """Compare contexts of many keys in bfloat16 and float32.

    Values are equal, so that it does not matter which of nearly equal keys is preferred.
    """
    query, key, value = of.drawn(1, LONG)
    given = query[:, :S] / 3, key / 3, np.ones_like(value)
    narrow = cast((of.variables, *given), jnp.bfloat16)
    contexts = [of.call(*cast(narrow, dtype)) for dtype in (jnp.bfloat16, jnp.float32)]
    yield not_alike("the context in bfloat16", *contexts)
    for number, part in enumerate(parts_of(of.attention, Align | Pool)):
        of_many = partial(_of_many, of, number, part, given)
        narrow, wide = (of_many(dtype) for dtype in (jnp.bfloat16, jnp.float32))
        what = "the sum of the weights" if isinstance(part, Align) else "the context"
        yield not_alike(f"{what} of {type(part).__name__} in bfloat16", narrow, wide)


def _of_many(
    of: Initialized, number: int, part: Align | Pool, inputs: Any, dtype: Any
) -> jax.Array:
    """Return the sums of an align's weights, or a pool's context, of rounded numbers in a dtype.

    Each operation rounds its result to the dtype, also where XLA fuses several.
    """
    query, _, value = inputs
    at = Positions(np.full((1, S), MANY), np.arange(MANY)[None])
    if isinstance(part, Align):
        # a kernel is not negative
        numbers = 10 * np.abs(np.asarray(normal((1, S, MANY)))), query
    else:
        numbers = np.full((1, S, MANY), 1 / MANY), np.ones((1, MANY, value.shape[-1]))

    def result(deviation: Any, first: Any, second: Any, at: Positions) -> jax.Array:
        is_align = isinstance(part, Align)
        given = (first, None, AlignContext(second, at)) if is_align else (first, second, at)
        variables = noisy(part.init(first_key(), *given), deviation)
        found: Any = part.apply(variables, *given)
        wide = found.astype(jnp.float32)
        return wide.sum(-1) if is_align else wide

    options = {"xla_allow_excess_precision": False}
    rounding = of.compiled(("of many", number), result, compiler_options=options)
    return rounding(of.deviation, *cast(cast(numbers, jnp.bfloat16), dtype), at)


def _fitting_badly(of: Initialized) -> Problems:
    query, key, value = of.drawn(1, LONG)
    slopes, context = of.slopes((FAR * query, FAR * key, value), Causal())
    yield not_finite("the context of a query that fits every key badly", context)
    yield not_finite("the gradient of a query that fits every key badly", slopes)
    if any(part.may_be_zero for part in parts_of(of.attention, Expectations)):
        return
    near = np.asarray(of.context(query, key, value, Causal()))
    lost = near.any(-1) & ~context.any(-1)
    if lost.any():
        yield f"{int(lost.sum())} of {LONG} queries that fit every key badly have the context 0"


def _moved(of: Initialized) -> Problems:
    at = _position()
    contexts = [
        of.context(*of.inputs, Causal(), positions=Positions(at + by, at + by)) for by in (0, MOVED)
    ]
    yield not_equal(f"the context at positions from {MOVED} on", *contexts)


def _packed(of: Initialized) -> Problems:
    """Compare two sentences in a row, the second from word HIDDEN_FROM on, with each alone."""
    position = _position()
    segment = (position >= HIDDEN_FROM).astype(int)
    at = position - HIDDEN_FROM * segment
    mask = Segments(segment, segment) & Causal()
    together = of.context(*of.inputs, mask, positions=Positions(at, at))
    for start, end in ((0, HIDDEN_FROM), (HIDDEN_FROM, S)):
        alone = of.context(*(x[:, start:end] for x in of.inputs), Causal())
        yield not_equal("the context of a packed sentence", together[:, start:end], alone)


def _pytrees(of: Initialized) -> Problems:
    at = Positions(np.arange(S)[None], np.arange(S)[None])
    for mask in parts_of(of.attention, Mask):
        if jax.tree_util.all_leaves([mask]):
            how = "decorate it with jax.tree_util.register_dataclass"
            yield f"the mask {type(mask).__name__} is no pytree: {how}"
        given = jax.jit(lambda mask, at: mask.dense(at))(mask, at)
        closed_over = jax.jit(mask.dense)(at)
        yield not_equal("what a mask that is an argument allows", given, closed_over)
