"""Many batches at once, and every answer where its source is."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.special_tokens import END, PAD
from attnjax.decoding.beam import Beam
from attnjax.decoding.search import Hypotheses
from attnjax.evaluation import decode_corpus
from attnjax.evaluation.decode_corpus import hypotheses
from attnjax.models.transformer import Transformer


def answered(sources: Sequence[list[int]]) -> list[list[int]]:
    options = {"search": Beam(size=2), "batching": Batching(max_tokens=640)}
    return [answer.tokens[0].tolist() for answer in hypotheses(None, {}, sources, **options)]


def echo(model, params, source, search, *, number, extra) -> Hypotheses:
    """Every source itself."""
    del model, params, search, number, extra
    return Hypotheses(source[:, None], np.zeros((len(source), 1)))


def test_answers_come_in_the_order_of_the_sources(monkeypatch):
    monkeypatch.setattr(decode_corpus, "generate", echo)
    random = np.random.default_rng(0)
    sources = [[*random.integers(4, 9, n).tolist(), END] for n in random.integers(1, 12, 50)]
    found = answered(sources)
    assert [[word for word in answer if word != PAD] for answer in found] == sources
    assert answered([]) == []


@pytest.mark.parametrize("numbers", [None, [*range(70, 20, -1)]])
def test_a_search_gets_the_number_of_each_sentence(monkeypatch, numbers):
    def numbered(*given, number, **named) -> Hypotheses:
        found = echo(*given, number=number, **named)
        return found._replace(scores=number[:, None])

    monkeypatch.setattr(decode_corpus, "generate", numbered)
    random = np.random.default_rng(0)
    sources = [[*random.integers(4, 9, n).tolist(), END] for n in random.integers(1, 12, 50)]
    options = {"search": Beam(size=2), "batching": Batching(max_tokens=640), "numbers": numbers}
    found = hypotheses(None, {}, sources, **options)
    assert [answer.scores[0] for answer in found] == (numbers or [*range(50)])


def test_threads_have_the_settings_of_who_asks(monkeypatch):
    seen: list[Any] = []

    def look(*given, **named) -> Hypotheses:
        seen.append(jnp.zeros(()).dtype)
        return echo(*given, **named)

    monkeypatch.setattr(decode_corpus, "generate", look)
    for wide in (True, False):
        with jax.enable_x64(wide):
            answered([[5, END]])
    assert seen == [jnp.dtype("float64"), jnp.dtype("float32")]


@pytest.mark.long
def test_two_searches_at_once_find_what_one_after_the_other_does(monkeypatch):
    model = Transformer(vocabulary=12, width=8, num_encoder_layers=1, num_decoder_layers=1)
    some = np.full((1, 1), END, np.int32)
    params = model.init(jax.random.key(0), some, some, deterministic=True)["params"]
    random = np.random.default_rng(0)
    sources = [[*random.integers(4, 12, n).tolist(), END] for n in random.integers(1, 5, 60)]
    found = []
    for at_once in (1, 2):
        monkeypatch.setattr(decode_corpus, "AT_ONCE", at_once)
        search, batching = Beam(size=2), Batching(max_tokens=8 * 60)
        options = {"search": search, "batching": batching}
        found.append(
            [answer.tokens[0].tolist() for answer in hypotheses(model, params, sources, **options)]
        )
    assert len({tuple(answer) for answer in found[0]}) > 1
    assert found[0] == found[1]
