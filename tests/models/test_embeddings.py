"""One, two or three tables of a Transformer: shared, tied, separate; one vocabulary or two."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.models.transformer import Transformer
from tests.models.small import GIVEN, SOURCE, VOCABULARY, WIDTH, initial, small
from tests.models.stepwise import stepped_and_parallel

SHARED = small(layers=1).clone(source_vocabulary=VOCABULARY)
TABLES = {
    "shared": ("embedding",),
    "tied": ("embedding", "source_embedding"),
    "separate": ("embedding", "source_embedding", "output_embedding"),
}


def loss(model: Transformer, parameters: Any) -> Any:
    logits = model.apply({"params": parameters}, SOURCE, GIVEN, deterministic=True)
    return (logits * jnp.sin(jnp.arange(logits.size).reshape(logits.shape))).sum(), logits


@pytest.mark.long
def test_equal_tables_are_one_and_share_its_gradient_out(float64):
    parameters = initial(SHARED)
    (expected, gradient) = jax.jit(jax.value_and_grad(lambda p: loss(SHARED, p)[0]))(parameters)
    for embeddings, names in TABLES.items():
        model = vary(SHARED, {"embeddings": embeddings})
        copied = parameters | dict.fromkeys(names, parameters["embedding"])
        read = jax.jit(jax.value_and_grad(lambda p, model=model: loss(model, p)[0]))
        found, slopes = read(copied)
        assert found == pytest.approx(float(expected), rel=1e-12)
        parts = [slopes.pop(name) for name in names]
        assert all(np.abs(part).max() > 0 for part in parts)
        np.testing.assert_allclose(sum(parts), gradient["embedding"], rtol=0, atol=1e-12)


def test_the_default_is_one_table_named_as_it_is():
    names = set(initial(SHARED))
    assert {name for name in names if "embedding" in name} == {"embedding"}
    assert Transformer().embeddings == "shared"


@pytest.mark.parametrize("embeddings", [pytest.param("tied", marks=pytest.mark.long), "separate"])
def test_two_vocabularies_train_and_search(embeddings, float64):
    # more source words than target words: an id beyond the target's table is read from its own
    model = vary(small(layers=1), {"embeddings": embeddings}).with_vocabularies(20, VOCABULARY)
    assert (model.source_vocabulary, model.vocabulary) == (20, VOCABULARY)
    parameters = initial(model)
    assert parameters["source_embedding"].shape == (20, WIDTH)
    assert parameters["embedding"].shape == (VOCABULARY, WIDTH)
    source = np.where(SOURCE > 0, SOURCE + 8, 0)
    stepped, parallel = stepped_and_parallel(model, parameters, source, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)

    @jax.jit
    def slopes(params: Any) -> Any:
        def loss(params: Any) -> jax.Array:
            out = model.apply({"params": params}, source, GIVEN, deterministic=True)
            return jax.nn.log_softmax(out)[..., 0].sum()

        return jax.grad(loss)(params)

    found = slopes(parameters)
    changed = {
        name: np.flatnonzero(np.any(found[name], axis=-1)).tolist() for name in TABLES[embeddings]
    }
    every = [*range(VOCABULARY)]
    assert changed.pop("source_embedding") == sorted({int(word) for word in source.ravel()} - {0})
    if embeddings == "separate":  # the target's table is read, and the output's alone gives logits
        assert changed.pop("output_embedding") == every
        every = sorted({int(word) for word in GIVEN.ravel()})
    assert changed == {"embedding": every}


def test_shared_embeddings_refuse_two_vocabularies_and_models_of_text_refuse_none():
    with pytest.raises(UserError, match="wants one vocabulary .* got 20 source and 12 target"):
        small().with_vocabularies(20, 12)
    for embeddings in TABLES:
        with pytest.raises(UserError, match="source and target; got None source and 12"):
            vary(small(), {"embeddings": embeddings}).with_vocabularies(None, 12)


def test_a_base_width_is_a_factor_of_each_table(float64):
    base_width = WIDTH // 2
    model = SHARED.clone(base_width=base_width)
    parameters, table = initial(model), initial(model)["embedding"]
    scaled = {
        "embedding": table * (base_width / WIDTH) ** 0.5,
        "source_embedding": table * (base_width / WIDTH) ** 0.5,
        "output_embedding": table * (base_width / WIDTH),
    }
    _, wanted = jax.jit(loss, static_argnums=0)(
        vary(SHARED, {"embeddings": "separate"}), parameters | scaled
    )
    stepped, parallel = stepped_and_parallel(model, parameters, SOURCE, GIVEN)
    np.testing.assert_allclose(parallel[:, 0], wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)
