"""Saturation measures against closed forms and finite differences."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from attnjax.attention.align.around import HardAlibi, TalkingHeads
from attnjax.attention.align.local import LocalPredictive
from attnjax.attention.align.open import Sigmoid
from attnjax.attention.attention import Attention
from attnjax.attention.heads.last_state import LastState
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.state.linear import LinearAttention
from attnjax.config.vary import vary
from attnjax.data.corpora.parallel_text import TabSeparated
from attnjax.errors import UserError
from attnjax.evaluation import attention_numbers
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.adversarial import AdversarialAttention
from attnjax.evaluation.measures.alignment import Alignment, Heatmaps
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.heads import Heads
from attnjax.evaluation.measures.saturation import Saturation
from attnjax.models.feed_forward import FeedForward
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer_layers import DecoderLayer
from tests.evaluation.measures.unbatched import alone

EXAMPLES = 7

# a program for each shape, not one for each operation
logit_variance, entropy, jacobian_norm = map(
    jax.jit,
    (
        attention_numbers.logit_variance,
        attention_numbers.entropy,
        attention_numbers.jacobian_norm,
    ),
)


def by_definition(p: np.ndarray, logits: np.ndarray) -> tuple[float, float, float]:
    """The variance, entropy and Jacobian norm of a row's allowed entries, in NumPy."""
    variance = logits.var(ddof=1) if len(logits) > 1 else np.nan
    norm = np.linalg.norm(np.diag(p) - np.outer(p, p))
    return variance, -(p * np.log(p)).sum(), norm


def by_name(measurements: Sequence[Measurement]) -> dict[str, float]:
    return {measurement.key.name: measurement.value for measurement in measurements}


def measured(inputs: EvalInputs, moment: str) -> dict[str, float]:
    """The numbers of the first test sentences, by name."""
    measure = Saturation(examples=EXAMPLES)
    found = measure.at_init(inputs) if moment == "initial" else measure.after_training(inputs)
    assert {measurement.key.moment for measurement in found} == {moment}
    assert not any(measurement.better for measurement in found)
    return by_name(found)


def test_jacobian_norm_is_the_derivatives_by_finite_differences():
    logits = np.random.default_rng(0).normal(size=(2, 3, 6))
    norms = []
    for row in logits.reshape(-1, 6):
        step = 1e-5 * np.eye(6)
        jacobian = [(softmax(row + d) - softmax(row - d)) / 2e-5 for d in step]
        norms.append(np.linalg.norm(jacobian))
    weights = softmax(logits, -1).astype(np.float32)
    assert float(jacobian_norm(weights)) == pytest.approx(np.mean(norms), rel=1e-6)


@pytest.mark.parametrize("gap", [0.0, 5.0, 12.0, 15.0])
def test_jacobian_norm_keeps_its_digits_when_saturated(gap):
    # float32 weights near (1, 0, 0, 0): the closed form as written is off by 3e-4 there
    p = softmax([gap, 0.0, -0.5, -1.0]).astype(np.float32)
    _, _, wanted = by_definition(p.astype(np.float64), p)
    assert float(jacobian_norm(p)) == pytest.approx(wanted, rel=1e-4)


def test_closed_forms():
    uniform = np.full((2, 3, 5), 1 / 5, np.float32)
    assert float(entropy(uniform)) == pytest.approx(np.log(5), rel=1e-6)
    assert float(jacobian_norm(uniform)) == pytest.approx(np.sqrt(4) / 5, rel=1e-6)
    certain = np.eye(5, dtype=np.float32)[None, :3].repeat(2, 0)
    assert float(entropy(certain)) == 0
    assert float(jacobian_norm(certain)) == 0
    logits = np.array([[1, 2, 3], [0, 0, 6]], np.float32)
    assert float(logit_variance(logits)) == (1 + 12) / 2


def test_variance_of_dot_products_grows_as_their_width():
    draw = np.random.default_rng(0)
    for width in (16, 256):
        query, key = draw.normal(size=(2, 64, 64, width)).astype(np.float32)
        logits = query @ key.mT
        assert float(logit_variance(logits)) == pytest.approx(width, rel=0.05)
        assert float(logit_variance(logits / width**0.5)) == pytest.approx(1, rel=0.05)
        # large common offsets are no variance
        assert float(logit_variance(logits + 1e3)) == pytest.approx(width, rel=0.05)


@pytest.mark.parametrize(
    ("column", "measure"), [(0, logit_variance), (1, entropy), (2, jacobian_norm)]
)
def test_masked_entries_and_rows_are_left_out(column, measure):
    generator = np.random.default_rng(1)
    allowed = generator.random((3, 1, 4, 7)) < 0.6
    allowed[0, 0, 1] = False
    logits = generator.normal(size=(3, 2, 4, 7))
    weights = softmax(np.where(allowed, logits, -1e9), -1)
    pairs = zip(logits.reshape(-1, 7), np.repeat(allowed, 2, 1).reshape(-1, 7), strict=True)
    attending = [row[keep] for row, keep in pairs if any(keep)]
    rows = [by_definition(softmax(row), row)[column] for row in attending]
    assert len(rows) < 24
    # whatever stands where the mask forbids: garbage, infinities
    for other in (1e9, -np.inf, np.nan):
        array = np.where(allowed, logits if measure is logit_variance else weights, other)
        found = measure(array.astype(np.float32), allowed)
        assert float(found) == pytest.approx(np.nanmean(rows), rel=1e-5)


def test_padding_has_no_part_in_saturation(inputs):
    """Every row of every sentence, by its definition in NumPy."""
    found: dict[str, list] = {}
    for index in range(EXAMPLES):
        for path, seen in jax.tree_util.tree_leaves_with_path(
            alone(inputs, index), is_leaf=lambda node: "weights" in node
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
                    pair = (row[: place + 1], scores[: place + 1]) if own else (row, scores)
                    found.setdefault(name, []).append(by_definition(*pair))
    assert len(found) == 1 + 2 * 2
    # a row with one allowed entry has no variance
    means = np.mean([np.nanmean(rows, 0) for rows in found.values()], 0)
    names = ("logit_variance", "weight_entropy", "jacobian_norm")
    expected = dict(zip(names, means.tolist(), strict=True))
    assert measured(inputs, "initial") == pytest.approx(expected, rel=1e-4)
    assert measured(inputs, "trained") == pytest.approx(expected, rel=1e-4)


def test_an_initial_value_may_be_the_mean_of_several_draws(inputs):
    """Of the run's parameters, and of what the model draws from the keys of the run's seed."""
    given, measure = inputs._replace(seed=5), Saturation(examples=EXAMPLES, draws=3)
    ids = jnp.ones((1, 3), jnp.int32)
    init = jax.jit(partial(inputs.model.init, deterministic=True, mutable=["params"]))
    drawn = [init(key, ids, ids)["params"] for key in jax.random.split(jax.random.key(5), 2)]
    alone = [measured(given._replace(params=p), "initial") for p in (inputs.params, *drawn)]
    mean = {name: np.mean([draw[name] for draw in alone]) for name in alone[0]}
    assert by_name(measure.at_init(given)) == pytest.approx(mean, rel=1e-5)
    trained = by_name(measure.after_training(given))
    assert trained == pytest.approx(measured(given, "trained"))


def test_an_attention_without_logits_has_its_part_in_the_rest(inputs):
    fixed = inputs.model.clone(
        decoder_layer=DecoderLayer(
            self_attention=MultiHead(heads=2),
            cross_attention=LastState(),
            feed_forward=FeedForward(width=8),
        )
    )
    params = {**inputs.params}
    for layer in ("decoder_layers_0", "decoder_layers_1"):
        params[layer] = {
            name: own for name, own in params[layer].items() if name != "cross_attention"
        }
    given = inputs._replace(model=fixed, params=params)
    without = measured(given, "initial")
    sown = jax.eval_shape(lambda: alone(given, 0))
    shown = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(sown)]
    with_logits, all_of_them = (
        sum(f"'{name}'" in path for path in shown) for name in ("logits", "weights")
    )
    assert (with_logits, all_of_them) == (3, 5)
    # a fixed vector's weights are sure: entropy and Jacobian 0, two of five
    before = measured(inputs, "initial")
    assert 0 < without["weight_entropy"] < before["weight_entropy"]
    assert without["logit_variance"] > 0


@pytest.mark.long
def test_a_recurrent_models_attention_is_measured_word_by_word(inputs):
    size = inputs.corpus.vocabularies.target.size
    model = Seq2Seq(
        source_vocabulary=size,
        vocabulary=size,
        width=4,
        encoder=Encoder(width=4),
        decoder=LuongDecoder(width=8),
    )
    ids = jnp.ones((1, 3), jnp.int32)
    init = jax.jit(partial(model.init, deterministic=True))
    params = init(jax.random.key(0), ids, ids)["params"]
    given = inputs._replace(model=model, params=params)
    rows = []
    for index in range(EXAMPLES):
        # [1, T, 1, S], a step's one query before its keys
        (weights,) = alone(given, index)["writer"]["attention"]["weights"]
        rows += [-(p * np.log(p)).sum() for p in np.asarray(weights[0, :, 0], np.float64)]
    entropies = measured(given, "initial")["weight_entropy"]
    assert entropies == pytest.approx(np.mean(rows), rel=1e-4)


def test_what_has_no_known_attentions_is_refused_early(inputs, tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text("a\tb\n")
    corpus = TabSeparated(folder=str(tmp_path), valid=None).load()
    Saturation().check(inputs.model, corpus)
    recurrent = Seq2Seq(source_vocabulary=9, vocabulary=9, encoder=Encoder(width=256))
    Saturation().check(recurrent, corpus)
    fixed = recurrent.clone(decoder=LuongDecoder(attention=None))
    with pytest.raises(UserError, match="shows its attention weights; this Seq2Seq shows none"):
        Saturation().check(fixed, corpus)
    without = TabSeparated(folder=str(tmp_path), valid=None, test=None).load()
    with pytest.raises(UserError, match="Saturation needs a test split"):
        Saturation().check(inputs.model, without)


@pytest.mark.parametrize(
    "measure", [Saturation(), Heatmaps(), Alignment()], ids=lambda one: type(one).__name__
)
def test_what_reads_weights_refuses_linear_attention_early(measure, inputs):
    linear = vary(inputs.model, {"**.head": LinearAttention()})
    with pytest.raises(UserError, match="shows its (attention )?weights; .* none"):
        measure.check(linear, inputs.corpus)
    # the weights of the encoder and of the decoder's words are there, those of the source are not
    partly = vary(inputs.model, {"decoder_layer.cross_attention.head": LinearAttention()})
    if isinstance(measure, Saturation):
        measure.check(partly, inputs.corpus)
    else:
        with pytest.raises(UserError, match="attention to the source .* this Transformer has none"):
            measure.check(partly, inputs.corpus)


@pytest.mark.parametrize("align", [Sigmoid(), TalkingHeads(), HardAlibi(align=LocalPredictive())])
@pytest.mark.parametrize("measure", [Saturation(), Heads(), AdversarialAttention()])
def test_weights_that_are_no_distribution_are_refused_early(measure, align, inputs):
    path = "decoder_layer.self_attention.head"
    model = vary(inputs.model, {path: Attention(align=align)})
    loose = type(align.align if isinstance(align, HardAlibi) else align).__name__
    with pytest.raises(UserError, match=f"sum to 1; those of {loose} do not: leave the measure"):
        measure.check(model, inputs.corpus)
