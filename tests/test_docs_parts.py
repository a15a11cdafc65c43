"""Parts of models that README and docs show train on padded sentences, and pass the checks.

Of a page's code the definitions alone are run: tests/test_docs.py runs all of it.
"""

import ast
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention import (
    Align,
    Attention,
    AttentionBase,
    FeatureMap,
    Gate,
    LinearAttention,
    Mask,
    MultiHead,
    Pool,
    Position,
    Score,
)
from attnjax.config.vary import vary
from attnjax.data import PAD
from attnjax.lab.checks import check_attention, check_model, check_norm
from attnjax.models import FeedForwardBase, LabelModel, PostNorm, Residual, Transformer
from attnjax.models.base import SymbolModel
from attnjax.nn import Norm
from tests.test_docs import ROOT, blocks

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs" / "extending").glob("*.md")))
STEPS, RATE = 3, 0.1
SOURCE = np.array([[4, 5, 6, 7, 2], [8, 4, 2, PAD, PAD], [2, *[PAD] * 4], [PAD] * 5])
TARGET = np.array([[5, 4, 2, PAD], [6, 7, 8, 2], [2, *[PAD] * 3], [PAD] * 4])
GIVEN = np.pad(TARGET[:, :-1], ((0, 0), (1, 0)), constant_values=1)
SMALL = Transformer(width=8, num_encoder_layers=1, num_decoder_layers=1, vocabulary=9)
PLACES = {
    Score: "**.head.score",
    Align: "**.head.align",
    Pool: "**.head.pool",
    Mask: "encoder_layer.self_attention.head.mask",
    AttentionBase: "**.head",
    Gate: "**.gate",
    Position: "position",
    Residual: "residual",
    FeedForwardBase: "**.feed_forward",
}
"""Where a part of a kind stands in a Transformer."""
KINDS = (*PLACES, FeatureMap, Norm, SymbolModel)


@cache
def shown(page: Path) -> dict[str, Any]:
    """The parts of models that a page defines, with their defaults, by name."""
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        body = [node for node in ast.parse(block).body if isinstance(node, definitions)]
        exec(compile(ast.Module(body, []), str(page), "exec"), namespace)
    own = [value for value in namespace.values() if inspect.isclass(value)]
    return {
        kind.__name__: kind()
        for kind in own
        if kind.__module__ == page.stem and issubclass(kind, KINDS)
    }


WITH_PARTS = [page for page in PAGES if shown(page)]


def as_model(part: Any) -> Any:
    """A small model that has a part, with its vocabularies."""
    match part:
        case SymbolModel():
            return part.clone(width=8).with_vocabularies(source=9, target=9)
        case Norm():
            part = PostNorm(norm=part)
        case FeatureMap():
            part = LinearAttention(feature_map=part)
    (place,) = (place for kind, place in PLACES.items() if isinstance(part, kind))
    return vary(SMALL, {place: part})


def train(model: Any, key: jax.Array) -> Any:
    """Return the losses of a few steps and all their gradients."""
    given, target = (x[:, :1] if isinstance(model, LabelModel) else x for x in (GIVEN, TARGET))
    counted = jnp.asarray(target != PAD)

    def loss(params: Any) -> jax.Array:
        logits = model.apply({"params": params}, SOURCE, given, deterministic=True)
        chances = jax.nn.log_softmax(logits)
        of_words = jnp.take_along_axis(chances, jnp.asarray(target)[..., None], -1)[..., 0]
        return -jnp.where(counted, of_words, 0).sum() / counted.sum()

    def step(params: Any, _: None) -> Any:
        value, slopes = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, s: p - RATE * s, params, slopes), (value, slopes)

    params = model.init(key, SOURCE, given, deterministic=True)["params"]
    return jax.lax.scan(step, params, length=STEPS)[1]


def test_every_page_of_a_kind_of_part_has_one():
    names = [name for page in WITH_PARTS for name in shown(page)]
    assert {page.stem for page in WITH_PARTS} == {
        "README",
        *("align", "attention", "layer", "mask", "model", "pool", "position", "score"),
    }
    assert len(names) == 18


@pytest.mark.parametrize("page", WITH_PARTS, ids=lambda page: page.stem)
def test_the_parts_of_a_page_train_on_sentences_of_several_lengths(page):
    models = {name: as_model(part) for name, part in shown(page).items()}

    @jax.jit
    def all_of_them(key):
        return {name: train(model, key) for name, model in models.items()}

    for name, (losses, slopes) in jax.device_get(all_of_them(jax.random.key(0))).items():
        assert np.isfinite(losses).all(), name
        assert losses[-1] < losses[0], name
        for path, leaf in jax.tree.leaves_with_path(slopes):
            assert np.isfinite(leaf).all(), f"{name}: {jax.tree_util.keystr(path)}"


def check(part: Any) -> list[Any]:
    """The findings of `attnjax check`."""
    match part:
        case Norm():
            return check_norm(part)
        case AttentionBase():
            return check_attention(MultiHead(head=part, heads=2)) + check_attention(part)
        case FeatureMap():
            return check_attention(LinearAttention(feature_map=part))
        case Gate():
            return check_attention(MultiHead(heads=2, gate=part))
        case LabelModel():
            return []
        case Position() | Residual() | FeedForwardBase() | SymbolModel():
            return check_model(as_model(part), jnp.asarray(SOURCE), jnp.asarray(TARGET))
    (field,) = (PLACES[kind] for kind in PLACES if isinstance(part, kind))
    return check_attention(Attention(**{field.rsplit(".", 1)[-1]: part}))


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_PARTS, ids=lambda page: page.stem)
def test_attnjax_check_finds_nothing_in_the_parts_of_a_page(page):
    for name, part in shown(page).items():
        found = check(part)
        assert not [finding for finding in found if finding.problem], name
