"""Beam search: several hypotheses of a sentence are continued together."""

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from annotated_types import Le
from jaxtyping import Array, Bool, Float, Int

from attnjax.config.constraints import NonNegativeInt, PositiveInt, check_fields
from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.length_penalty import LengthPenalty, Power
from attnjax.decoding.search import Hypotheses, Search, pick
from attnjax.decoding.top_k import top_continuations
from attnjax.errors import UserError


class _Finished(NamedTuple):
    """The finished hypotheses of each sentence, in the order in which they ended.

    The score, penalized, is -inf where there is no hypothesis yet; `end` is the step of END, and
    `parent` the live hypothesis that END continues.
    """

    score: Float[Array, "B K"]
    end: Int[Array, "B K"]
    parent: Int[Array, "B K"]


class _BeamState(NamedTuple):
    """The live and the finished hypotheses of each sentence.

    `words` are what the live ones chose at each step, `parents` the hypotheses of the step before
    that the words continue. A word is written once and never moved: `finalize` follows each
    finished hypothesis back from its END through `parents`.
    """

    last: Int[Array, "B K"]
    active: Bool[Array, " B"]
    limit: Int[Array, " B"]
    score: Float[Array, "B K"]
    words: Int[Array, "B K L"]
    parents: Int[Array, "B K L"]
    finished: _Finished


@dataclass(frozen=True, kw_only=True)
class Beam(Search):
    """Beam search: the `size` best live hypotheses are continued, finished ones are kept aside.

    The rules are those of fairseq's ``SequenceGenerator``, which published figures were made with:

    - Every step ranks all continuations of a sentence's live hypotheses by log-probability and
      looks at the 2 * size best.
    - One that ends is finished if it is among the first `size` of them, and forgotten otherwise.
      Once `size` are finished, no more are taken.
    - The `size` best that do not end live on: a finished hypothesis never takes a live one's place.
    - A sentence stops when `size` hypotheses are finished, or at its limit, where every live one
      is made to end. (A live hypothesis that would later beat the finished ones is lost then:
      the search is not exact, and a larger beam searches longer.)

    Not taken over: fairseq's ``--min-len 1``; here END may come first, see `min_words`.

    Attributes:
        size: K, both of the live hypotheses and of the finished. A cache that they share makes time
            and memory grow with its square: 3,000 take ten times as long as 1,000.
        min_words: the least number of words before END, where a sentence's limit allows them.
        max_words: the largest number of words before END; None: as many as the limit allows.

    Raises:
        UserError: `max_words` is below `min_words`.
    """

    size: Annotated[PositiveInt, Le(1_000)] = 5
    length_penalty: LengthPenalty = field(default_factory=Power)
    min_words: NonNegativeInt = 0
    max_words: NonNegativeInt | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.max_words is not None and self.max_words < self.min_words:
            raise UserError(
                f"max_words must be at least min_words, {self.min_words}; got {self.max_words}"
            )

    @property
    def width(self) -> int:
        return self.size

    def init(self, limit: Array, length: int, number: Array) -> _BeamState:
        shape = len(limit), self.size
        longest = length if self.max_words is None else min(length, self.max_words + 1)
        empty = jnp.full((*shape, length), PAD, jnp.int32)
        worst, none = jnp.full(shape, -jnp.inf, jnp.float32), jnp.zeros(shape, jnp.int32)
        return _BeamState(
            last=jnp.full(shape, START, jnp.int32),
            active=limit > 0,
            limit=jnp.minimum(limit, longest),
            # All start alike: only the first counts, or each continuation would come K times.
            score=worst.at[:, 0].set(0.0),
            words=empty,
            parents=empty,
            finished=_Finished(worst, none, none),
        )

    def advance(self, state: _BeamState, logits: Array, step: Array) -> tuple[_BeamState, Array]:
        size = self.size
        # At most `size` candidates end, one for each live hypothesis: `size` are left to live on.
        candidates = top_continuations(
            logits,
            state.score,
            may_end=step >= self.min_words,
            must_end=step + 1 >= state.limit,
            count=2 * size,
        )
        ended = candidates.token == END

        leading = (jnp.arange(2 * size) < size)[None]
        penalized = candidates.score / self.length_penalty.divisor(step + 1)
        new = _Finished(penalized, jnp.broadcast_to(step, ended.shape), candidates.parent)
        accepted = ended & leading & jnp.isfinite(candidates.score) & state.active[:, None]
        finished = _add(state.finished, new, accepted)
        full = jnp.isfinite(finished.score).all(-1)
        # The candidates are sorted, and top_k keeps the order of equal scores.
        score, survivors = jax.lax.top_k(jnp.where(ended, -jnp.inf, candidates.score), size)
        word, parent = pick(candidates.token, survivors), pick(candidates.parent, survivors)
        after = state._replace(
            last=word,
            active=state.active & (step + 1 < state.limit) & ~full,
            score=score,
            words=state.words.at[:, :, step].set(word),
            parents=state.parents.at[:, :, step].set(parent),
            finished=finished,
        )
        return after, parent

    def finalize(self, state: _BeamState) -> Hypotheses:
        score, order = jax.lax.top_k(state.finished.score, self.size)
        end, parent = pick(state.finished.end, order), pick(state.finished.parent, order)

        def step_back(parent: Array, written: tuple[Any, ...]) -> tuple[Array, Array]:
            step, words, parents = written
            before = step < end
            word = jnp.where(before, pick(words, parent), jnp.where(step == end, END, PAD))
            word = jnp.where(jnp.isfinite(score), word, PAD)
            return jnp.where(before, pick(parents, parent), parent), word

        steps = jnp.arange(state.words.shape[-1])
        written = steps, jnp.moveaxis(state.words, -1, 0), jnp.moveaxis(state.parents, -1, 0)
        _, tokens = jax.lax.scan(step_back, parent, written, reverse=True)
        return Hypotheses(jnp.moveaxis(tokens, 0, -1), score)


def _add(finished: _Finished, new: _Finished, accepted: Bool[Array, "B J"]) -> _Finished:
    """Put the accepted of the new hypotheses into the free entries, in order."""
    filled = jnp.isfinite(finished.score).sum(-1, keepdims=True)
    index = jnp.where(accepted, filled + accepted.cumsum(-1) - 1, -1)
    # [B, K, J]: which new hypothesis goes to which entry; a scatter would write row by row.
    match = index[:, None, :] == jnp.arange(finished.score.shape[1])[None, :, None]
    taken, chosen = match.any(-1), match.argmax(-1)
    return jax.tree.map(lambda old, new: jnp.where(taken, pick(new, chosen), old), finished, new)
