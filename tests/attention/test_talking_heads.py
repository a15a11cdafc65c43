"""Talking heads: the equation, and heads alone at the start."""

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.align.around import TalkingHeads
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal
from tests.attention import oracle
from tests.attention.short import CAUSAL, H, called, drawn, initial


def test_talking_heads_equal_their_equation_and_start_as_heads_alone(float64):
    x = drawn()
    module = MultiHead(head=Attention(align=TalkingHeads()), heads=H)
    variables = initial(module, x)
    plain = {"params": {k: v for k, v in variables["params"].items() if k != "head"}}
    alone = called(MultiHead(heads=H), plain, x, mask=Causal())
    np.testing.assert_allclose(called(module, variables, x, mask=Causal()), alone, atol=1e-12)
    before, after = np.random.default_rng(1).normal(size=(2, H, H))
    rows = {"logits_row": jnp.asarray(before), "weights_row": jnp.asarray(after)}
    variables["params"]["head"]["align"] = rows
    own = jax.tree.map(np.asarray, variables["params"])
    context = called(module, variables, x, mask=Causal())
    for sentence, got in zip(np.asarray(x), context, strict=True):
        q, k, v = (
            [sentence @ own[name]["kernel"][:, h] for h in range(H)]
            for name in ("query", "key", "value")
        )
        logits = np.array([oracle.scaled_dot(q[h], k[h]) for h in range(H)])
        logits = np.einsum("gh,hts->gts", before, logits)
        weights = np.array([oracle.softmax(one, CAUSAL) for one in logits])
        weights = np.einsum("gh,hts->gts", after, weights)
        expected = sum(weights[h] @ v[h] @ own["out"]["kernel"][h] for h in range(H))
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)
