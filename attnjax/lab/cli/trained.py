"""Trained runs as a command names them: several as one, with the overrides applied."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnjax.config.override import Override
from attnjax.lab.cli.command import Overrides, Trust, count, positional

if TYPE_CHECKING:
    from attnjax.lab.trained.open_run import OpenRun

TRAINED = Overrides(
    of="RUN [RUN ...]",
    epilog="""\
overrides change the search for answers, take heads out, or take measures:
  search:sample --search.temperature 0.7    sample the words, at this temperature
  --model.encoder_layer.self_attention.heads_out 0,3    without heads 0 and 3 of every layer
  measures:heads                            take this measure, too (evaluate)
several runs act as one: each word by the mean of their probabilities.""",
)


@dataclass(frozen=True, kw_only=True)
class TrainedRuns:
    """Trained runs that answer as one, and how they answer."""

    runs: Annotated[tuple[Path, ...], positional("RUN", "a run's folder; several act as one")]
    trust: Trust = False
    max_symbols: Annotated[
        int, count("the most words or subwords of a line; default: 1000", most=10**9)
    ] = 1_000
    beam: Annotated[
        int | None,
        count("the number of hypotheses; 1 is greedy; default: the run's own search", most=1_000),
    ] = None
    overrides: Annotated[tuple[Override, ...], TRAINED] = ()

    def open(self) -> "OpenRun":
        """Open the runs as one, with a warning if a training is not finished."""
        from attnjax.lab.trained.open_run import open

        return open(*self.runs, trust=self.trust, overrides=self.overrides)
