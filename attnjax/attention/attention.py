"""Attention: score, align, pool."""

from abc import ABC, abstractmethod
from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float, Shaped

from attnjax.attention.align.base import Align, AlignContext, LearnedScale, Normalize, Softmax
from attnjax.attention.fused import dispatch
from attnjax.attention.fused.dispatch import Implementation
from attnjax.attention.fused.inputs import Inputs, RunKernel
from attnjax.attention.mask import Mask, MaskLike, allowed_pairs, as_mask, join
from attnjax.attention.masked import check_mask, fill_hidden, zero_hidden
from attnjax.attention.pool import Pool, WeightedSum
from attnjax.attention.position import Positions
from attnjax.attention.score.base import ScaledDot, Score
from attnjax.attention.score.bias import Bias
from attnjax.attention.score.kernel import Kernel
from attnjax.attention.shapes import Contexts, Keys, Logits, OneQuery, Queries, Values
from attnjax.attention.traits import Expectations
from attnjax.config.constraints import DropoutRate
from attnjax.config.walk import walk
from attnjax.errors import UserError
from attnjax.nn.axes import smaller_length
from attnjax.nn.dropout import Dropout, is_left_out
from attnjax.nn.dtypes import as_floats, wide
from attnjax.nn.lift import sow


class Mixer(nn.Module, ABC):
    """A layer that mixes the positions of one sequence: self-attention, convolution, recurrence."""

    packs: ClassVar[bool] = False
    """Whether it takes the mask `Segments` and positions that restart, those of packed rows."""

    @abstractmethod
    def __call__(
        self, query: Queries, /, *, mask: MaskLike = None, deterministic: bool
    ) -> Float[Array, "*#B T _"]:
        """Mix a sequence [..., S, D], its padding masked -> [..., S, any]."""


class AttentionBase(Expectations, Mixer):
    """An attention in two steps: `prepare` the keys and values once, `attend` for every query.

    An attention whose causal form is a recurrence may have `start` and `step` as well: a search
    then keeps its state and no keys. One that takes the mask `Segments`, and positions that
    restart, sets `packs = True`.
    """

    @abstractmethod
    def prepare(self, key: Keys, value: Values) -> Any:
        """Prepare keys [..., S, K] and values [..., S, V]: a memory with leaves [..., S, any]."""

    @abstractmethod
    def attend(
        self,
        query: Queries,
        memory: Any,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        """Return the context [..., T, any] of queries [..., T, K], from a prepared memory.

        A mask may be an array of booleans [..., T, S], True = attend; None allows everything.
        Without positions queries and keys are at 0, 1, ... A deterministic call leaves out
        dropout; one without dropout need not say so.
        """

    @nn.nowrap
    def reads_inputs(self) -> bool:
        """Whether `prepare` takes `inputs`, what the layer projects keys and values from.

        If so, its signature is prepare(key, value, inputs=None) with inputs [..., S, D]; None: the
        keys, which nobody has projected. `MultiHead` gives every head the layer's own.
        """
        return False

    def start(self, memory: Any) -> Any | None:
        """Return the state of causal self-attention before the first key, or None if it has none.

        None is the default. A search keeps only the state, whose size does not grow with the number
        of keys that `step` reads one at a time; without a state it keeps the memory of all keys.
        The memory may be of any keys: only its shapes and dtypes matter. The state has leaves
        [..., any, any].
        """
        return None

    def step(self, query: OneQuery, memory: Any, state: Any) -> tuple[jax.Array, Any]:
        """Read one more word of causal self-attention, without dropout.

        The query is [..., 1, K], the leaves of its memory [..., 1, any]; the state is that after
        the words before. Returns the context [..., 1, any], and the state after the word.

        Raises:
            ValueError: the attention has no state.
        """
        raise ValueError(f"{type(self).__name__} has no state: call attend with all keys")

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]  # mask by name or position
        self,
        query: Queries,
        key: Keys | None = None,
        value: Shaped[Array, "*#B S V"] | None = None,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
        **prepare: Any,
    ) -> Float[Array, "*#B T _"]:
        """Call `prepare`, then `attend`: [..., T, K], [..., S, K], [..., S, V] -> [..., T, any].

        The key defaults to the query and the value to the key, as in Flax; values that are whole
        numbers are converted to float32. Other options are those that the `prepare` of the
        attention's class has.
        """
        if "sow_weights" in prepare:
            raise UserError(
                f"{type(self).__name__} has no option sow_weights: it sows its weights where the "
                'collection is requested, apply(..., mutable=["attention"])'
            )
        key = query if key is None else key
        value = as_floats(key if value is None else value)
        # `attend` does it too, but the gradients of a projection before would be NaN
        hidden_by = as_mask(mask, query)
        check_mask(hidden_by, query, key)
        key, value = fill_hidden(hidden_by, key), zero_hidden(hidden_by, value)
        memory = self.prepare(key, value, **prepare)
        return self.attend(query, memory, mask, positions=positions, deterministic=deterministic)


class Memory(NamedTuple):
    """Prepared keys [..., S, any], the values [..., S, V], and what a bias has of each key."""

    key: jax.Array
    value: jax.Array
    bias: Any = None


class Attention(AttentionBase):
    """One head: logits = score(query, key), weights = align(logits, mask), pool(weights, value).

    Logits and weights, [..., T, S], are sown to the collection "attention". A row that may attend
    to nothing gives the context 0.

    The [T, S] weights are computed if the "attention" collection is requested or the configuration
    needs them: a score that is no dot product, an align that is no softmax, a pool that is no
    weighted sum, a bias, dropout while training. Otherwise a fused kernel is used above a
    platform-dependent length; results are the same.

    Attributes:
        bias: is added to the logits; None: nothing is.
        mask: joined to the mask of every call: a rule without arrays, such as `Window`.
        dropout: the rate of weights set to 0 while training, after they are sown.
        implementation: see `attnjax.attention.fused.dispatch`. cudnn and splash are for training;
            evaluation and search use auto instead.

    Raises:
        UserError: a fused kernel was chosen and cannot compute what is asked; the align is
            `Normalize`, and the score no kernel or a bias is given; the mask holds an array.

    Source: Bahdanau et al. 2015, eq. 5 and 6; Vaswani et al. 2017, eq. 1.
    """

    packs = True

    score: Score = field(default_factory=ScaledDot)
    align: Align = field(default_factory=Softmax)
    pool: Pool = field(default_factory=WeightedSum)
    mask: Mask | None = None
    dropout: DropoutRate = 0.0
    implementation: Implementation = "auto"
    bias: Bias | None = None

    def setup(self) -> None:
        aligns = [self.align, *(part for _, part in walk(self.align))]
        normalizes = any(isinstance(align, Normalize) for align in aligns)
        if normalizes and not isinstance(self.score, Kernel):
            raise UserError(
                "the align Normalize wants a score that is a kernel, which is never negative "
                f"(squared-exponential, boxcar, ...); got {type(self.score).__name__}"
            )
        if normalizes and self.bias is not None:
            raise UserError(
                "a bias is added to logits, and the kernel that the align Normalize divides is "
                f"none: leave out the bias {type(self.bias).__name__} or choose the align Softmax"
            )
        if self.mask is not None and any(rule.holds_arrays() for rule in self.mask.rules()):
            raise UserError(
                "Attention.mask wants a rule without arrays, such as Window; got "
                f"{type(self.mask).__name__}: pass it in the call"
            )

    @nn.nowrap
    def reads_inputs(self) -> bool:
        return self.bias is not None

    def prepare(self, key: Keys, value: Values, inputs: jax.Array | None = None) -> Memory:
        bias = None if self.bias is None else self.bias.prepare(key if inputs is None else inputs)
        return Memory(self.score.prepare(key), value, bias)

    @nn.compact
    def attend(
        self,
        query: Queries,
        memory: Memory,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        added: Logits | None = None,
        asking: Float[Array, "*#B T _"] | None = None,
        deterministic: bool | None = None,
    ) -> Contexts:
        """As `AttentionBase.attend`; `added` is added to the logits, which are then computed.

        `asking` are the queries that the align reads; None: those of the score.
        """
        deterministic = is_left_out(self.dropout, deterministic)
        mask = join(self.mask, as_mask(mask, query))
        key, value = fill_hidden(mask, memory.key), zero_hidden(mask, memory.value)
        length = smaller_length(query.shape[-2], value.shape[-2])
        given, positions = positions, positions.filled(query, value)
        kernel, sides = None, None
        if added is None:
            kernel = self.implementation_for(length, mask, deterministic=deterministic)
        if kernel and self.bias is not None:
            factor = self.align.factor()
            sides = self.bias.sides(memory.bias, mask, given, query.shape[-2], factor)
            if sides is None:
                self._refuse_chosen_kernel()
                kernel = None
        if kernel:
            product = self.score.as_dot_product(query, key, positions).times(self.align.factor())
            sink = self.align.sink_logit()
            if sink is not None:
                sink = jnp.broadcast_to(jnp.asarray(sink, wide(query)), (*query.shape[:-2], 1, 1))
            own = {"mask": mask, "positions": given, "sink": sink, "sides": sides}
            query, key, scale, bias, cap = product
            return kernel(Inputs(query, key, value, scale=scale, logit_bias=bias, cap=cap, **own))
        logits = self.score(query, key, positions)
        allowed = allowed_pairs(mask, positions, logits.shape)
        if self.bias is not None:
            logits = logits + self.bias(memory.bias, allowed, logits.shape)
        if added is not None:
            logits = logits + added
        asking = query if asking is None else asking
        weights = self.align(logits, allowed, AlignContext(asking, positions))
        sow(self, "attention", "logits", logits)
        sow(self, "attention", "weights", weights)
        weights = Dropout(self.dropout, name="drop")(weights, deterministic=deterministic)
        return self.pool(weights, value, positions)

    @nn.nowrap
    def implementation_for(
        self, length: int, mask: Mask, *, deterministic: bool
    ) -> RunKernel | None:
        """Return the fused kernel for a mask and the smaller of T and S; None: compute weights."""
        initializing = self.is_initializing()
        if self.is_mutable_collection("attention") and not initializing:
            return None
        needed = self.needs_weights(deterministic=deterministic)
        training = not (deterministic or initializing)
        return dispatch.choose(self.implementation, length, mask, needed=needed, training=training)

    @nn.nowrap
    def _refuse_chosen_kernel(self) -> None:
        """Refuse a kernel that the user chose: under this mask the bias is one of pairs."""
        if self.implementation != "auto":
            raise UserError(
                f"the bias {type(self.bias).__name__} needs the [T, S] weights under masks other "
                "than Padding, or Causal with Padding, Window and Segments at positions 0, 1, ...; "
                f"implementation {self.implementation} does not compute them: choose auto or dense"
            )

    @nn.nowrap
    def needs_weights(self, *, deterministic: bool) -> str | None:
        """Return the part that no fused kernel can compute, in words, or None."""
        for kind, part in (("score", self.score), ("align", self.align), ("pool", self.pool)):
            if not part.is_fusible():
                return f"the {kind} {part.in_words()}"
        if self.bias is not None:
            name = type(self.bias).__name__
            if not self.bias.is_fusible():
                return f"the bias {name}"
            if self.score.is_capped():
                return f"the bias {name} after the cap of {self.score.in_words()}"
        if self.score.is_capped() and isinstance(self.align, LearnedScale):
            return f"the align LearnedScale after the cap of {self.score.in_words()}"
        return "dropout of weights" if self.dropout and not deterministic else None

    @nn.nowrap
    def describe(self) -> str:
        """Return the implementation that computes the context in training, in words."""
        needed = self.needs_weights(deterministic=False)
        if needed or self.implementation == "dense":
            return f"dense, computes its weights{f' for {needed}' if needed else ''}"
        if self.implementation != "auto":
            return f"{self.implementation}, computes its weights only if they are requested"
        lengths = ", ".join(f"{length:,} ({name})" for name, length in dispatch.FUSED_FROM.items())
        return f"auto, computes its weights below a length of {lengths}"
