"""A classifier whose encoder is self-attention: against the oracle, padding, order, its weights."""

import jax
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.position import Learned, NoPosition, Sinusoidal
from attnjax.attention.score.base import ScaledDot
from attnjax.data.special_tokens import END, PAD, START
from attnjax.models.classifier import Classifier
from attnjax.models.feed_forward import FeedForward
from attnjax.models.self_attention_encoder import SelfAttentionEncoder
from attnjax.models.transformer_layers import EncoderLayer, PostNorm, PreNorm
from tests import jitted
from tests.attention.oracle import multi_head
from tests.models import oracle

WORDS, LABELS, D = 11, 4 + 3, 8
SOURCE = np.array([[5, 6, 7, 4, END], [9, END, 0, 0, 0], [5, 4, END, 0, 0]])
LENGTHS = [5, 2, 3]
GIVEN = np.full((3, 1), START)


def model(position=Sinusoidal(), residual=PostNorm(), attention=Attention(score=ScaledDot())):
    layer = EncoderLayer(self_attention=MultiHead(heads=2), feed_forward=FeedForward(width=5))
    encoder = SelfAttentionEncoder(layer=layer, position=position, residual=residual)
    return Classifier(
        vocabulary=LABELS,
        source_vocabulary=WORDS,
        width=D,
        encoder=encoder,
        attention=attention,
        dropout=0.3,
    )


def drawn(classifier):
    """Parameters without a zero; NumPy's."""
    shapes = jax.eval_shape(
        lambda: classifier.init(jax.random.key(0), SOURCE, GIVEN, deterministic=True)["params"]
    )
    random = np.random.default_rng(0)
    return jax.tree.map_with_path(
        lambda path, leaf: random.normal("scale" in str(path[-1]), 0.4, leaf.shape).astype(
            leaf.dtype
        ),
        shapes,
    )


def logits_of(classifier, params, source=SOURCE):
    given = np.full((len(source), 1), START)
    return jitted.apply(classifier, {"params": params}, source, given, deterministic=True)[:, 0]


@pytest.mark.parametrize(
    "position, residual, attention",
    [
        (Learned(max_length=5), PreNorm(), Attention(score=ScaledDot())),
        (NoPosition(), PostNorm(), None),
    ],
    ids=["pooled", "class"],
)
def test_equals_the_oracle(position, residual, attention, float64):
    classifier = model(position, residual, attention)
    params, pre_norm = drawn(classifier), isinstance(residual, PreNorm)
    found = logits_of(classifier, params)
    for row, length in enumerate(LENGTHS):
        x = params["embedding"][np.asarray(SOURCE[row, :length])] * np.sqrt(D)
        if "position_encoding" in params["read"]:
            x = x + params["read"]["position_encoding"]["embedding"][:length]
        x = np.concatenate([params["read"]["class"][None], x])

        def attend(own, x, length=length):
            return multi_head("ScaledDot", own, x, x, x, np.ones((length + 1, length + 1), bool))

        x = oracle.stack(params["read"], x, {"self_attention": attend}, pre_norm=pre_norm)
        if pre_norm:
            x = oracle.layer_norm(x, params["read"]["last_residual"]["norm"])
        context = x[0]
        if attention is not None:
            score = x[1:] @ x[0] / np.sqrt(D)
            weights = np.exp(score) / np.exp(score).sum()
            context = weights @ x[1:]
            shown = jitted.call(classifier, "alignment", params, SOURCE, GIVEN)[row, 0]
            np.testing.assert_allclose(shown[:length], weights, rtol=0, atol=1e-12)
            assert (shown[length:] == 0).all()
        np.testing.assert_allclose(found[row], params["label"] @ context, rtol=0, atol=1e-11)


def test_without_positions_order_carries_nothing():
    mixed = SOURCE[:1, [3, 0, 2, 1, 4]]
    for position, alike in ((NoPosition(), True), (Sinusoidal(), False)):
        classifier = model(position)
        params = drawn(classifier)
        before, after = (
            logits_of(classifier, params, SOURCE[:1]),
            logits_of(classifier, params, mixed),
        )
        assert np.allclose(before, after, atol=1e-4) == alike


@pytest.mark.long
def test_neither_padding_nor_other_rows_change_a_row():
    classifier = model()
    params = drawn(classifier)
    before = logits_of(classifier, params)
    wider = logits_of(classifier, params, np.pad(SOURCE, ((0, 1), (0, 3))))
    np.testing.assert_allclose(wider[:3], before, atol=1e-4)
    assert np.isfinite(wider).all()

    def total(params):
        return logits_of(classifier, params)[1].sum()

    norms = np.abs(jax.jit(jax.grad(total))(params)["embedding"]).sum(-1)
    assert (norms[[9, END]] > 0).all()
    assert (np.delete(norms, [9, END]) == 0).all()


def test_every_attention_is_shown():
    classifier = model()
    names: list[str] = []

    @jax.jit
    def read(params):
        found = classifier.attentions(params, SOURCE, GIVEN)
        names.extend(one.name for one in found)
        return [(one.weights, one.mask) for one in found]

    found = jax.device_get(read(drawn(classifier)))
    assert names == [f"read.layers_{n}.self_attention" for n in range(2)] + ["attention"]
    assert [weights.shape for weights, _ in found] == [(3, 2, 6, 6)] * 2 + [(3, 1, 1, 5)]
    for weights, mask in found:
        sums = (weights * mask).sum(-1)
        np.testing.assert_allclose(sums, np.broadcast_to(mask.any(-1), sums.shape), atol=1e-5)
    assert (found[-1][1][:, 0, 0] == (SOURCE != PAD)).all()
