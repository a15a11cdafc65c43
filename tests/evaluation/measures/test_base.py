from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.last_state import FixedVector
from attnjax.attention.multihead import MultiHead
from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import TabSeparated
from attnjax.data.generated.sequences import Reverse
from attnjax.data.special_tokens import START
from attnjax.errors import UserError
from attnjax.evaluation.measures.alignment import corpus_alignment_error
from attnjax.evaluation.measures.base import Alignment, EvalInputs, Saturation
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, FeedForward

EXAMPLES = 7
MODEL = Transformer(vocabulary=9, num_encoder_layers=1, num_decoder_layers=1)


@pytest.fixture(scope="module")
def subject() -> EvalInputs:
    corpus = Reverse(symbols=5, longest=5, train=20, valid=2, test=12).load()
    heads, feed_forward = MultiHead(heads=2), FeedForward(width=8)
    model = Transformer(
        vocabulary=corpus.vocabularies.target.size,
        width=8,
        num_encoder_layers=1,
        num_decoder_layers=2,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
    )
    ids = jnp.ones((1, 3), jnp.int32)
    variables = model.init(jax.random.key(0), ids, ids, deterministic=True, mutable=["params"])
    return EvalInputs(
        model, variables["params"], corpus, Batching(max_tokens=64, batch_size_multiple=2)
    )


def alone(subject: EvalInputs, index: int) -> Any:
    """What a test sentence's attentions look like without a batch, and so without padding."""
    example = subject.corpus.splits["test"][index]
    _, seen = subject.model.apply(
        {"params": subject.params},
        jnp.asarray([example.source]),
        jnp.asarray([[START, *example.target[:-1]]]),
        deterministic=True,
        mutable=["attention"],
    )
    return seen["attention"]


def test_padding_has_no_part_in_saturation(subject):
    """Every row of every sentence, by its definition in NumPy."""
    found: dict[str, list] = {}
    for index in range(EXAMPLES):
        for path, seen in jax.tree_util.tree_leaves_with_path(
            alone(subject, index), is_leaf=lambda node: "weights" in node
        ):
            name = jax.tree_util.keystr(path)
            own = "decoder" in name and "cross_attention" not in name
            for weights, logits in zip(
                np.asarray(seen["weights"][0], np.float64).reshape(
                    -1, *seen["weights"][0].shape[2:]
                ),
                np.asarray(seen["logits"][0], np.float64).reshape(-1, *seen["logits"][0].shape[2:]),
                strict=True,
            ):
                for place, (row, scores) in enumerate(zip(weights, logits, strict=True)):
                    p, s = (row[: place + 1], scores[: place + 1]) if own else (row, scores)
                    variance = s.var(ddof=1) if len(s) > 1 else None
                    norm = np.linalg.norm(np.diag(p) - np.outer(p, p))
                    found.setdefault(name, []).append((variance, -(p * np.log(p)).sum(), norm))
    assert len(found) == 1 + 2 * 2

    def mean(column: int) -> float:
        columns = [
            [row[column] for row in rows if row[column] is not None] for rows in found.values()
        ]
        return float(np.mean([np.mean(column) for column in columns]))

    expected = {
        "logit_variance_initial": mean(0),
        "weight_entropy_initial": mean(1),
        "jacobian_norm_initial": mean(2),
    }
    measured = Saturation(examples=EXAMPLES).initial(subject)
    assert measured == pytest.approx(expected, rel=1e-4)


def test_an_attention_without_logits_has_its_part_in_the_rest(subject):
    fixed = subject.model.clone(
        decoder_layer=DecoderLayer(
            self_attention=MultiHead(heads=2),
            cross_attention=FixedVector(),
            feed_forward=FeedForward(width=8),
        )
    )
    params = {**subject.params}
    for layer in ("decoder_layers_0", "decoder_layers_1"):
        params[layer] = {
            name: own for name, own in params[layer].items() if name != "cross_attention"
        }
    given = subject._replace(model=fixed, params=params)
    measured = Saturation(examples=EXAMPLES).initial(given)
    shown = [
        jax.tree_util.keystr(path)
        for path, _ in jax.tree_util.tree_leaves_with_path(alone(given, 0))
    ]
    with_logits, all_of_them = (
        sum(f"'{name}'" in path for path in shown) for name in ("logits", "weights")
    )
    assert (with_logits, all_of_them) == (3, 5)
    # a fixed vector's weights are sure: entropy and Jacobian 0, two of five
    before = Saturation(examples=EXAMPLES).initial(subject)
    assert 0 < measured["weight_entropy_initial"] < before["weight_entropy_initial"]
    assert measured["logit_variance_initial"] > 0


def test_a_recurrent_models_attention_is_measured_word_by_word(subject):
    size = subject.corpus.vocabularies.target.size
    model = Seq2Seq(
        source_vocabulary=size,
        vocabulary=size,
        width=4,
        encoder=Encoder(width=4),
        decoder=LuongDecoder(width=8),
    )
    ids = jnp.ones((1, 3), jnp.int32)
    params = model.init(jax.random.key(0), ids, ids, deterministic=True)["params"]
    given = subject._replace(model=model, params=params)
    rows = []
    for index in range(EXAMPLES):
        # [1, T, 1, S], a step's one query before its keys
        (weights,) = alone(given, index)["writer"]["attention"]["weights"]
        rows += [-(p * np.log(p)).sum() for p in np.asarray(weights[0, :, 0], np.float64)]
    measured = Saturation(examples=EXAMPLES).initial(given)
    assert measured["weight_entropy_initial"] == pytest.approx(np.mean(rows), rel=1e-4)


def test_the_alignment_is_the_last_layers_over_all_heads(subject):
    examples = subject.corpus.splits["test"]
    pairs = []
    for index, example in enumerate(examples):
        seen = alone(subject, index)["decoder_layers_1"]["cross_attention"]["head"]
        pairs.append((np.asarray(seen["weights"][0])[0].mean(0), example.alignment))
    measured = Alignment().trained(subject)
    assert measured == {"alignment_error": corpus_alignment_error(pairs)}
    assert 0 < measured["alignment_error"] < 1
    for picture, (weights, gold) in zip(Alignment().pictures(subject), pairs, strict=False):
        np.testing.assert_allclose(picture["weights"], weights, atol=1e-4)
        assert picture["gold"] == [sorted(places) for places in gold]


def test_a_sentence_too_long_to_be_trained_on_is_looked_at(subject):
    narrow = subject._replace(batching=Batching(max_tokens=4, batch_size_multiple=2))
    assert Alignment().trained(narrow) == Alignment().trained(subject)


def test_what_cannot_be_measured_is_refused_early(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text("a\tb\n")
    corpus = TabSeparated(folder=str(tmp_path), valid=None).load()
    Saturation().check(MODEL, corpus)
    with pytest.raises(UserError, match="gold alignments; the corpus has none"):
        Alignment().check(MODEL, corpus)
    recurrent = Seq2Seq(source_vocabulary=9, vocabulary=9)
    Saturation().check(recurrent, corpus)
    fixed = recurrent.clone(decoder=LuongDecoder(attention=None))
    with pytest.raises(UserError, match="names its attentions; Seq2Seq names none"):
        Saturation().check(fixed, corpus)
    without = TabSeparated(folder=str(tmp_path), valid=None, test=None).load()
    with pytest.raises(UserError, match="Saturation wants a test split"):
        Saturation().check(MODEL, without)
