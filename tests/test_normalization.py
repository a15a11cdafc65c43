"""The experiment on norms: each variant is the base but for what its name says."""

from pathlib import Path

import pytest

from attnjax.config.walk import differences
from attnjax.experiment.load import load
from attnjax.models import PostNorm, PreNorm
from attnjax.nn import BatchNorm, LayerNorm, NoNorm, RMSNorm

ABLATION = load(Path(__file__).parents[1] / "experiments" / "normalization.py").ablation
NORMS = {"rms": RMSNorm(), "batch": BatchNorm()}


@pytest.mark.parametrize("name", ABLATION.variants)
def test_a_variant_differs_in_what_its_name_says(name):
    model, words = ABLATION.variant(name).model, name.split("_")
    norm = next((norm for word, norm in NORMS.items() if word in words), LayerNorm())
    residual = PostNorm(norm=norm) if "post" in words else PreNorm(norm=norm)
    assert model.residual == (PreNorm(norm=NoNorm()) if name == "none" else residual)
    found = differences(ABLATION.base, ABLATION.variant(name))
    others = {path: new for path, (_, new) in found.items() if "residual" not in path}
    expected = {}
    if "deep" in words:
        expected |= {"model.num_encoder_layers": 4, "model.num_decoder_layers": 4}
    if "once" in words:
        expected |= {"optimizer.schedule.warmup": 1}
    assert others == expected
