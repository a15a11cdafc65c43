"""Table 3's experiment: each row is the base model but for what it names, in both settings."""

from math import prod
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention.position import Learned
from attnjax.config.vary import field_at
from attnjax.config.walk import differences
from attnjax.experiment import Ablation
from attnjax.experiment.load import load

TABLE_3 = load(Path(__file__).parents[1] / "experiments" / "vaswani2017_table3.py").ablation
PAPER = TABLE_3.at("paper")
PIECES = 37_000

ATTENTIONS = (
    "model.encoder_layer.self_attention",
    "model.decoder_layer.self_attention",
    "model.decoder_layer.cross_attention",
)
NETWORKS = ("model.encoder_layer.feed_forward.width", "model.decoder_layer.feed_forward.width")
STACKS = ("model.num_encoder_layers", "model.num_decoder_layers")
HEADS = tuple(f"{path}.heads" for path in ATTENTIONS)
KEYS = tuple(f"{path}.key_width" for path in ATTENTIONS)
WIDTH = ("model.width", "optimizer.schedule.width")  # d_model is in the schedule too: eq. 3
# row: the fields that it changes, and their value in the paper
ROWS: dict[str, tuple[tuple[str, ...], Any]] = {
    "base": ((), None),
    "heads_1": (HEADS, 1),
    "heads_4": (HEADS, 4),
    "heads_16": (HEADS, 16),
    "heads_32": (HEADS, 32),
    "keys_quarter": (KEYS, 16),
    "keys_half": (KEYS, 32),
    "layers_third": (STACKS, 2),
    "layers_two_thirds": (STACKS, 4),
    "layers_four_thirds": (STACKS, 8),
    "width_half": (WIDTH, 256),
    "width_double": (WIDTH, 1024),
    "network_half": (NETWORKS, 1024),
    "network_double": (NETWORKS, 4096),
    "dropout_0.0": (("model.dropout",), 0.0),
    "dropout_0.2": (("model.dropout",), 0.2),
    "smoothing_0.0": (("objective.smoothing",), 0.0),
    "smoothing_0.2": (("objective.smoothing",), 0.2),
    "learned": (("model.position",), Learned(max_length=512)),
}
# millions, as Table 3 prints them
PARAMETERS = {
    "base": 65,
    "keys_quarter": 58,
    "keys_half": 60,
    "layers_third": 36,
    "layers_two_thirds": 50,
    "layers_four_thirds": 80,
    "width_half": 28,
    "width_double": 168,
    "network_half": 53,
    "network_double": 90,
    "big": 213,
}


def changes(ablation: Ablation, row: str) -> dict[str, Any]:
    """The row's value of each field in which it is not the base."""
    found = differences(ablation.base, ablation.variant(row))
    return {path: value for path, (_, value) in found.items()}


def test_every_row_of_the_paper_differs_from_base_in_what_it_names():
    assert set(PAPER.variants) == {*ROWS, "big"}
    for row, (paths, value) in ROWS.items():
        assert changes(PAPER, row) == dict.fromkeys(paths, value), row
    assert changes(PAPER, "big") == {
        **dict.fromkeys(HEADS, 16),
        **dict.fromkeys(NETWORKS, 4096),
        **dict.fromkeys(WIDTH, 1024),
        "model.dropout": 0.3,
        "training.steps": 300_000,
    }


def test_the_small_rows_have_the_papers_ratios():
    assert set(TABLE_3.variants) == set(ROWS)
    # of widths, of layers, and of what stays as it is
    scale = dict.fromkeys((*KEYS, *NETWORKS, *WIDTH), 8) | dict.fromkeys(STACKS, 2)
    for row, (paths, value) in ROWS.items():
        small = changes(TABLE_3, row)
        assert set(small) == set(paths), row
        for path in paths:
            expected = value // scale[path] if path in scale else value
            assert small[path] == expected, (row, path)
    for path in (*NETWORKS, *WIDTH, *STACKS):
        small, paper = (field_at(ablation.base, path)[1] for ablation in (TABLE_3, PAPER))
        assert paper == scale[path] * small, path


# one of each kind
QUICK = ("base", "keys_half", "layers_third", "width_half", "network_half", "big")


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=[] if row in QUICK else pytest.mark.long) for row in PARAMETERS],
)
def test_parameters_are_the_papers_within_7_percent(row):
    """No one number of pieces gives every row's exactly; the paper says "about 37,000"."""
    model = PAPER.variant(row).model.with_vocabularies(PIECES, PIECES)
    words = jnp.zeros((1, 2), jnp.int32)
    shapes = jax.eval_shape(
        lambda: model.init(jax.random.key(0), words, words, deterministic=True)["params"]
    )
    found = sum(prod(leaf.shape) for leaf in jax.tree.leaves(shapes))
    assert found / 1e6 == pytest.approx(PARAMETERS[row], rel=0.07)
    # attention's maps have no biases, the network's have; a norm has two numbers for a feature
    width, layers, layer = model.width, model.num_encoder_layers, model.encoder_layer
    heads, network = layer.self_attention.heads, layer.feed_forward.width
    keys = heads * (layer.self_attention.key_width or width // heads)
    attention = 2 * width * keys + 2 * width * width
    around = 2 * width * network + network + width + 2 * 2 * width
    assert found == PIECES * width + layers * (3 * attention + 2 * around + 2 * width)


def test_every_row_has_its_figures():
    printed = {(figure.variant, figure.metric): figure.value for figure in PAPER.published}
    assert printed["heads_1", "bleu"] == 24.9
    assert printed["network_double", "bleu"] == 26.2
    assert printed["width_half", "perplexity"] == 5.75
    assert printed["learned", "perplexity"] == 4.92
    assert printed["big", "perplexity"] == 4.33
    for metric in ("bleu", "perplexity"):
        rows = [figure.variant for figure in PAPER.published if figure.metric == metric]
        assert sorted(rows) == sorted(PAPER.variants)
    assert not TABLE_3.published
