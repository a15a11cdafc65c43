"""What tests of the loop share."""

from collections.abc import Iterator
from typing import Any

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile each program once: the tests here run a few programs many times."""
    folder = str(tmp_path_factory.mktemp("compiled"))
    settings = {
        "jax_compilation_cache_dir": folder,
        "jax_persistent_cache_min_compile_time_secs": 0,
    }
    before = {name: getattr(jax.config, name) for name in settings}

    def configure(values: dict[str, Any]) -> None:
        for name, value in values.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()

    configure(settings)
    yield
    configure(before)
