"""A trace of a few steps, which opens in Perfetto (ui.perfetto.dev) and in TensorBoard."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import jax

from attnjax.training.loop.hook import Hook

FOLDER = "profile"
"""The trace's folder, in the folder of the group's first run."""

STEPS_BEFORE = 2
"""The steps before the trace: the first compiles."""

NAME = "update"
"""The name of a step in the trace; its number stands beside it."""


class Profile(Hook):
    """Traces a few steps of a training, and no more."""

    def __init__(self, folder: Path, steps: int) -> None:
        """Trace `steps` steps into a folder in the run's `folder`; 0: nothing is traced."""
        self._folder, self._steps, self._seen, self._running = folder / FOLDER, steps, 0, False
        self._traced: AbstractContextManager[Any] = nullcontext()

    def before(self, step: int) -> None:
        if self._steps and self._seen == STEPS_BEFORE:
            jax.profiler.start_trace(self._folder, create_perfetto_trace=True)
            self._running = True
        self._seen += 1
        if self._running:
            self._traced = jax.profiler.StepTraceAnnotation(NAME, step_num=step)
        self._traced.__enter__()

    def dispatched(self, metrics: Any) -> None:
        self._traced.__exit__(None, None, None)
        if self._running and self._seen >= STEPS_BEFORE + self._steps:
            jax.block_until_ready(metrics)
            self.close()

    def close(self) -> None:
        if self._running:
            jax.profiler.stop_trace()
            self._running, self._steps, self._traced = False, 0, nullcontext()
