"""Today's attentions in float32 and bfloat16: as near as docs/batches.md says."""

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.around import TalkingHeads
from attnjax.attention.align.base import AdaptiveTemperature
from attnjax.attention.align.open import OffByOne, Sigmoid, Sink, Softpick, StickBreaking
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.heads.differential import DifferentialHeads
from attnjax.attention.heads.gate import OutputGate
from attnjax.attention.heads.latent import LatentAttention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.heads.selective import SelectiveHeads
from attnjax.attention.mask import Causal
from attnjax.attention.score.bias import Forgetting
from attnjax.attention.score.bucketed import Bucketed
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.score.positional import Rotary
from attnjax.attention.score.rotary_scaling import Yarn
from attnjax.attention.state.decay import FeatureDecay, HeadDecay, SigmoidDecay, WordDecay
from attnjax.attention.state.recurrent import DecayedState, DeltaRule, SignedLinearAttention
from attnjax.nn.norm import RMSNorm

B, T, D = 2, 80, 16
"""More words than a chunk of a recurrence."""

PAGE = Path(__file__).parents[2] / "docs" / "batches.md"


def heads(head: AttentionBase, **options: Any) -> MultiHead:
    return MultiHead(head=head, heads=2, **options)


VARIANTS: dict[str, AttentionBase] = {
    "softmax": heads(Attention()),
    "query-key norm, gated output": heads(Attention(), query_key_norm=RMSNorm(), gate=OutputGate()),
    "sink": heads(Attention(align=Sink())),
    "off by one": heads(Attention(align=OffByOne())),
    "soft cap": heads(Attention(score=SoftCap(cap=2.0))),
    "YaRN": heads(Attention(score=Rotary(scaling=Yarn(trained_length=8)))),
    "buckets": heads(Attention(score=Bucketed(buckets=8, most=16))),
    "sigmoid": heads(Attention(align=Sigmoid())),
    "softpick": heads(Attention(align=Softpick())),
    "stick breaking": heads(Attention(align=StickBreaking())),
    "adaptive temperature": heads(Attention(align=AdaptiveTemperature())),
    "talking heads": heads(Attention(align=TalkingHeads())),
    "forgetting": heads(Attention(bias=Forgetting())),
    "selective": SelectiveHeads(heads=2),
    "differential": DifferentialHeads(heads=2),
    "latent": LatentAttention(heads=2, latent_width=6, rotary_width=4),
    "Taylor features": heads(SignedLinearAttention()),
    "retention": heads(DecayedState(decay=HeadDecay())),
    "gated linear attention": heads(DecayedState(decay=SigmoidDecay(rank=2))),
    "Mamba-2": heads(DecayedState(decay=WordDecay(discretized=True))),
    "delta rule": heads(DeltaRule()),
    "gated delta rule, strength to 2": heads(DeltaRule(decay=WordDecay(), largest_strength=2.0)),
    "a decay for each feature": heads(DeltaRule(decay=FeatureDecay())),
}
OFTEN = "softmax", "Taylor features", "gated delta rule, strength to 2"


def errors(module: AttentionBase) -> dict[str, float]:
    """By dtype: how far contexts or the input's gradients are from float64, of the largest."""
    draw = np.random.default_rng(0).normal
    x, direction = (jnp.asarray(draw(size=(B, T, D)), jnp.bfloat16) for _ in range(2))
    mask = Causal()

    @jax.jit
    def read(x: Any, direction: Any) -> Any:
        params = module.init(jax.random.key(0), x, mask=mask, deterministic=True)["params"]
        # the same numbers in each dtype: what rounding the inputs costs is not counted
        params = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), params)

        def of(dtype: Any) -> Any:
            own = jax.tree.map(lambda leaf: leaf.astype(dtype), params)

            def total(x: Any) -> Any:
                context: Any = module.apply({"params": own}, x, mask=mask, deterministic=True)
                wide = context.astype(jnp.promote_types(dtype, jnp.float32))
                return (wide * direction.astype(wide.dtype)).sum(), context

            slope, context = jax.grad(total, has_aux=True)(x.astype(dtype))
            return context.astype(jnp.float64), slope.astype(jnp.float64)

        return {str(jnp.dtype(dtype)): of(dtype) for dtype in ("float64", "float32", "bfloat16")}

    found = jax.device_get(read(x, direction))
    exact = found.pop("float64")
    return {
        dtype: max(
            float(abs(numbers - right).max() / abs(right).max())
            for numbers, right in zip(pair, exact, strict=True)
        )
        for dtype, pair in found.items()
    }


def bounds() -> dict[str, tuple[float, float]]:
    """The table of the page: by variant the bounds of float32 and bfloat16."""
    rows = re.findall(r"^\| ([^|]+) \| ([\d.e-]+) \| ([\d.]+) % \|$", PAGE.read_text(), re.M)
    return {name: (float(wide), float(narrow) / 100) for name, wide, narrow in rows}


def test_the_page_has_every_variant():
    assert list(bounds()) == list(VARIANTS)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.long) for name in VARIANTS],
)
def test_narrow_numbers_are_as_near_as_the_page_says(name, float64):
    of_float32, of_bfloat16 = bounds()[name]
    found = errors(VARIANTS[name])
    assert found["float32"] <= of_float32
    assert found["bfloat16"] <= of_bfloat16
