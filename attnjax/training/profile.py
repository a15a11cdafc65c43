"""A trace of a few steps, which opens in Perfetto (ui.perfetto.dev) and in TensorBoard."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import jax

FOLDER = "profile"
"""The trace's folder, in the folder of the group's first run."""

STEPS_BEFORE = 2
"""The steps before the trace: the first compiles."""

NAME = "update"
"""The name of a step in the trace; its number stands beside it."""


class Profile:
    """Traces a few steps of a training, and no more."""

    def __init__(self, folder: Path, steps: int) -> None:
        """Trace `steps` steps into a folder in the run's `folder`; 0: nothing is traced."""
        self._folder, self._steps, self._seen, self._running = folder / FOLDER, steps, 0, False

    def step(self, number: int) -> AbstractContextManager[Any]:
        """The context of an update."""
        if self._steps and self._seen == STEPS_BEFORE:
            jax.profiler.start_trace(self._folder, create_perfetto_trace=True)
            self._running = True
        self._seen += 1
        if not self._running:
            return nullcontext()
        return jax.profiler.StepTraceAnnotation(NAME, step_num=number)

    def stop(self, result: Any = None) -> None:
        """End the trace, after its last step's `result` or, without a result, at once."""
        if self._running and (result is None or self._seen >= STEPS_BEFORE + self._steps):
            jax.block_until_ready(result)
            jax.profiler.stop_trace()
            self._running, self._steps = False, 0
