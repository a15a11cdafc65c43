"""A mistake of parameters that begin at 0 is found once noise has moved them."""

import jax
import jax.numpy as jnp
import pytest
from flax import linen as nn

from attnjax.attention.align.base import Align, softmax
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.state.recurrent import DeltaRule
from attnjax.lab.checks import check_attention


class Spread(Align):
    """A softmax of logits, each plus a learned share, 0 at first, of the two beside it."""

    @nn.compact
    def __call__(self, logits, mask, context):
        share = self.param("share", nn.initializers.zeros, ())
        beside = jnp.roll(logits, 1, -1) + jnp.roll(logits, -1, -1)
        return softmax(logits + share * beside, mask)


class Remembered(DeltaRule):
    """A delta rule whose steps forget by a learned number, 0 at first."""

    @nn.compact
    def step(self, query, memory, state):
        lost = self.param("lost", nn.initializers.zeros, ())
        return super().step(query, memory, (1 - lost) * state)

    def attend(self, query, memory, mask=None, **options):
        if self.is_initializing():
            self.step(query[:, :1], jax.tree.map(lambda x: x[:, :1], memory), self.start(memory))
        return super().attend(query, memory, mask, **options)


@pytest.mark.parametrize(
    ("attention", "failed"),
    [
        (Attention(align=Spread()), {"packed sentences stay apart", "causal"}),
        (
            MultiHead(head=Attention(align=Spread()), heads=2),
            {"packed sentences stay apart", "a mask equals a subset"},
        ),
        (Remembered(), {"one query at a time equals all", "chunks and steps are the recurrence"}),
    ],
    ids=["alone", "in heads", "recurrence"],
)
def test_a_mistake_that_is_to_be_learnt_is_found_by_name(attention, failed):
    """At first it does nothing; the same programs compute it once it has moved."""
    found = check_attention(attention, only=failed)
    problems = {finding.property: finding.problem for finding in found}
    assert problems.keys() == failed
    assert all(
        problem.endswith(", once its parameters have moved") for problem in problems.values()
    )
