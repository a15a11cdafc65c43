"""Parts of attnjax have every property; a part with a planted mistake is found out by its name."""

from dataclasses import field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention.align.around import HardAlibi, TalkingHeads
from attnjax.attention.align.base import (
    AdaptiveTemperature,
    Align,
    LearnedScale,
    Normalize,
    Softmax,
    Uniform,
)
from attnjax.attention.align.local import LocalMonotonic, LocalPredictive
from attnjax.attention.align.one_hot import HardMax
from attnjax.attention.align.open import OffByOne, Sigmoid, Sink, Softpick, StickBreaking
from attnjax.attention.align.sparse import Entmax15, Sparsemax, TopK
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.heads.differential import DifferentialHeads
from attnjax.attention.heads.gate import OutputGate
from attnjax.attention.heads.latent import LatentAttention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.heads.selective import SelectiveHeads
from attnjax.attention.mask import Mask, Or, Prefix, Segments, Window, join
from attnjax.attention.pool import Pool, RelativeSum, weighted_sum
from attnjax.attention.position import Positions
from attnjax.attention.score.base import Additive, Dot, General, Score, dot
from attnjax.attention.score.bias import Forgetting
from attnjax.attention.score.bucketed import Bucketed
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.score.kernel import Boxcar, Gaussian, SquaredExponential
from attnjax.attention.score.positional import Alibi, Relative, Rotary, rotary
from attnjax.attention.score.rotary_scaling import Yarn
from attnjax.attention.state.chunked import CHUNK
from attnjax.attention.state.decay import FeatureDecay, HeadDecay, NoDecay, SigmoidDecay, WordDecay
from attnjax.attention.state.feature_map import (
    EluPlusOne,
    FeatureMap,
    PositiveRandomFeatures,
)
from attnjax.attention.state.linear import LinearAttention
from attnjax.attention.state.recurrent import (
    DecayedState,
    DeltaRule,
    FastWeights,
    RecurrentAttention,
    SignedLinearAttention,
)
from attnjax.config.walk import walk
from attnjax.lab.checks import check_attention
from attnjax.models.input_widths import Widths
from attnjax.nn.norm import RMSNorm

GOOD = (
    Attention(score=Additive()),
    Attention(score=Boxcar(bandwidth=9.0), align=Normalize()),
    MultiHead(heads=2),
    *(
        pytest.param(attention, marks=pytest.mark.long)
        for attention in (
            Attention(),
            *(Attention(score=score) for score in (Dot(), General(), Gaussian())),
            *(Attention(score=score) for score in (Alibi(), Rotary())),
            *(Attention(align=align) for align in (Uniform(), LearnedScale(), HardMax())),
            *(Attention(align=align) for align in (Sparsemax(), Entmax15(), TopK(k=2))),
            Attention(align=Softmax(temperature=2.0)),
            *(Attention(align=align) for align in (OffByOne(), Sink(), Sigmoid())),
            *(Attention(align=align) for align in (Softpick(), StickBreaking())),
            MultiHead(
                head=Attention(score=Rotary()), heads=2, key_heads=1, query_key_norm=RMSNorm()
            ),
            Attention(score=Relative(max_distance=2), pool=RelativeSum(max_distance=2)),
            Attention(score=SquaredExponential(), align=Normalize()),
            *(Attention(align=align(reach=2)) for align in (LocalMonotonic, LocalPredictive)),
            MultiHead(heads=2, key_heads=1),
            Attention(score=Bucketed(buckets=4, most=3)),
            Attention(score=SoftCap(cap=2.0)),
            Attention(score=Rotary(scaling=Yarn(trained_length=8))),
            Attention(align=AdaptiveTemperature()),
            *(
                MultiHead(head=Attention(align=align), heads=2)
                for align in (HardAlibi(unbounded=1), TalkingHeads())
            ),
            Attention(bias=Forgetting()),
            Attention(mask=Window(2, 0) | Prefix(1)),
            MultiHead(heads=2, query_key_norm=RMSNorm(), gate=OutputGate()),
            *(LatentAttention(heads=2, latent_width=r, rotary_width=2) for r in (3, 40)),
            DifferentialHeads(heads=2),
            SelectiveHeads(heads=2),
            *(
                DeltaRule(decay=decay, largest_strength=2.0)
                for decay in (NoDecay(), WordDecay(), FeatureDecay())
            ),
            FastWeights(),
            # sums without a normalizer pass the range of float16: their models normalize them
            *(
                MultiHead(head=DecayedState(decay=decay), heads=2, context_norm=RMSNorm())
                for decay in (HeadDecay(), WordDecay(discretized=True), SigmoidDecay(rank=2))
            ),
            LinearAttention(),
            LinearAttention(feature_map=PositiveRandomFeatures()),
            SignedLinearAttention(),
            MultiHead(
                head=LinearAttention(feature_map=PositiveRandomFeatures(features=3)), heads=2
            ),
        )
    ),
)


def name(value: Any) -> str:
    """A short one, and the same in every process: sets of strings have no order."""
    if isinstance(value, set):
        return ", ".join(sorted(value))
    inner = getattr(value, "head", value)
    names = "score", "align", "bias", "feature_map", "decay"
    fields = (getattr(inner, name, None) for name in names)
    return "-".join(type(part).__name__ for part in (value, *fields) if part is not None)


@pytest.mark.parametrize("attention", GOOD, ids=name)
def test_parts_of_attnjax_have_every_property(attention):
    parts = [attention, *(part for _, part in walk(attention))]
    is_linear = any(isinstance(part, LinearAttention) for part in parts)
    is_absolute = any(isinstance(part, LocalPredictive | Or) for part in parts)
    of_recurrence = 3 * any(isinstance(part, RecurrentAttention) for part in parts)
    has_gates = any(isinstance(part, Forgetting) for part in parts)
    has_mask = any(isinstance(part, Mask) for part in parts)
    findings = check_attention(attention)
    assert len(findings) == 11 - is_linear - is_absolute + has_mask + has_gates + of_recurrence
    assert not [finding for finding in findings if finding.problem]


def test_an_attention_is_tried_at_the_widths_that_are_given():
    heads = MultiHead(head=Attention(align=MySigmoid()), heads=8)
    findings = check_attention(heads, Widths(16, 16, 32))
    assert not [finding for finding in findings if finding.problem]
    (finding,) = check_attention(heads)
    assert "8 heads do not divide the width 4" in finding.problem


class MySigmoid(Align):
    """Each weight for itself, so that all of a row's weights may vanish, and it says so."""

    may_be_zero = True

    def __call__(self, logits, mask=None, context=None):
        mask = jnp.ones(logits.shape, bool) if mask is None else mask
        return jnp.where(mask, jax.nn.sigmoid(logits), 0)


class Unmasked(Align):
    """An align that forgets the mask."""

    def __call__(self, logits, mask=None, context=None):
        return jax.nn.softmax(logits)


class Overflowing(Score):
    """A score that grows faster than float16."""

    def __call__(self, query, key, positions=None):
        return jnp.exp(dot(query, key) / 100)


class OfAllQueries(Score):
    """A score that looks at the other queries."""

    def __call__(self, query, key, positions=None):
        return dot(query, key) * query.sum(axis=(-2, -1), keepdims=True)


class Forgetful(LinearAttention):
    """A linear attention whose state does not take the word's own key."""

    def step(self, query, memory, state):
        context, _ = super().step(query, memory, state)
        return context, state


class Begun(LinearAttention):
    """A linear attention whose state before the first word is of the keys that it is shown."""

    def start(self, memory):
        state = super().start(memory)
        return jax.tree.map(lambda x: x + memory[0].sum(), state)


class Leaking(DeltaRule):
    """A delta rule that forgets a little at each word, whatever its decay says."""

    def step(self, query, memory, state):
        return super().step(query, memory, 0.9 * state)


class HalfForgotten(DeltaRule):
    """A delta rule by chunks that do not hand on their state."""

    def attend(self, query, memory, mask=None, *, positions=Positions(), deterministic):
        halves = slice(CHUNK), slice(CHUNK, None)
        contexts = [
            super(HalfForgotten, self).attend(
                query[:, rows],
                jax.tree.map(lambda x, rows=rows: x[:, rows], memory),
                mask if memory.key.shape[1] > CHUNK else None,
                positions=positions,
                deterministic=deterministic,
            )
            for rows in halves
            if query[:, rows].shape[1]
        ]
        return jnp.concatenate(contexts, 1)


class Fading(DecayedState):
    """Steps and chunks that agree, and forget a little whatever the decay says."""

    def step(self, query, memory, state):
        return super().step(query, self.faded(memory), state)

    def attend(self, query, memory, mask=None, **options):
        return super().attend(query, self.faded(memory), mask, **options)

    def faded(self, memory):
        return memory._replace(log_decay=memory.log_decay - 0.1)


class Centered(Attention):
    """An attention that takes the mean of all keys from each of them."""

    def prepare(self, key, value, inputs=None):
        return super().prepare(key - key.mean(-2, keepdims=True), value, inputs)


class NeverOpen(Forgetting):
    """Forget gates that count their own key, and are not 1 where they say so."""

    def __call__(self, prepared, allowed, shape):
        return super().__call__(prepared - 0.1, allowed, shape)


class Mistold(Dot):
    """A score that is another dot product than it says."""

    def __call__(self, query, key, positions):
        return 2 * dot(query, key)

    def is_fusible(self):
        return True


class TurnedThenScaled(Score):
    """Rotary positions with a gain of each feature after the turn, which belongs before it."""

    def __call__(self, query, key, positions):
        query, key = rotary(query, positions.query), rotary(key, positions.key)
        gain = jnp.arange(1, query.shape[-1] + 1, dtype=query.dtype)
        return dot(gain[None, None] * query, key)


class Mixing(Attention):
    """An attention that says that it reads packed rows, and forgets who their segments are."""

    def attend(self, query, memory, mask=None, *, positions=Positions(), deterministic):
        rules = () if mask is None else mask.rules()
        mask = join(*(rule for rule in rules if not isinstance(rule, Segments)))
        return super().attend(query, memory, mask, positions=positions, deterministic=deterministic)


class Narrow(Align):
    """Sparsemax with counts and sums in the dtype of the logits."""

    def __call__(self, logits, mask, context):
        mask = jnp.ones(logits.shape, bool) if mask is None else mask
        logits = jnp.where(mask, logits, jnp.finfo(logits.dtype).min)
        logits = jnp.maximum(logits - logits.max(-1, keepdims=True), -4)
        largest = jnp.flip(jnp.sort(logits, axis=-1), -1)
        count = 1 + jax.lax.broadcasted_iota(logits.dtype, logits.shape, logits.ndim - 1)
        support = largest > (jnp.cumsum(largest, -1) - 1) / count
        smallest = jnp.take_along_axis(largest, support.sum(-1, keepdims=True) - 1, -1)
        support = logits >= smallest
        total = jnp.where(support, logits, 0).sum(-1, keepdims=True)
        weights = jnp.maximum(logits - (total - 1) / support.sum(-1, keepdims=True), 0)
        return jnp.where(mask, weights, 0)


class NarrowPool(Pool):
    """A pool that adds the weights up in their own dtype, one after the other."""

    def __call__(self, weights, value, positions):
        rows = weights.astype(value.dtype).reshape(-1, weights.shape[-1])
        add_up = partial(jax.ops.segment_sum, num_segments=1)
        total = jax.vmap(add_up, (0, None))(rows, jnp.zeros(rows.shape[-1], int))
        return weighted_sum(weights, value) * total.reshape(*weights.shape[:-1], 1)


class Underflowing(AttentionBase):
    """Linear attention whose features are divided by their own largest."""

    feature_map: FeatureMap = field(default_factory=EluPlusOne)

    def prepare(self, key, value):
        return key, value

    def attend(self, query, memory, mask=None, *, positions=Positions(), deterministic):
        query, key = (
            jnp.exp(x - x.max(-1, keepdims=True))
            for x in (self.feature_map(query), self.feature_map(memory[0]))
        )
        products = jnp.einsum("...tf,...sf->...ts", query, key)
        if mask is not None:
            allowed = mask.dense(positions.filled(query, key))
            products = jnp.where(jnp.broadcast_to(allowed, products.shape), products, 0)
        total = products.sum(-1, keepdims=True)
        return (products @ memory[1]) / jnp.where(total == 0, 1, total)


class Unregistered(Mask):
    """A mask that is no pytree."""

    def dense(self, positions):
        return positions.key[..., None, :] <= positions.query[..., :, None]


class Broken(Score):
    """A score that fails."""

    def __call__(self, query, key, positions=None):
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("attention", "failed"),
    [
        (
            Attention(align=Unmasked()),
            {"masked rows give zero", "causal", "a mask equals a subset"},
        ),
        (Attention(score=Overflowing()), {"finite in half precision"}),
        (Attention(score=OfAllQueries()), {"one query at a time equals all"}),
        (Forgetful(), {"one query at a time equals all"}),
        (Begun(), {"one query at a time equals all"}),
        (
            Leaking(),
            {"one query at a time equals all", "a word of strength 0 leaves the state"},
        ),
        (HalfForgotten(), {"chunks and steps are the recurrence"}),
        (Fading(), {"chunks and steps are the recurrence", "a decay of 1 forgets nothing"}),
        (Centered(), {"keys in two pieces equal all at once"}),
        (Attention(bias=NeverOpen()), {"gates of 1 forget nothing"}),
        (Attention(score=Mistold()), {"the same context if the weights are requested"}),
        (Attention(score=Broken()), {"can be called"}),
        (Attention(score=TurnedThenScaled()), {"moved positions give the same context"}),
        (Mixing(), {"packed sentences stay apart"}),
        (Attention(align=Narrow()), {"many keys in half precision"}),
        (Attention(pool=NarrowPool()), {"many keys in half precision"}),
        (Underflowing(), {"queries that fit badly attend"}),
        (MultiHead(head=Attention(mask=Unregistered()), heads=2), {"masks are pytrees"}),
    ],
    ids=name,
)
def test_a_mistake_is_found_by_name(attention, failed):
    # each property that is checked costs programs: those alone that the mistake breaks
    found = check_attention(attention, only=failed)
    assert {finding.property for finding in found if finding.problem} == failed


def test_what_a_part_raises_is_its_problem():
    (finding,) = check_attention(Attention(score=Broken()))
    assert finding.problem == "RuntimeError: not today"
