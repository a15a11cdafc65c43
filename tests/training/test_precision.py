"""What is computed in bfloat16 and what stays float32, read from the traced program."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from attnjax.models.language_model import LanguageModel
from attnjax.models.rnn_decoders import BahdanauDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer_layers import DecoderLayer
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.objectives.masked_language_model import MaskedLanguageModel
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import (
    cast,
    evaluation_step,
    initial_state,
    on_one_device,
    products as products_in,
    train_step,
)
from tests.training.test_accumulation import BERT
from tests.training.test_sharding import BATCH_NORM, HEADS, OPTIMIZER, RECURRENT, TRANSFORMER
from tests.training.toy import WORDS, ragged

BATCH = ragged(1, seed=0)[0]
KEY = jax.random.key(1)
WORDS_OF_BOTH = {"source_vocabulary": WORDS, "vocabulary": WORDS}
MODELS = {
    "transformer": (TRANSFORMER, CrossEntropy()),
    "batch norm": (BATCH_NORM, CrossEntropy()),
    "luong": (RECURRENT, CrossEntropy()),
    "bahdanau": (
        Seq2Seq(
            **WORDS_OF_BOTH,
            width=8,
            encoder=Encoder(width=4),
            decoder=BahdanauDecoder(width=8),
            dropout=0.3,
        ),
        CrossEntropy(),
    ),
    "bert": (BERT, MaskedLanguageModel()),
    "language model": (
        LanguageModel(
            vocabulary=WORDS,
            width=8,
            num_layers=1,
            layer=DecoderLayer(self_attention=HEADS, cross_attention=None),
        ),
        CrossEntropy(),
    ),
}


def recipe(model: Any, objective: Any) -> Recipe:
    training = Training(precision="bfloat16")
    return Recipe(model=model, objective=objective, optimizer=OPTIMIZER, training=training)


def shapes(model: Any, objective: Any) -> Any:
    """Return the state before the first update, as shapes."""
    initial = partial(initial_state, batch=BATCH, recipe=recipe(model, objective))
    return jax.eval_shape(initial, KEY)


def forward(model: Any, objective: Any, params: Any) -> Any:
    return objective(model, cast(params, "bfloat16"), objective.initial(), BATCH, key=KEY)


def equations(program: Any) -> Iterator[Any]:
    for equation in program.eqns:
        yield equation
        for inside in jaxprs_in_params(equation.params):
            yield from equations(inside)


def dtypes(variables: Any) -> set[str]:
    return {str(variable.aval.dtype) for variable in variables}


def products(program: Any) -> list[tuple[Any, bool]]:
    """Return the matrix products, and whether a parameter is one of the two factors.

    A parameter is an input of the program that only casts, slices and changes of shape came after.
    """
    moves = ("convert_element_type", "reshape", "transpose", "broadcast_in_dim", "slice")
    moves += ("squeeze", "concatenate")
    found: list[tuple[Any, bool]] = []

    def read(program: Any, given: set[Any]) -> None:
        parameters = set(given)
        for equation in program.eqns:
            name = equation.primitive.name
            of = [v in parameters for v in equation.invars if not hasattr(v, "val")]
            if name == "dot_general":
                found.append((equation, any(of)))
            elif name in moves and any(of):
                parameters.update(equation.outvars)
            for inside in jaxprs_in_params(equation.params):
                behind = len(equation.invars) - len(inside.invars)
                outer = equation.invars[behind:] if behind >= 0 else equation.invars
                pairs = zip(outer, inside.invars, strict=False)
                read(inside, {i for o, i in pairs if not hasattr(o, "val") and o in parameters})

    read(program, set(program.invars))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_products_with_parameters_are_bfloat16_and_softmax_norms_and_loss_float32(name):
    model, objective = MODELS[name]
    params = shapes(model, objective).params
    traced = jax.make_jaxpr(partial(forward, model, objective))(params)
    with_parameters = [equation for equation, parameter in products(traced.jaxpr) if parameter]
    assert len(with_parameters) > 5
    for equation in with_parameters:
        assert dtypes(equation.invars) == {"bfloat16"}, equation
    # exponentials: softmax and loss; reciprocal roots: norms; logarithms: the loss
    seen = set[str]()
    for equation in equations(traced.jaxpr):
        if equation.primitive.name in ("exp", "log", "rsqrt", "reduce_sum"):
            seen.add(equation.primitive.name)
            assert "bfloat16" not in dtypes(equation.invars), equation
    assert seen >= {"exp", "log", "reduce_sum"}
    assert dtypes(traced.jaxpr.outvars) == {"float32"}


def test_products_alone_are_of_bfloat16():
    """Their operands are; sums, and everything else of loss and gradient, are float32."""
    model, objective = MODELS["transformer"]
    params = shapes(model, objective).params

    def loss(params: Any) -> Any:
        return objective(model, params, objective.initial(), BATCH, key=KEY)["loss"][0]

    with products_in("bfloat16_products"):
        traced = jax.make_jaxpr(jax.grad(loss))(params)
    every = [equation for equation, _ in products(traced.jaxpr)]
    assert len(every) > 15
    for equation in every:
        assert dtypes(equation.invars) == {"bfloat16"}, equation
        assert dtypes(equation.outvars) == {"float32"}, equation
    moves = {"convert_element_type", "dot_general", "transpose", "layout_constraint", "reshape"}
    others = {
        equation.primitive.name
        for equation in equations(traced.jaxpr)
        if "bfloat16" in dtypes(equation.invars) and not [*jaxprs_in_params(equation.params)]
    }
    assert others <= moves
    assert {leaf.dtype for leaf in traced.out_avals} == {jnp.dtype("float32")}


@pytest.mark.parametrize("precision", ["bfloat16", "bfloat16_products"])
def test_validation_computes_in_the_precision_of_training(precision):
    model, objective = MODELS["transformer"]
    own = replace(recipe(model, objective), training=Training(precision=precision))
    step = partial(evaluation_step, batch=BATCH, recipe=own, over_devices=on_one_device)
    traced = jax.make_jaxpr(step)(shapes(model, objective).params)
    every = [equation for equation, _ in products(traced.jaxpr)]
    assert len(every) > 5
    for equation in every:
        assert dtypes(equation.invars) == {"bfloat16"}, equation


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[] if name in ("transformer", "language model") else pytest.mark.long
        )
        for name in MODELS
    ],
)
def test_gradients_parameters_and_metrics_are_float32(name):
    model, objective = MODELS[name]
    state = shapes(model, objective)

    def gradients(params: Any) -> Any:
        return jax.grad(lambda params: forward(model, objective, params)["loss"][0])(params)

    kinds = {leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(gradients, state.params))}
    assert kinds == {jnp.dtype("float32")}
    step = partial(train_step, recipe=recipe(model, objective), over_devices=on_one_device)
    after, metrics = jax.eval_shape(step, state, BATCH)
    assert jax.tree.map(lambda leaf: leaf.dtype, after) == jax.tree.map(
        lambda leaf: leaf.dtype, state
    )
    assert {leaf.dtype for leaf in jax.tree.leaves(metrics)} == {jnp.dtype("float32")}


def test_running_statistics_and_constants_are_not_rounded():
    """They move by small steps, which bfloat16 would lose, or not at all."""
    names = ("running_mean", "constant_projection", "scale")
    norm = cast({"norm": {name: np.float32([1 / 3]) for name in names}}, "bfloat16")["norm"]
    assert norm["running_mean"] == norm["constant_projection"] == np.float32(1 / 3)
    assert norm["scale"].dtype == jnp.bfloat16
