"""A decoder-only model: against the oracle, wherever the text is cut, one word at a time."""

import functools

import jax
import numpy as np
import pytest
from flax import traverse_util

from attnjax.attention.align.base import Align, Softmax
from attnjax.attention.align.local import LocalMonotonic
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.position import Learned, NoPosition, Position, Sinusoidal
from attnjax.attention.score.base import Location, ScaledDot, Score
from attnjax.attention.score.positional import Relative, Rotary
from attnjax.data.examples import Encoded, Examples
from attnjax.data.generated.sequences import Copy
from attnjax.data.special_tokens import END, PAD, START
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import CharacterVocabulary
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import generate
from attnjax.decoding.greedy import Greedy
from attnjax.errors import UserError
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.transformer_layers import DecoderLayer, PostNorm, PreNorm, Residual
from tests import jitted
from tests.models import oracle
from tests.models.small import GIVEN, HEADS, HIDDEN, SOURCE, VOCABULARY, WIDTH, initial
from tests.models.stepwise import stepped_and_parallel
from tests.models.test_beam_cache import Mean

TEXT = np.array([[4, 7, 5, 9, 8, 6, 10]])
SEPARATE = {"embeddings": "separate", "output_bias": True}
"""The fields of an output that shares nothing with the input."""


def heads(score: Score | None = None, align: Align | None = None) -> MultiHead:
    return MultiHead(
        head=Attention(score=score or ScaledDot(), align=align or Softmax()), heads=HEADS
    )


def small(
    self_attention: AttentionBase | None = None,
    position: Position | None = None,
    residual: Residual | None = None,
    layers: int = 2,
) -> LanguageModel:
    return LanguageModel(
        vocabulary=VOCABULARY,
        width=WIDTH,
        num_layers=layers,
        layer=DecoderLayer(
            self_attention=self_attention or heads(),
            cross_attention=None,
            feed_forward=FeedForward(width=HIDDEN),
        ),
        position=position or Sinusoidal(),
        residual=residual or PreNorm(),
        dropout=0.0,
    )


def cut(text: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
    """A text [1, N] as a source of `place` words, and what the decoder is given of the others."""
    given = text[:, place - 1 : -1].copy()
    given[:, 0] = START
    return text[:, :place], given


@pytest.mark.parametrize(
    "position, residual, fields, tolerance",
    [
        (Learned(max_length=7), PreNorm(), {}, 1e-11),
        (Learned(max_length=7), PreNorm(), {"embeddings": "separate"}, 1e-11),
        (Learned(max_length=7), PreNorm(), SEPARATE, 1e-11),
        (Sinusoidal(), PostNorm(), {"input_scale": "sqrt_width"}, 1e-5),
    ],
    ids=["learned-pre-norm", "separate-output", "separate-output-bias", "waves-post-norm"],
)
def test_equals_the_oracle_wherever_the_text_is_cut(position, residual, fields, tolerance, float64):
    """Without a factor of the embeddings, as in GPT, and with sqrt(D); the output's own table."""
    model = small(position=position, residual=residual).clone(**fields)
    scale = None if "input_scale" in fields else 1
    parameters = initial(model)
    separate = {name for name in ("output_embedding", "word_bias") if name in parameters}
    assert len(separate) == len(fields) * ("embeddings" in fields)
    call = functools.partial(jitted.apply, model, deterministic=True)
    tree = jax.tree.map(np.asarray, parameters)
    pre_norm = isinstance(residual, PreNorm)
    wanted = oracle.language_model(
        tree, TEXT[0, :-1], score="ScaledDot", pre_norm=pre_norm, scale=scale
    )
    for place in (1, 3, 6):
        source, given = cut(TEXT, place)
        # a place of padding after the source, as a longer neighbor would make
        padded = np.pad(source, ((0, 0), (0, 1 if place > 1 else 0)))
        found = call({"params": parameters}, padded, given)
        np.testing.assert_allclose(found[0], wanted[place - 1 :], rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "self_attention, position, residual, source",
    [
        (heads(), Learned(max_length=9), PreNorm(), SOURCE),
        pytest.param(*(heads(), Sinusoidal(), PostNorm(), SOURCE[:, :1]), marks=pytest.mark.long),
        # both look at where query and key stand
        pytest.param(
            *(heads(Location(max_length=9)), NoPosition(), PreNorm(), SOURCE),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(heads(align=LocalMonotonic(reach=1)), NoPosition(), PreNorm(), SOURCE),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(heads(Rotary(score=ScaledDot())), NoPosition(), PreNorm(), SOURCE),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(heads(Relative(score=ScaledDot(), max_distance=2)), NoPosition(), PreNorm(), SOURCE),
            marks=pytest.mark.long,
        ),
        # keeps a state in place of keys
        (MultiHead(head=Mean(), heads=HEADS), Sinusoidal(), PreNorm(), SOURCE),
    ],
    ids=["learned", "one-word", "location", "local", "rotary", "relative", "recurrent"],
)
def test_one_word_at_a_time_is_all_at_once(self_attention, position, residual, source, float64):
    model = small(self_attention, position, residual)
    if isinstance(position, Learned):
        model = model.clone(**SEPARATE)
    stepped, parallel = stepped_and_parallel(model, initial(model), source, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


def test_a_base_width_scales_the_input_by_its_root_and_divides_the_logits(float64):
    model = small(position=Sinusoidal(), layers=1)
    model = model.clone(input_scale="sqrt_width", base_width=WIDTH // 4)
    parameters = initial(model)
    tree = jax.tree.map(np.asarray, parameters)
    scale = (WIDTH // 4) ** 0.5
    wanted = oracle.language_model(
        tree, TEXT[0, :-1], score="ScaledDot", pre_norm=True, scale=scale
    )
    found = jitted.apply(model, {"params": parameters}, *cut(TEXT, 1), deterministic=True)
    np.testing.assert_allclose(found[0], wanted / 4, rtol=0, atol=1e-5)
    stepped, parallel = stepped_and_parallel(model, parameters, SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


def test_no_gradient_comes_from_the_future_from_padding_or_from_start():
    # every word stands once, so a row of the embedding's gradient is one place's gradient
    model = small(residual=PostNorm(), layers=1)
    source, given = np.array([[4, 5, 6, 0]], np.int32), np.array([[1, 7, 8, 9]], np.int32)
    text = [4, 5, 6, 7, 8, 9]

    def read(parameters):
        states, _ = model.apply(
            {"params": parameters}, source, given, deterministic=True, method="features"
        )
        # layer norm's outputs sum to a constant: read them in a direction of no symmetry
        return states[0] @ np.sin(np.arange(WIDTH, dtype=np.float32))

    moves = np.abs(np.asarray(jax.jit(jax.jacrev(read))(initial(model))["embedding"])).sum(-1)
    for t in range(4):
        for place, word in enumerate(text):
            assert moves[t, word] > 1e-6 if place <= 2 + t else moves[t, word] == 0
    assert (moves[:, [PAD, START, END, 3]] == 0).all()


def test_a_prompt_is_continued_by_what_the_parallel_call_finds_most_probable():
    """With prompts of several lengths, and no more words than there are positions."""
    model = small(position=Learned(max_length=9), layers=1)
    params = initial(model)
    rows = [[4, 7, 5, 9, 8], [6, 10], [11]]
    source = np.zeros((len(rows) + 1, 5), np.int32)
    for row, words in zip(source, rows, strict=False):
        row[: len(words)] = words
    found = jax.device_get(generate(model, params, source, Greedy(), extra=6))
    for answer, words in zip(found.tokens[:, 0], rows, strict=False):
        # the last word, which is END, is not read
        limit = min(len(words) + 6, 9 - len(words) + 1)
        text = [*words]
        while len(text) < len(words) + limit:
            read = np.array([[START, *text[1:], *[PAD] * (9 - len(text))]])
            variables, first = {"params": params}, np.array([text[:1]])
            logits = jitted.apply(model, variables, first, read, deterministic=True)
            logits = logits[0, len(text) - 1]
            logits[[PAD, START]] = -np.inf
            last = len(text) + 1 == len(words) + limit
            text.append(END if last else int(logits.argmax()))
            if text[-1] == END:
                break
        assert [word for word in answer.tolist() if word != PAD] == text[len(words) :]
    assert (found.tokens[-1] == PAD).all()
    alone, together = jax.device_get(
        [generate(model, params, x, Beam(size=2), extra=6) for x in (source[1:2, :2], source)]
    )
    length = alone.tokens.shape[-1]
    np.testing.assert_array_equal(together.tokens[1, :, :length], alone.tokens[0])


@pytest.mark.long
def test_a_short_source_and_a_long_target_stand_in_one_batch_with_the_opposite():
    model = small(position=Learned(max_length=6), layers=1)
    source = np.array([[4, 5, 6, 7, 8], [9, 0, 0, 0, 0]])
    given = np.array([[1, 5, 0, 0, 0, 0], [1, 4, 5, 6, 7, 8]])
    call = functools.partial(jitted.apply, model, {"params": initial(model)}, deterministic=True)
    both = call(source, given)
    np.testing.assert_allclose(both[0, :2], call(source[:1], given[:1, :2])[0], atol=1e-5)
    np.testing.assert_allclose(both[1], call(source[1:, :1], given[1:])[0], atol=1e-5)


def test_lengths_are_those_of_source_and_target_together():
    model = small(position=Learned(max_length=6))
    long = Examples.of([Encoded([4] * 3, [5] * 4), Encoded([4] * 4, [5] * 4)])
    model.check_examples(long[:1], "of the test split")
    with pytest.raises(UserError, match=r"sentence 2 of the test split .* 7 .*at most 6 \(model.p"):
        model.check_examples(long, "of the test split")
    with pytest.raises(UserError, match="at most 6 positions are learned; got 7"):
        jax.eval_shape(
            lambda: model.init(jax.random.key(0), *cut(np.ones((1, 8), int), 1), deterministic=True)
        )


@pytest.mark.long
def test_every_layer_shows_its_weights_over_the_whole_text():
    model = small()
    found = model.attentions(initial(model), SOURCE, GIVEN)
    J = SOURCE.shape[1] + GIVEN.shape[1] - 1
    assert [one.name for one in found] == [
        "layers_0.self_attention",
        "layers_1.self_attention",
    ]
    for one in found:
        assert one.weights.shape == (2, HEADS, J, J)
        rows = np.asarray(one.mask.any(-1)).repeat(HEADS, axis=1)
        np.testing.assert_allclose(np.asarray(one.weights.sum(-1))[rows], 1, atol=1e-5)
        assert not np.asarray(one.weights * ~one.mask)[rows].any()


def test_default_layers_are_gpts():
    D, V, N = 512, 100, 6
    shapes = jax.eval_shape(
        lambda: LanguageModel(vocabulary=V).init(
            jax.random.key(0), SOURCE, GIVEN, deterministic=True, mutable=["params"]
        )
    )
    count = sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(shapes))
    layer = 4 * D * D + 4 * D + 2 * D * 2048 + 2048 + D + 2 * 2 * D
    assert count == V * D + 512 * D + N * layer + 2 * D


@pytest.mark.parametrize("layers", [1, 3])
def test_initial_values_are_gpts(layers):
    """Radford et al. 2019, section 2.3: what is added is smaller, by the root of its number."""
    model = LanguageModel(vocabulary=200, width=64, num_layers=layers)
    params = jitted.init(
        model, jax.random.key(0), SOURCE, GIVEN, deterministic=True, mutable=["params"]
    )["params"]
    for name, x in traverse_util.flatten_dict(params, sep=".").items():
        if name.endswith(("scale", "bias")):
            assert (x == float(name.endswith("scale"))).all(), name
        else:
            std = 0.02 / (2 * layers) ** 0.5 if name.endswith("out.kernel") else 0.02
            assert x.std() == pytest.approx(std, rel=0.05), name
            assert abs(x.mean()) < 0.05 * std, name


def test_what_a_language_model_cannot_take_is_refused():
    with pytest.raises(UserError, match="one vocabulary of both sides; got 5 source and 6 target"):
        LanguageModel().with_vocabularies(5, 6)
    with pytest.raises(UserError, match="model.layer.cross_attention:none"):
        LanguageModel(layer=DecoderLayer()).with_vocabularies(5, 5)
    one, other = (CharacterVocabulary(tuple(f"{word}{n}" for n in range(6))) for word in "ab")
    LanguageModel().check_vocabularies(Vocabularies(one, one))
    with pytest.raises(UserError, match="one vocabulary of both sides"):
        LanguageModel().check_vocabularies(Vocabularies(one, other))
    corpus = Copy(symbols=4, longest=3, train=8, valid=4, test=4).load()
    assert LanguageModel().with_vocabularies(*corpus.vocabularies.sizes).vocabulary
