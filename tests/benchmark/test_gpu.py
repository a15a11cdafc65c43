import jax.numpy as jnp
import pytest

from attnjax.benchmark import attention, gpu
from attnjax.errors import UserError


def test_without_a_gpu_nothing_is_timed():
    with pytest.raises(UserError, match="this benchmark needs a GPU; JAX found"):
        gpu.main(None)


def test_attention_of_several_rows_in_half_precision():
    done = attention.prepare(16, rows=2, heads=3, dtype="bfloat16")
    for gradient in done.call():
        assert gradient.shape == (2, 3, 16, attention.WIDTH)
        assert gradient.dtype == jnp.bfloat16
        assert jnp.isfinite(gradient.astype(jnp.float32)).all()
    assert done.flops == 6 * attention.prepare(16, heads=1).flops


def test_each_length_has_as_many_tokens():
    for length in gpu.LENGTHS:
        peer = gpu.attended(length).peer
        assert peer
        _, of, rows, heads, platform, dtype = peer
        assert int(of) * int(rows) == gpu.TOKENS
        assert (int(heads), platform, dtype) == (gpu.HEADS, "cuda", "bfloat16")
