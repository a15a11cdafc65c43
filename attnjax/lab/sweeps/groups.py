"""Groups: runs of a variant that train together, in one program."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus, Task
from attnjax.data.loaded import Corpora
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.experiment import Experiment
from attnjax.lab.loop.run_state import TrainResult
from attnjax.lab.runs.provenance import Code
from attnjax.lab.sweeps.costs import costs
from attnjax.lab.sweeps.found import VariantRuns
from attnjax.lab.sweeps.plan import RunSpec
from attnjax.training.train_setup import TrainSetup

SCHEDULE = "optimizer.schedule"
"""The part that may differ between runs of one program."""


@dataclass(frozen=True)
class Trainable:
    """A resolved experiment with its data, cut into batches."""

    experiment: Experiment
    data: Corpus
    setup: TrainSetup

    @cached_property
    def cost(self) -> TrainingCost:
        """The cost of a run."""
        return costs(self.setup.recipe, self.data, self.setup.plan).training


class Trainables:
    """Experiments with their data, each resolved once.

    Batches are made once for all experiments that cut the same data alike; those of the latest
    data alone are held.
    """

    def __init__(self, corpora: Corpora) -> None:
        self._corpora = corpora
        self._cut: tuple[Task, Batching] | None = None
        self._made: dict[Experiment, Trainable] = {}

    def of(self, experiment: Experiment) -> Trainable:
        """Return an experiment, resolved, with its data."""
        cut = experiment.task, experiment.training.batching
        if cut != self._cut:
            self._cut, self._made = cut, {}
        if experiment not in self._made:
            data = self._corpora.of(experiment.task)
            resolved = experiment.resolve(data)
            recipe, alike = resolved.recipe, next(iter(self._made.values()), None)
            setup = TrainSetup.of(recipe, data) if alike is None else alike.setup
            self._made[experiment] = Trainable(resolved, data, replace(setup, recipe=recipe))
        return self._made[experiment]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Runs of a variant of which none waits for another: those that tune it, or seeds at a point.

    Attributes:
        title: the variant's name while it is trained, and the point's.
        left: the folders of the runs that were not finished when the stage began.
        tunes: whether the lowest validation loss is chosen, and nothing is decoded.
    """

    variant: VariantRuns
    runs: Sequence[RunSpec]
    title: str
    left: Set[Path]
    tunes: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs of a stage that train together; each names all of its group."""

    stage: Stage
    runs: Sequence[RunSpec]
    trainable: Trainable = field(compare=False, repr=False)

    @cached_property
    def folders(self) -> list[Path]:
        return [run.folder for run in self.runs]

    @cached_property
    def title(self) -> str:
        """The variant and, where they are not all of its stage, the point or the seeds."""
        points = {run.folder.parent for run in self.runs}
        if len(self.runs) == len(self.stage.runs) or len(points) > 1:
            return self.stage.title
        (point,) = points
        words = [self.stage.title, *([point.name] if self.stage.tunes else [])]
        if len(self.runs) < sum(run.folder.parent == point for run in self.stage.runs):
            seeds = [str(run.seed) for run in self.runs]
            words.append(f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}")
        return ", ".join(words)


class TrainedGroup(NamedTuple):
    """The result of each run of a group, the setup that they had, and the code that began them."""

    outcomes: Sequence[TrainResult]
    setup: TrainSetup
    code: Code
