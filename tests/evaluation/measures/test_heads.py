"""Every head's numbers, by loops over its weights."""

import json
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from attnjax.config.vary import vary
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError
from attnjax.evaluation import attention_numbers
from attnjax.evaluation.attention_numbers import rollout
from attnjax.evaluation.gold_alignment import (
    GoldLinks,
    alignment_error_rate,
    links,
    read_pharaoh,
    words_of,
)
from attnjax.evaluation.measures.base import totals
from attnjax.evaluation.measures.heads import Heads
from attnjax.evaluation.measures.perplexity import LIKELIHOOD
from tests.evaluation.measures.unbatched import alone

# a program for each shape, not one for each operation
agreement, distance, divergence, mass = map(
    jax.jit,
    (
        attention_numbers.agreement,
        attention_numbers.distance,
        attention_numbers.divergence,
        attention_numbers.mass,
    ),
)

random = np.random.default_rng(0)
WEIGHTS = random.dirichlet(np.ones(4), (2, 3, 5)).astype(np.float32)  # [B, H, T, S]
MASK = np.ones((2, 1, 5, 4), bool)
MASK[1, :, 3:] = False
ROWS = [(b, t) for b in range(2) for t in range(5) if MASK[b, 0, t].any()]


def test_numbers_are_means_over_rows_that_attend():
    head, mask = WEIGHTS[:, 0], MASK[:, 0]
    places = [sum(head[b, t, s] * abs(t - s) for s in range(4)) for b, t in ROWS]
    np.testing.assert_allclose(distance(jnp.asarray(head), mask), np.mean(places), rtol=1e-5)
    keys = np.zeros((2, 1, 4), bool)
    keys[:, :, 3] = True
    share = [head[b, t, 3] for b, t in ROWS]
    np.testing.assert_allclose(mass(jnp.asarray(head), mask, keys), np.mean(share), rtol=1e-5)


def test_heads_agree_by_jensen_and_shannon():
    pairs = [(0, 1), (0, 2), (1, 2)]
    gaps = {
        pair: np.mean([jensenshannon(*WEIGHTS[b, pair, t]) ** 2 for b, t in ROWS]) for pair in pairs
    }
    ours = divergence(jnp.asarray(WEIGHTS[:, 0]), jnp.asarray(WEIGHTS[:, 1]), MASK[:, 0])
    np.testing.assert_allclose(ours, gaps[0, 1], rtol=1e-4)
    wanted = 1 - np.mean([*gaps.values()]) / math.log(2)
    np.testing.assert_allclose(agreement(jnp.asarray(WEIGHTS), MASK), wanted, rtol=1e-4)
    same = jnp.asarray(np.repeat(WEIGHTS[:, :1], 3, axis=1))
    np.testing.assert_allclose(agreement(same, MASK), 1, atol=1e-6)
    assert agreement(same[:, :1], MASK) == 1


def test_rollout_follows_every_path():
    layers = random.dirichlet(np.ones(3), (2, 3))
    paths = np.zeros((3, 3))
    first, second = ((weights + np.eye(3)) / 2 for weights in layers)
    for i in range(3):
        for j in range(3):
            paths[i, j] = sum(second[i, k] * first[k, j] for k in range(3))
    np.testing.assert_allclose(rollout([*layers]), paths)
    np.testing.assert_allclose(rollout([*layers]).sum(-1), 1)


def test_the_alignment_error_rate_of_och_and_ney(tmp_path):
    path = tmp_path / "gold"
    path.write_text("0-0 1-2 2p1\n\n1?1\n")
    gold = read_pharaoh(path)
    assert gold[0] == GoldLinks(frozenset({(0, 0), (1, 2)}), frozenset({(0, 0), (1, 2), (2, 1)}))
    assert gold[1] == GoldLinks(frozenset(), frozenset())
    made = frozenset({(0, 0), (2, 1), (2, 2)})
    # 1 sure and 2 possible links of 3 made, 2 sure
    assert alignment_error_rate([(made, gold[0])]) == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert alignment_error_rate([(made, gold[0]), (frozenset({(1, 1)}), gold[2])]) == (
        pytest.approx(1 - (1 + 3) / (4 + 2))
    )
    path.write_text("0-0\n0:1\n")
    with pytest.raises(UserError, match="line 2: a link is such as 0-0, or 3p4; got '0:1'"):
        read_pharaoh(path)
    with pytest.raises(UserError, match="needs links"):
        alignment_error_rate([])


def test_pieces_are_joined_to_words_before_they_are_linked():
    vocabulary = WordVocabulary((*SPECIAL, "ab@@", "c", "d"))
    assert words_of(vocabulary, [4, 5, 6, 4, 5]) == [0, 0, 1, 2, 2]
    weights = np.eye(4)[[1, 0, 2, 3]]
    assert links(weights, [0, 0, 1], [0, 1, 1]) == frozenset({(0, 0), (0, 1), (1, 1)})


def test_each_head_of_each_layer_is_in_the_result(inputs, tmp_path):
    count = len(inputs.corpus.splits["test"])
    path = tmp_path / "gold"
    path.write_text("".join(f"{i % 3}-{i % 2} 0p0\n" for i in range(count)))
    measure = replace(Heads(examples=4), gold=str(path))
    measure.check(inputs.model, inputs.corpus)
    measured, table = measure.with_details(inputs)
    assert json.loads(json.dumps(table)) == table
    cross = "decoder_layers_1.cross_attention"
    assert len(table["heads"]) == 5
    assert {len(row["importance"]) for row in table["heads"].values()} == {2}
    ends, made = [], []
    for index, gold in enumerate(read_pharaoh(path)[:4]):
        seen = alone(inputs, index)["decoder_layers_1"]["cross_attention"]["head"]
        weights = np.asarray(seen["weights"][0])[0]
        ends += weights[:, :, -1].mean(0).tolist()
        sources, targets = ([*range(length - 1)] for length in weights.shape[:0:-1])
        made.append([(links(head, sources, targets), gold) for head in weights])
    rates = [alignment_error_rate(pairs) for pairs in zip(*made, strict=True)]
    assert table["heads"][cross]["alignment_error_rate"] == pytest.approx(rates)
    assert np.mean(table["heads"][cross]["end"]) == pytest.approx(np.mean(ends), rel=1e-3)
    assert max(abs(number) for row in table["heads"].values() for number in row["padding"]) < 1e-6
    assert [*table["uniform"]] == [
        "model.encoder_layer.self_attention.head",
        "model.decoder_layer.self_attention.head",
        "model.decoder_layer.cross_attention.head",
    ]
    means = {item.key.name: item.value for item in measured}
    # an encoder of one layer, whose head the model itself leaves out
    without = vary(inputs.model, {"encoder_layer.self_attention.heads_out": (1,)})
    losses = [
        float(total / number)
        for model in (without, inputs.model)
        for total, number in totals(LIKELIHOOD, model, inputs.params, inputs.first(4), ("nll",))
    ]
    found = table["heads"]["encoder_layers_0.self_attention"]["importance"][1]
    assert abs(found) > 1e-4
    assert found == pytest.approx(losses[0] - losses[1], abs=1e-6)
    rows = table["heads"].values()
    assert means["head_entropy"] == pytest.approx(np.mean([row["entropy"] for row in rows]))
    assert means["head_agreement"] == pytest.approx(np.mean([row["agreement"] for row in rows]))
    assert [*means] == [key.name for key in measure.keys(None)]
    path.write_text("0-0\n")
    with pytest.raises(UserError, match=f"must have a line for each of {count} test sentences"):
        measure.check(inputs.model, inputs.corpus)
