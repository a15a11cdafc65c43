"""The platform that a program is compiled for is known within a block, and forgotten after it."""

import jax
import pytest

from attnjax.nn.platform import compiled_for, is_for_one_device, platform_of, platforms


def test_a_block_names_the_platform():
    with compiled_for("tpu"):
        assert platforms() == ("tpu",)
        assert is_for_one_device("tpu")
        with compiled_for("cuda"):
            assert platforms() == ("cuda",)
        assert platforms() == ("tpu",)
    assert "cpu" in platforms()
    assert not is_for_one_device("cpu")  # the tests have eight


def test_it_is_forgotten_after_an_error():
    with pytest.raises(RuntimeError), compiled_for("tpu"):
        raise RuntimeError
    assert "cpu" in platforms()


def test_the_platform_of_a_device():
    assert platform_of(jax.devices("cpu")[0]) == "cpu"
