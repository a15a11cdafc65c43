"""What a person sees of a training: a bar in a terminal; in a log a line an epoch and a minute."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 60
"""In a log a line is printed at least so often."""


class Display:
    """Shows the mean loss of the runs that train together."""

    def __init__(self, console: Console, bar: Progress, title: str, steps: int) -> None:
        self._console, self._bar, self._title, self._steps = console, bar, title, steps
        self._task = bar.add_task(title, total=steps, loss="", valid="", speed="")
        self._began = self._said = time.monotonic()
        self._first: int | None = None

    def step(self, step: int, loss: float) -> None:
        """The mean loss of a step."""
        self._bar.update(self._task, completed=step, loss=f"loss {loss:.3f}")
        if self._first is None:
            # the first step's time is that of its compilation
            self._began, self._first = time.monotonic(), step
        if time.monotonic() - self._said >= SECONDS_BETWEEN_LINES:
            self._say(f"step {step} of {self._steps}", f"loss {loss:.4g}", self._left(step))

    def speed(self, tokens_per_second: float) -> None:
        """Target tokens a second, of all runs."""
        self._bar.update(self._task, speed=f"{tokens_per_second:,.0f} tokens/s")

    def epoch(
        self, epoch: int, step: int, train: dict[str, np.ndarray], valid: dict[str, np.ndarray]
    ) -> None:
        """The end of an epoch: its training metrics and its validation, a value a run."""
        if valid:
            self._bar.update(self._task, valid=f"valid {valid['loss'].mean():.3f}")
        said = [f"epoch {epoch}", f"step {step} of {self._steps}"]
        said += [f"loss {train['loss'].mean():.4g}"] if train else []
        said += [f"valid {name} {value.mean():.4g}" for name, value in valid.items()]
        said += [f"{train['tokens_per_second'].sum():,.0f} tokens/s"] if train else []
        self._say(*said, self._left(step))

    def _left(self, step: int) -> str:
        """How long the rest takes at the speed so far."""
        if self._first is None or step in (self._first, self._steps):
            return ""
        a_step = (time.monotonic() - self._began) / (step - self._first)
        seconds = a_step * (self._steps - step)
        return f"{seconds / 60:.0f} min left" if seconds >= 60 else f"{seconds:.0f} s left"

    def _say(self, *words: str) -> None:
        """Print a line in a log; a terminal has the bar."""
        if not self._console.is_terminal:
            line = "  ".join(filter(None, (self._title, *words)))
            self._console.print(line, highlight=False, soft_wrap=True, markup=False)
        self._said = time.monotonic()


@contextmanager
def display(console: Console, *, title: str, steps: int) -> Iterator[Display]:
    """A display for a training of so many steps."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}"),
        TextColumn("{task.fields[valid]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield Display(console, bar, title, steps)
