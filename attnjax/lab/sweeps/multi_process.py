"""Training in several processes: the first has the runs' folders, the others take part.

The first process runs the command. It announces each training to the others; they train with the
data of their own machine, get the state of every run from the first, and write nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnjax.config.console import PlainConsole
from attnjax.config.serialize import from_json, to_json
from attnjax.data.corpus import Corpus
from attnjax.data.loaded import Corpora
from attnjax.errors import Interrupted, MachineError
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.lab.loop.loop import train
from attnjax.lab.loop.run_state import Run
from attnjax.lab.sweeps.finish import validation_score
from attnjax.training.devices import hosts
from attnjax.training.train_setup import TrainSetup


@contextmanager
def announced(
    experiment: Experiment,
    corpus: Corpus,
    setup: TrainSetup,
    loaded: ExperimentFile,
    runs: Sequence[Run],
    *,
    stacked: bool | None,
) -> Iterator[None]:
    """Announce a training to the other processes, which train the same; for one process nothing.

    The experiment is resolved; `setup`, `runs` and `stacked` are those of `train`.
    """
    if hosts.count() > 1:
        announcement = {
            "experiment": to_json(experiment, loaded.own),
            "seeds": [*setup.own],
            "data": _digests(corpus, setup.own),
            "runs": [
                vars(run)
                | {"folder": str(run.folder), "schedule": to_json(run.schedule, loaded.own)}
                for run in runs
            ],
            "stacked": stacked,
        }
        hosts.broadcast_json(announcement)
    with _failing_together():
        yield


def no_more_trainings() -> None:
    """Tell the other processes that nothing is left to be trained."""
    hosts.broadcast_json(None)


def follow(loaded: ExperimentFile) -> None:
    """Take part in the trainings that the first process announces, until there are no more."""
    corpora = Corpora()
    while (announcement := hosts.broadcast_json()) is not None:
        try:
            with _failing_together():
                _train(announcement, loaded, corpora)
        except (Interrupted, MachineError):
            raise
        except Exception:
            continue  # the first process reports it, and may have more to train


def _train(announcement: dict[str, Any], loaded: ExperimentFile, corpora: Corpora) -> None:
    own = loaded.own
    experiment: Experiment = from_json(announcement["experiment"], own)
    corpus = corpora.of(experiment.task)
    if _digests(corpus, announcement["seeds"]) != announcement["data"]:
        raise MachineError(
            f"the data of {type(experiment.task).__name__} differ from those of process 0: every "
            "machine needs the same files"
        )
    runs = [
        Run(**run | {"folder": Path(run["folder"]), "schedule": from_json(run["schedule"], own)})
        for run in announcement["runs"]
    ]
    setup = TrainSetup.of(experiment.recipe, corpus).of_seeds(corpus, announcement["seeds"])
    score = validation_score(experiment, corpus)
    train(
        runs, setup, console=PlainConsole(quiet=True), stacked=announcement["stacked"], score=score
    )


@contextmanager
def _failing_together() -> Iterator[None]:
    """Refuse to go on after an error that has not come to all processes."""
    try:
        yield
    except (Interrupted, MachineError):
        raise
    except Exception as error:
        if hosts.all_failed():
            raise
        raise hosts.gone(error) from error


def _digests(corpus: Corpus, seeds: Iterable[int]) -> list[str]:
    """Return the digests of everything a training reads; `seeds` are those with their own data."""
    corpora = [corpus, *map(corpus.of_seed, seeds)]
    splits = [data.digest(split) for data in corpora for split in ("train", "valid")]
    return [corpus.vocabularies.digest, *splits]
