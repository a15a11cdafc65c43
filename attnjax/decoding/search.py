"""Greedy and beam search over any decoder that has `start` and `step`.

A search is pure: `begin` makes its state, `choose` takes the logits of one step into it and says
which hypotheses go on, `found` reads it. Who calls them, and the decoder between them, is
`translate.py`.

PAD and START are never chosen; the probabilities of the rest are not renormalised for it. A
sentence's hypotheses have at most `limit` symbols, END counted: the symbol at the limit is END.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.constraints import NonNegativeInt, PositiveInt, check_fields
from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.length_penalty import LengthPenalty, Power
from attnjax.decoding.top_k import top_continuations
from attnjax.errors import UserError


class Hypotheses(NamedTuple):
    """K hypotheses a sentence, best first; L is the length searched for.

    Attributes:
        tokens: int32 [B, K, L], ended by END, PAD after it; all PAD where there is no hypothesis
            (a sentence of limit 0, or fewer possible hypotheses than K).
        scores: float32 [B, K], normalised log-probabilities; -inf where there is no hypothesis.
    """

    tokens: jax.Array | np.ndarray
    scores: jax.Array | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Search:
    """How hypotheses are found. A part: subclasses are chosen on the command line.

    Its state is a tuple of arrays [B, ...], a row a sentence, with two of known names: `last`, the
    words [B, K] that the decoder reads next, and `going`, whether a sentence is unfinished, [B]. A
    finished one may be taken along; nothing of it changes.
    """

    @property
    def width(self) -> int:
        """K, how many hypotheses of a sentence go on together."""
        return 1

    def begin(self, limit: jax.Array, length: int) -> Any:
        """The state before the first word.

        Args:
            limit: the most symbols a sentence's hypotheses may have, END counted, int [B]. A row
                of limit 0 (filler) is finished from the beginning.
            length: L, the widest hypothesis; limits beyond it are cut to it.
        """
        raise NotImplementedError

    def choose(self, state: Any, logits: jax.Array, place: jax.Array) -> tuple[Any, jax.Array]:
        """The state after the words at a place, and whose continuations they are, int [B, K].

        Args:
            state: before it.
            logits: of the words at this place, [B, K, V].
            place: how many words came before it, a scalar.
        """
        raise NotImplementedError

    def found(self, state: Any) -> Hypotheses:
        """The hypotheses of the sentences that are finished."""
        raise NotImplementedError


class _Path(NamedTuple):
    """What greedy search holds of a sentence."""

    last: jax.Array
    going: jax.Array
    limit: jax.Array
    tokens: jax.Array
    score: jax.Array


@dataclass(frozen=True, kw_only=True)
class Greedy(Search):
    """The most probable symbol at every place: one hypothesis, its score not normalised."""

    def begin(self, limit: jax.Array, length: int) -> _Path:
        batch = limit.shape[0]
        return _Path(
            last=jnp.full((batch, 1), START, jnp.int32),
            going=limit > 0,
            limit=jnp.minimum(limit, length),
            tokens=jnp.full((batch, 1, length), PAD, jnp.int32),
            score=jnp.where(limit > 0, 0.0, -jnp.inf).astype(jnp.float32)[:, None],
        )

    def choose(self, state: _Path, logits: jax.Array, place: jax.Array) -> tuple[_Path, jax.Array]:
        chosen = top_continuations(
            logits,
            state.score,
            may_end=jnp.asarray(True),
            must_end=place + 1 >= state.limit,
            count=1,
        )
        going = state.going[:, None]
        token = jnp.where(going, chosen.token, PAD)
        after = _Path(
            last=token,
            going=state.going & (token != END).all(-1),
            limit=state.limit,
            tokens=state.tokens.at[:, :, place].set(token),
            score=jnp.where(going, chosen.score, state.score),
        )
        return after, chosen.parent

    def found(self, state: _Path) -> Hypotheses:
        return Hypotheses(state.tokens, state.score)


class _Pool(NamedTuple):
    """The finished hypotheses of a sentence, in the order in which they came: leaves [B, K].

    Attributes:
        score: normalised; -inf where there is none yet.
        place: END's.
        parent: the live hypothesis that it ended.
    """

    score: jax.Array
    place: jax.Array
    parent: jax.Array


class _Beams(NamedTuple):
    """What beam search holds of a sentence.

    Of the live hypotheses each place's words are kept, and whose continuations they are: a word is
    written once and never moved, and `found` walks back from where a hypothesis ended.

    Attributes:
        last: the live hypotheses' last words, [B, K].
        going: [B].
        limit: [B].
        score: the live hypotheses' log-probabilities, float32 [B, K].
        words: of the hypotheses that were live at each place, int32 [B, K, L].
        parents: which hypothesis of the place before each continues, int32 [B, K, L].
        finished: beside them.
    """

    last: jax.Array
    going: jax.Array
    limit: jax.Array
    score: jax.Array
    words: jax.Array
    parents: jax.Array
    finished: _Pool


@dataclass(frozen=True, kw_only=True)
class Beam(Search):
    """The `size` best live hypotheses go on together; finished ones wait in a pool of their own.

    The rules are those of fairseq's ``SequenceGenerator``, which published figures were made with:

    - Every step ranks all continuations of a sentence's live hypotheses by log-probability and
      looks at the 2 * size best.
    - One that ends is finished if it is among the first `size` of them, and forgotten otherwise.
      Finished ones are kept in the order in which they came, with their normalised score; a full
      pool takes no more.
    - The `size` best that do not end live on: a finished hypothesis never takes a live one's place.
    - A sentence stops when `size` hypotheses are finished, or at its limit, where every live one
      is made to end. (So a live hypothesis that would come to beat the finished ones is lost:
      the search is not exact, and a larger beam searches longer.)

    Not taken over: fairseq never returns an empty translation (its ``--min-len 1``), here END may
    come first unless `least` says otherwise.

    Attributes:
        size: K, both of the live hypotheses and of the finished.
        normalisation: what log-probabilities of finished hypotheses are divided by.
        least: so many words come before END, where a sentence's limit leaves room for them.
        most: at most so many do; None: as many as the limit allows.

    Raises:
        UserError: `most` is below `least`.
    """

    size: PositiveInt = 5
    length_penalty: LengthPenalty = field(default_factory=Power)
    least: NonNegativeInt = 0
    most: NonNegativeInt | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.most is not None and self.most < self.least:
            raise UserError(
                f"the most words of a hypothesis are no fewer than the least; got most {self.most} "
                f"and least {self.least}"
            )

    @property
    def width(self) -> int:
        return self.size

    def begin(self, limit: jax.Array, length: int) -> _Beams:
        batch, size = limit.shape[0], self.size
        nothing = jnp.full((batch, size, length), PAD, jnp.int32)
        worst = jnp.full((batch, size), -jnp.inf, jnp.float32)
        none = jnp.zeros((batch, size), jnp.int32)
        return _Beams(
            last=jnp.full((batch, size), START, jnp.int32),
            going=limit > 0,
            limit=jnp.minimum(limit, length if self.most is None else min(length, self.most + 1)),
            # all start alike: only the first counts, or its continuations would come K times
            score=worst.at[:, 0].set(0.0),
            words=nothing,
            parents=nothing,
            finished=_Pool(worst, none, none),
        )

    def choose(
        self, state: _Beams, logits: jax.Array, place: jax.Array
    ) -> tuple[_Beams, jax.Array]:
        size = self.size
        # at most `size` candidates end, one a live hypothesis: `size` are left to live on
        candidates = top_continuations(
            logits,
            state.score,
            may_end=place >= self.least,
            must_end=place + 1 >= state.limit,
            count=2 * size,
        )
        ends = candidates.token == END

        leading = (jnp.arange(2 * size) < size)[None]
        finished = _add(
            state.finished,
            _Pool(
                candidates.score / self.length_penalty.divisor(place + 1),
                jnp.broadcast_to(place, ends.shape),
                candidates.parent,
            ),
            ends & leading & jnp.isfinite(candidates.score) & state.going[:, None],
        )
        full = jnp.isfinite(finished.score).all(-1)
        # the candidates are sorted and top_k keeps the order of equals
        score, lives = jax.lax.top_k(jnp.where(ends, -jnp.inf, candidates.score), size)
        word, parent = pick(candidates.token, lives), pick(candidates.parent, lives)
        after = _Beams(
            last=word,
            going=state.going & (place + 1 < state.limit) & ~full,
            limit=state.limit,
            score=score,
            words=state.words.at[:, :, place].set(word),
            parents=state.parents.at[:, :, place].set(parent),
            finished=finished,
        )
        return after, parent

    def found(self, state: _Beams) -> Hypotheses:
        score, order = jax.lax.top_k(state.finished.score, self.size)
        there = jnp.isfinite(score)
        end, parent = pick(state.finished.place, order), pick(state.finished.parent, order)

        def back(parent: jax.Array, written: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
            place, words, parents = written
            before = place < end
            word = jnp.where(before, pick(words, parent), jnp.where(place == end, END, PAD))
            return jnp.where(before, pick(parents, parent), parent), jnp.where(there, word, PAD)

        places = jnp.arange(state.words.shape[-1])
        written = places, jnp.moveaxis(state.words, -1, 0), jnp.moveaxis(state.parents, -1, 0)
        _, tokens = jax.lax.scan(back, parent, written, reverse=True)
        return Hypotheses(jnp.moveaxis(tokens, 0, -1), score)


def pick(leaf: jax.Array, index: jax.Array) -> jax.Array:
    """From a leaf [B, K, ...] the places of index [B, J] -> [B, J, ...]."""
    return jnp.take_along_axis(leaf, index.reshape(index.shape + (1,) * (leaf.ndim - 2)), axis=1)


def _add(pool: _Pool, new: _Pool, accepted: jax.Array) -> _Pool:
    """Put the accepted [B, J] of the new ones in the free places of the pool, while there are."""
    taken = jnp.isfinite(pool.score).sum(-1, keepdims=True)
    place = jnp.where(accepted, taken + accepted.cumsum(-1) - 1, -1)
    # [B, K, J]: which of the new ones comes to each place; a scatter would be one row at a time
    comes = place[:, None, :] == jnp.arange(pool.score.shape[1])[None, :, None]
    chosen = comes.argmax(-1)
    return jax.tree.map(
        lambda old, new: jnp.where(comes.any(-1), pick(new, chosen), old), pool, new
    )
