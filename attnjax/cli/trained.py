"""Trained runs as a command names them: several as one, with the overrides applied."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnjax.cli.command import Overrides, Trust, option, positional, whole_number
from attnjax.config.override import Override
from attnjax.errors import UserError, warn

if TYPE_CHECKING:
    from attnjax.trained.trained_run import Trained

TRAINED = Overrides(
    of="RUN [RUN ...]",
    epilog="""\
overrides change the search for answers, or take heads out:
  search:sample --search.temperature 0.7    sample the words, at this temperature
  --model.encoder_layer.self_attention.heads_out 0,3    without heads 0 and 3 of every layer
several runs act as one: each word by the mean of their probabilities.""",
)
"""The help of overrides that change how a trained run answers."""


@dataclass(frozen=True, kw_only=True)
class TrainedRuns:
    """Trained runs that answer as one, and how they answer."""

    runs: Annotated[tuple[Path, ...], positional("RUN", "a run's folder; several act as one")]
    trust: Trust = False
    max_symbols: Annotated[
        int,
        option(
            "the most words or subwords of a line; default: 1000", "N", read=whole_number(10**9)
        ),
    ] = 1_000
    beam: Annotated[
        int | None,
        option(
            "the number of hypotheses; 1 is greedy; default: the run's own search",
            "N",
            read=whole_number(10_000),
        ),
    ] = None
    overrides: Annotated[tuple[Override, ...], TRAINED] = ()

    def open(self) -> "Trained":
        """Open the runs as one, with a warning if a training is not finished."""
        heads = [each for each in self.overrides if each.path.split(".")[-1] == "heads_out"]
        search = [each for each in self.overrides if each not in heads]
        for each in search:
            if each.path.split(".")[0] != "search":
                raise UserError(
                    "a trained run takes overrides of its search and of heads_out alone; "
                    f"got {each}"
                )
        from attnjax.trained.ensembles import ensemble
        from attnjax.trained.evaluate import with_overrides
        from attnjax.trained.trained_run import open_trained

        opened = [open_trained(folder, trust=self.trust) for folder in self.runs]
        runs = [with_overrides(run, heads) for run in opened]
        for run in runs:
            if not run.finished:
                warn(f"the training of {run.folder} is not finished; these are its results so far:")
        return with_overrides(ensemble(runs), search)
