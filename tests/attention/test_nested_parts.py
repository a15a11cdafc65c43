"""Parts within parts of today's attention: what is refused, who sees what, in every dtype."""

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention.align import Normalize
from attnjax.attention.attention import Attention
from attnjax.attention.bias import Forgetting
from attnjax.attention.hard_alibi import HardAlibi
from attnjax.attention.kernel_score import SquaredExponential
from attnjax.attention.multihead import MultiHead
from attnjax.attention.recurrent import DeltaRule
from attnjax.attention.talking_heads import TalkingHeads
from attnjax.errors import UserError

KERNEL = SquaredExponential()


def call(module):
    return module.init(jax.random.key(0), jnp.zeros((1, 3, 4)), deterministic=True)


@pytest.mark.parametrize(
    "module, sentence",
    [
        (
            Attention(align=HardAlibi(align=Normalize())),
            "wants a score that is a kernel.*ScaledDot",
        ),
        (
            Attention(score=KERNEL, align=Normalize(), bias=Forgetting()),
            "leave out the bias Forgetting",
        ),
        (
            Attention(score=KERNEL, align=TalkingHeads(align=Normalize())),
            "TalkingHeads mixes logits.*got Normalize",
        ),
        (
            Attention(score=KERNEL, align=TalkingHeads(align=HardAlibi(align=Normalize()))),
            "TalkingHeads mixes logits.*got Normalize",
        ),
        (MultiHead(head=DeltaRule(), heads=2, key_heads=1), "DeltaRule computes numbers"),
        (
            MultiHead(head=Attention(bias=Forgetting()), heads=2, key_heads=1),
            "Forgetting computes numbers",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(module, sentence):
    with pytest.raises(UserError, match=sentence):
        call(module)
