"""What a person sees of a training: a bar in a terminal, a line an epoch in a log."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Display:
    """Shows the mean loss of the runs that train together."""

    def __init__(self, console: Console, bar: Progress, title: str, steps: int) -> None:
        self._console, self._bar, self._title = console, bar, title
        self._task = bar.add_task(title, total=steps, loss="", valid="", speed="")

    def step(self, step: int, loss: float) -> None:
        """The mean loss of a step."""
        self._bar.update(self._task, completed=step, loss=f"loss {loss:.3f}")

    def speed(self, tokens_per_second: float) -> None:
        """Target tokens a second, of all runs."""
        self._bar.update(self._task, speed=f"{tokens_per_second:,.0f} tokens/s")

    def epoch(
        self, epoch: int, step: int, train: dict[str, np.ndarray], valid: dict[str, np.ndarray]
    ) -> None:
        """The end of an epoch: its last training metrics and its validation, a value a run."""
        if valid:
            self._bar.update(self._task, valid=f"valid {valid['loss'].mean():.3f}")
        if not self._console.is_terminal:
            said = [f"{self._title}  epoch {epoch}  step {step}"]
            said += [f"{name} {train[name].mean():.4g}" for name in ("loss",) if name in train]
            said += [f"valid {name} {value.mean():.4g}" for name, value in valid.items()]
            said += [f"{train['tokens_per_second'].sum():,.0f} tokens/s"] if train else []
            self._console.print("  ".join(said), highlight=False, soft_wrap=True)


@contextmanager
def display(console: Console, *, title: str, steps: int) -> Iterator[Display]:
    """A display for a training of so many steps."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}"),
        TextColumn("{task.fields[valid]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield Display(console, bar, title, steps)
