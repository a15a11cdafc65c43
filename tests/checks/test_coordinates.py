"""Coordinates of language models of several widths: they move alike under muP alone."""

import pytest

from attnjax.attention import MultiHead, WidthScaledDot
from attnjax.config.vary import vary
from attnjax.data.batching import Batching
from attnjax.data.generated.sequences import Copy
from attnjax.experiment.experiment import Experiment
from attnjax.lab.checks.coordinates import coordinate_changes, coordinate_growth
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.transformer_layers import DecoderLayer
from attnjax.nn.initializers import GPTInit, MuPInit
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Training

BASE, WIDTHS = 32, (32, 256)
STANDARD = Experiment(
    task=Copy(symbols=8, shortest=5, longest=6, train=16, valid=1, test=1, seed=0),
    model=LanguageModel(
        width=BASE,
        num_layers=1,
        layer=DecoderLayer(
            self_attention=MultiHead(heads=4), cross_attention=None, feed_forward=FeedForward()
        ),
        dropout=0.0,
        initializer=GPTInit(std=BASE**-0.5),
    ),
    optimizer=Adam(schedule=Constant(value=2**-6)),
    training=Training(batching=Batching(max_tokens=256, shapes=1)),
)
MUP = {
    "model.initializer": MuPInit(std=BASE**-0.5, base_width=BASE),
    "model.base_width": BASE,
    "model.**.head.score": WidthScaledDot(base_key_width=BASE // 4),
    "optimizer.base_width": BASE,
}


def at(width: int, changes: dict) -> Experiment:
    wide = {"model.width": width, "model.**.feed_forward.width": 2 * width}
    return vary(STANDARD, wide | changes)


@pytest.mark.long
def test_under_mup_no_vector_moves_further_in_a_wider_model():
    """Measured: slopes of 0.7 to 1.2 of the linear maps, and of -0.16 to -0.07 under muP."""
    standard, ours = (
        coordinate_growth({width: at(width, changes(width)) for width in WIDTHS}, steps=3)
        for changes in (lambda width: {"model.initializer.std": width**-0.5}, lambda _: MUP)
    )
    assert standard.keys() == ours.keys()
    for name in ("query", "key", "value", "out"):
        assert standard[f"layers_0.self_attention.{name}"] > 0.5
        assert abs(ours[f"layers_0.self_attention.{name}"]) < 0.25
    for path in ("layers_0", "layers_0.feed_forward.out"):
        assert standard[path] > 0.5
        assert abs(ours[path]) < 0.25
    assert abs(ours["last_residual.norm"]) < 0.25
    assert -0.25 < ours[""] < 0.25 < standard[""], "the logits"


def test_without_a_rate_nothing_moves():
    still = coordinate_changes(vary(at(8, {}), {"optimizer.schedule": Constant(value=1e-30)}))
    assert {"", "layers_0", "layers_0.self_attention.query", "last_residual.norm"} <= still.keys()
    assert not any(still.values())


def test_so_many_updates_are_made():
    """None moves nothing, the first one moves the logits, and the second one moves them on."""
    moved = [coordinate_changes(at(8, {}), steps=steps)[""] for steps in (0, 1, 2)]
    assert moved[0] == 0
    assert 0 < moved[1] != moved[2] > 0
