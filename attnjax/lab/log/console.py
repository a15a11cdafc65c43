"""The progress of a training: a bar in a terminal, or a line per epoch and per minute in a log."""

import time

import numpy as np
from rich.console import Console

from attnjax.config.console import bars, print_line

SECONDS_BETWEEN_LINES = 60  # the longest time without a line in a log


class Display:
    """Shows the mean loss and the total speed of runs that train together, until it is closed."""

    def __init__(self, console: Console, *, title: str, steps: int) -> None:
        self._console, self._title, self._steps = console, title, steps
        self._bar = bars(console)
        self._task = self._bar.add_task(title, total=steps, loss="", valid="", speed="")
        self._bar.start()
        self._last = time.monotonic()

    def close(self) -> None:
        self._bar.stop()

    def step(self, step: int, losses: np.ndarray) -> None:
        loss, of = losses.mean(), _mean_of(losses)
        if step < self._bar.tasks[0].completed:  # runs that stood at another step follow
            self._bar.reset(self._task)
        self._bar.update(self._task, completed=step, loss=f"loss {loss:.3f} {of}".rstrip())
        if time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._say(f"step {step} of {self._steps}", f"loss {loss:.4g}", of, self._left(step))

    def speed(self, tokens_per_second: float) -> None:
        self._bar.update(self._task, speed=f"{tokens_per_second:,.0f} tokens/s")

    def epoch(
        self, epoch: int, step: int, train: dict[str, np.ndarray], valid: dict[str, np.ndarray]
    ) -> None:
        """Show the end of an epoch: its training and validation metrics, a value for each run."""
        if valid:
            self._bar.update(self._task, valid=f"valid {valid['loss'].mean():.3f}")
        words = [f"epoch {epoch}", f"step {step} of {self._steps}"]
        words += [f"loss {train['loss'].mean():.4g}"] if train else []
        words += [f"valid {name} {value.mean():.4g}" for name, value in valid.items()]
        words += [_mean_of(train.get("loss", valid.get("loss", np.zeros(1))))]
        words += [f"{train['tokens_per_second'].sum():,.0f} tokens/s"] if train else []
        self._say(*words, self._left(step))

    def _left(self, step: int) -> str:
        """Return the estimated time left, in words; "" before the speed is known."""
        seconds = self._bar.tasks[0].time_remaining
        if seconds is None or step == self._steps:
            return ""
        return f"{seconds / 60:.0f} min left" if seconds >= 60 else f"{seconds:.0f} s left"

    def _say(self, *words: str) -> None:
        """Print a line, unless the console is a terminal, which shows the bar."""
        if not self._console.is_terminal:
            line = "  ".join(filter(None, (self._title, *words)))
            print_line(self._console, line)
        self._last = time.monotonic()


def _mean_of(values: np.ndarray) -> str:
    """Return a note beside a mean over the seeds that train together; "" for a single seed."""
    return f"(mean of {values.size} seeds)" if values.size > 1 else ""
