"""A trace of a few steps, which opens in Perfetto (ui.perfetto.dev) and in TensorBoard."""

from pathlib import Path
from typing import Any

import jax

from attnjax.training.loop.trainer import Hook

FOLDER = "profile"  # in the folder of the group's first run
STEPS_BEFORE = 2  # the steps before the trace: the first compiles


class Profile(Hook):
    """Traces a few steps of a training, and no more."""

    def __init__(self, folder: Path, steps: int) -> None:
        self._folder, self._steps, self._seen, self._running = folder / FOLDER, steps, 0, False

    def before(self, step: int) -> None:
        if self._steps and self._seen == STEPS_BEFORE:
            jax.profiler.start_trace(self._folder, create_perfetto_trace=True)
            self._running = True
        self._seen += 1

    def dispatched(self, metrics: Any) -> None:
        if self._running and self._seen == STEPS_BEFORE + self._steps:
            jax.block_until_ready(metrics)
            self.close()

    def close(self) -> None:
        if self._running:
            jax.profiler.stop_trace()
            self._running = False
