"""The experiment on norms: each variant is its base but for what its name says."""

from pathlib import Path

import pytest

from attnjax.config.walk import differences
from attnjax.experiment.load import load
from attnjax.models import PostNorm, PreNorm

ABLATION = load(Path(__file__).parents[1] / "experiments" / "normalization.py").ablation


@pytest.mark.parametrize("name", ABLATION.variants)
def test_a_variant_differs_in_what_its_name_says(name):
    words, variant = name.split("_"), ABLATION.variant(name)
    base = ABLATION.variant("post_deep" if "deep" in words else "post_2")
    found = differences(base, variant)
    others = {path: new for path, (_, new) in found.items() if "residual" not in path}
    expected = {"optimizer.schedule.warmup": 1} if "once" in words else {}
    if words[-1].isdigit() and words[-1] != "2":
        expected = {"model.num_layers": int(words[-1])}
    assert others == expected
    assert variant.model.residual == (PostNorm() if "post" in words else PreNorm())
