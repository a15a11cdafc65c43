"""muP: initial values and rates of each kind of parameter, as they go with a model's width."""

from functools import partial

import jax
import numpy as np
import pytest

from attnjax.attention import Attention, General, Learned, MultiHead
from attnjax.errors import UserError
from attnjax.models import DecoderLayer, FeedForward, LanguageModel
from attnjax.nn.initializers import GPTInit, InitByName, Initializer, InitRule, MuPInit
from attnjax.nn.paths import flat
from attnjax.nn.width_transfer import is_linear_map, widening

BASE = 16


def model(width: int, initializer: Initializer | None = None, **parts) -> LanguageModel:
    """A language model of one layer, all of whose widths grow with its own."""
    return LanguageModel(
        vocabulary=400,
        width=width,
        num_layers=1,
        layer=DecoderLayer(
            self_attention=MultiHead(heads=4, bias=True, **parts),
            cross_attention=None,
            feed_forward=FeedForward(width=4 * width),
        ),
        position=Learned(max_length=300),
        initializer=initializer,
    )


def drawn(width: int, initializer: Initializer) -> dict[str, np.ndarray]:
    words = np.ones((1, 2), np.int32)
    call = jax.jit(partial(model(width, initializer).init, deterministic=True))
    return {
        name: np.asarray(x)
        for name, x in flat(call(jax.random.key(0), words, words)["params"]).items()
    }


def shapes(model: LanguageModel) -> dict[str, tuple[int, ...]]:
    words = np.ones((1, 2), np.int32)
    call = partial(model.init, deterministic=True)
    made = jax.eval_shape(call, jax.random.key(0), words, words)["params"]
    return {name: leaf.shape for name, leaf in flat(made).items()}


def test_linear_maps_are_drawn_smaller_in_a_wider_model_and_nothing_else_is():
    wide = drawn(4 * BASE, MuPInit(std=0.02, base_width=BASE))
    gpt = drawn(4 * BASE, GPTInit(std=0.02))
    for name, values in wide.items():
        np.testing.assert_allclose(values, gpt[name] / (2 if is_linear_map(name) else 1), rtol=1e-6)
    assert wide["embedding"].std() == pytest.approx(0.02, rel=0.03)
    assert wide["position_encoding.embedding"].std() == pytest.approx(0.02, rel=0.03)
    assert wide["layers_0.feed_forward.hidden.kernel"].std() == pytest.approx(0.01, rel=0.03)
    added = wide["layers_0.feed_forward.out.kernel"].std()
    assert added == pytest.approx(0.01 / 2**0.5, rel=0.03)


def test_at_the_base_width_the_values_are_those_of_gpt():
    ours, gpt = (drawn(BASE, each) for each in (MuPInit(base_width=BASE), GPTInit()))
    for name, values in ours.items():
        np.testing.assert_array_equal(values, gpt[name])


def test_a_rule_for_some_parameters_knows_the_width_of_the_model():
    rule = InitRule(parameters="*.kernel", initializer=MuPInit(base_width=BASE))
    fitted = InitByName(rules=(rule,)).fit(shapes(model(2 * BASE)))
    assert isinstance(fitted, InitByName)
    assert fitted.rules[0].initializer == MuPInit(base_width=BASE).fit(shapes(model(2 * BASE)))


def test_what_is_not_known_to_go_with_the_width_is_refused():
    assert widening(shapes(model(3 * BASE)), BASE) == 3
    unknown = shapes(model(BASE, head=Attention(score=General())))
    with pytest.raises(UserError, match=r"how layers_0.self_attention.head.score.weight goes"):
        widening(unknown, BASE)
    with pytest.raises(UserError, match=r"an embedding of words.*its parameters are a.kernel$"):
        widening({"a.kernel": (2, 3)}, BASE)
