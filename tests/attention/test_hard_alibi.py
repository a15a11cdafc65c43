"""Hard ALiBi: who sees how many words."""

import numpy as np

from attnjax.attention.align.around import HardAlibi
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal
from tests.attention.short import T, called, drawn, initial


def test_a_head_of_hard_alibi_sees_its_nearest_words(float64):
    x = drawn()
    module = MultiHead(head=Attention(align=HardAlibi(unbounded=1)), heads=4)
    variables = initial(module, x)
    _, sown = called(module, variables, x, mask=Causal(), mutable=["attention"])
    (weights,) = sown["attention"]["head"]["weights"]
    back = np.subtract.outer(np.arange(T), np.arange(T))
    for head, most in enumerate((0, 1, 2, T)):
        seen = (back >= 0) & (back <= most)
        assert ((np.asarray(weights[0, head]) > 0) == seen).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-12)
