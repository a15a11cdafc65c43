"""The layers of a Transformer: residual connections, encoder, decoder."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, cast

from flax import linen as nn
from jaxtyping import Array, Bool, Float, Int

from attnjax.attention.attention import AttentionBase, Mixer
from attnjax.attention.heads.carried import Carried
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Mask, join
from attnjax.attention.position import Positions
from attnjax.config.constraints import DropoutRate, PositiveInt, Probability
from attnjax.errors import UserError
from attnjax.models.beam_cache import (
    BeamCache,
    LayerMemory,
    attend_to_past,
    attend_to_prompt,
)
from attnjax.models.feed_forward import FeedForward, FeedForwardBase
from attnjax.models.shapes import Embedded, Present
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherited, rematerialize
from attnjax.nn.norm import LayerNorm, Norm, Valid, Vectors
from attnjax.nn.remat import Remat


class Residual(nn.Module, ABC):
    """A residual connection with a norm: post(x, f(pre(x))) for a sub-layer f.

    In training `valid` marks the positions that are not padding; in evaluation and search it is
    None, see `Norm`.
    """

    def pre(self, x: Vectors, valid: Valid | None = None) -> Vectors:
        """Return the input of the sub-layer; by default x itself."""
        return x

    @abstractmethod
    def post(self, x: Vectors, change: Vectors, valid: Valid | None = None) -> Vectors:
        """Return the sum of x and the sub-layer's output."""

    def final(self, x: Vectors, valid: Valid | None = None) -> Vectors:
        """Return the output of the whole stack of layers; by default x itself."""
        return x


class PostNorm(Residual):
    """x -> norm(x + f(x)). Vaswani et al. 2017, section 3.1."""

    norm: Norm = field(default_factory=LayerNorm)

    def post(self, x: Vectors, change: Vectors, valid: Valid | None = None) -> Vectors:
        return self.norm(x + change, valid)


class PreNorm(Residual):
    """x -> x + f(norm(x)), and one norm at the end. Xiong et al. 2020, Table 1."""

    norm: Norm = field(default_factory=LayerNorm)

    def pre(self, x: Vectors, valid: Valid | None = None) -> Vectors:
        return self.norm(x, valid)

    def post(self, x: Vectors, change: Vectors, valid: Valid | None = None) -> Vectors:
        return x + change

    def final(self, x: Vectors, valid: Valid | None = None) -> Vectors:
        return self.norm(x, valid)


class NoResidual(Residual):
    """x -> f(x): nothing is added to the sub-layer's output, and nothing normalized."""

    def post(self, x: Vectors, change: Vectors, valid: Valid | None = None) -> Vectors:
        return change


def _rematerialized[F: Callable[..., Any]](compute: F) -> F:
    """Let training save only the arrays that a layer's field `remat` names."""

    @wraps(compute)
    def call(layer: Any, *args: Any, deterministic: bool, **arrays: Any) -> Any:
        own = partial(compute, deterministic=deterministic)
        return rematerialize(own, layer.remat)(layer, *args, **arrays)

    return cast("F", call)


type SubLayer = tuple[Residual, Callable[[Vectors], Vectors]]
"""A residual connection and the function within it."""


class TransformerLayer(nn.Module):
    """What the layers of an encoder and of a decoder share.

    Attributes:
        self_attention: over the words; in an encoder any mixer of positions, such as a convolution.
        residual: which norm, and whether before or after; None: the model's.
        dropout: on what each sub-layer adds; None: the model's.
        remat: which arrays training keeps for the layer's gradient; None: all.
    """

    self_attention: Mixer = field(default_factory=MultiHead)
    feed_forward: FeedForwardBase = field(default_factory=FeedForward)
    residual: Residual | None = None
    dropout: DropoutRate | None = None
    remat: Remat | None = None

    def setup(self) -> None:
        residual = inherited(self, "residual")
        self.self_attention_residual = clone_template(residual)
        self.feed_forward_residual = clone_template(residual)
        self.drop = Dropout(inherited(self, "dropout"))

    def _finish(
        self,
        x: Vectors,
        change: Vectors,
        *between: SubLayer,
        valid: Valid | None = None,
        deterministic: bool,
    ) -> Vectors:
        """Compute the layer after the self-attention; the feed-forward network comes last."""
        change = self.drop(change, deterministic=deterministic)
        x = self.self_attention_residual.post(x, change, valid)
        feed_forward = partial(self.feed_forward, deterministic=deterministic)
        for residual, compute in (*between, (self.feed_forward_residual, feed_forward)):
            change = self.drop(compute(residual.pre(x, valid)), deterministic=deterministic)
            x = residual.post(x, change, valid)
        return x


class EncoderLayer(TransformerLayer):
    """Self-attention, then the feed-forward network."""

    @_rematerialized
    def __call__(
        self,
        x: Embedded,
        mask: Mask,
        *,
        position: Int[Array, "#B S"] | None = None,
        valid: Present | None = None,
        deterministic: bool,
    ) -> Embedded:
        """Read all words at once; the position is that of packed rows, None 0, 1, ..."""
        # a convolution or a recurrence takes no positions, and reads no packed rows
        given = {} if position is None else {"positions": Positions(position, position)}
        seen = self.self_attention_residual.pre(x, valid)
        change = self.self_attention(seen, mask=mask, deterministic=deterministic, **given)
        return self._finish(x, change, valid=valid, deterministic=deterministic)


class DecoderLayer(TransformerLayer):
    """Self-attention, attention to the source if there is one, then the feed-forward network.

    Attributes:
        cross_attention: over the source; None: a decoder without a source, as in GPT.
        value_residual: the share that the projected values of the first layer have of those of the
            self-attention, 0.5 in the paper; None: the values are its own. In a search they are
            mixed before they are remembered.

    Raises:
        UserError: a value residual is given, and the self-attention is no `MultiHead`; or heads are
            not as many, and as wide, as in the first layer that has one.

    Source: `value_residual`: Zhou et al. 2024, section 3 (identity ResFormer).
    """

    self_attention: AttentionBase = field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default_factory=MultiHead
    )
    cross_attention: AttentionBase | None = field(default_factory=MultiHead)
    value_residual: Probability | None = None

    def setup(self) -> None:
        super().setup()
        if self.value_residual is not None and not isinstance(self.self_attention, MultiHead):
            raise UserError(
                "value_residual mixes the values of heads: it wants the self_attention MultiHead; "
                f"got {type(self.self_attention).__name__}"
            )
        if self.cross_attention is not None:
            self.cross_attention_residual = clone_template(inherited(self, "residual"))

    def _carried(self, x: Vectors, carried: Carried, valid: Valid | None = None) -> Carried:
        """Return what goes to the self-attention and to the layer above, see `Carried`."""
        values = carried.values
        if self.value_residual is not None and values is None:
            attention = cast("MultiHead", self.self_attention)
            values = attention.values(self.self_attention_residual.pre(x, valid))
        return replace(carried, values=values, share=self.value_residual)

    def prepare(self, source: Embedded) -> Any:
        """Return the memory of the source for `cross_attention`, once a sentence; or ()."""
        if self.cross_attention is None:
            return ()
        return self.cross_attention.prepare(source, source)

    @_rematerialized
    def __call__(
        self,
        x: Float[Array, "B T D"],
        source: Embedded,
        source_mask: Mask,
        *,
        own_mask: Mask | None = None,
        positions: Positions = Positions(),
        valid: Bool[Array, "B T"] | None = None,
        carried: Carried = Carried(),
        deterministic: bool,
    ) -> tuple[Float[Array, "B T D"], Carried]:
        """Read all words at once. Without `cross_attention` the states of the source are not read.

        `own_mask` is joined to causality in the self-attention: `Segments` of packed rows.
        Positions are those of the words and of the source, None 0, 1, ... What is `carried` is
        returned for the layer above.
        """
        prepared, carried = self.prepare(source), self._carried(x, carried, valid)
        change = self.self_attention(
            self.self_attention_residual.pre(x, valid),
            mask=join(Causal(), own_mask),
            positions=Positions(positions.query, positions.query),
            deterministic=deterministic,
            **carried.options(),
        )
        across = self._across(prepared, source_mask, positions, deterministic=deterministic)
        x = self._finish(x, change, *across, valid=valid, deterministic=deterministic)
        return x, carried

    def _across(
        self, source: Any, mask: Mask, positions: Positions, *, deterministic: bool
    ) -> tuple[SubLayer, ...]:
        """Return the attention to a prepared source as a sub-layer, if the decoder has one."""
        if self.cross_attention is None:
            return ()
        own = {"memory": source, "mask": mask, "positions": positions}
        attend = partial(self.cross_attention.attend, **own, deterministic=deterministic)
        return ((self.cross_attention_residual, attend),)

    def read(
        self,
        x: Embedded,
        present: Present,
        carried: Carried,
        *,
        length: int,
        beams: int,
    ) -> tuple[Embedded, LayerMemory, Carried]:
        """Read a prompt, without cross-attention: see `beam_cache.attend_to_prompt`."""
        seen, carried = self.self_attention_residual.pre(x), self._carried(x, carried)
        change, past = attend_to_prompt(
            self.self_attention, seen, present, carried, length=length, beams=beams
        )
        return self._finish(x, change, deterministic=True), past, carried

    def step(
        self,
        x: Vectors,
        past: LayerMemory,
        beams: BeamCache,
        source: Any,
        source_mask: Mask,
        carried: Carried,
    ) -> tuple[Vectors, LayerMemory, Carried]:
        """Read one more word of each hypothesis; the memory then has it."""
        seen, carried = self.self_attention_residual.pre(x), self._carried(x, carried)
        change, past = attend_to_past(self.self_attention, seen, past, beams, carried)
        positions = Positions(beams.positions.query)
        across = self._across(source, source_mask, positions, deterministic=True)
        return self._finish(x, change, *across, deterministic=True), past, carried


@dataclass(frozen=True, kw_only=True)
class Interleaved:
    """Another kind of layer between those of a stack: every `period`-th from below is this one.

    Three layers with a linear attention and one with softmax, five with a window and one without,
    three with positions and one without: periods of 4, 6 and 4.
    """

    layer: EncoderLayer | DecoderLayer
    period: PositiveInt = 4
