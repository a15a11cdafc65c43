"""The checkpoints of a run as a list: how far each is, why it is kept, whether it is whole."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from attnjax.config.serialize import from_json
from attnjax.errors import UserError
from attnjax.files import folder_size
from attnjax.lab.checkpoints.checkpoint import FOLDER, Checkpoints
from attnjax.lab.checkpoints.retention import reasons
from attnjax.lab.checkpoints.snapshot import RunProgress
from attnjax.lab.runs.manifest import read
from attnjax.training.settings import Training


@dataclass(frozen=True, kw_only=True)
class ListedCheckpoint:
    """A checkpoint of a run, and the reasons why it is kept.

    Attributes:
        name: the name of its folder: the step, or `<step>.corrupt` for one that is kept aside.
        progress: the run's progress; None: the checkpoint is damaged.
        size: the number of bytes of its files.
        damage: what is wrong with it, in words; None: it is whole.
        aside: whether it was kept aside, so that a training does not use it.
    """

    name: str
    progress: RunProgress | None = None
    size: int
    reasons: Sequence[str]
    damage: str | None
    aside: bool = False


def listed(folder: Path) -> list[ListedCheckpoint]:
    """List the checkpoints of the run in a folder, the earliest first; nothing is changed.

    Every file is read, and compared with the digest that was written when it was saved.
    """
    training = from_json(read(folder).settings["training"])
    if not isinstance(training, Training):
        raise UserError(f"{folder} is damaged: its settings have no training")
    if not (folder / FOLDER).is_dir():
        raise UserError(f"{folder} has no {FOLDER}: its training has not begun")
    try:
        return [*_kept(folder, training), *map(_aside, sorted((folder / FOLDER).glob("*.corrupt")))]
    except FileNotFoundError as error:
        raise UserError(
            f"{folder} is being trained, and a checkpoint was replaced by a later one: try again"
        ) from error


def _kept(folder: Path, training: Training) -> Iterator[ListedCheckpoint]:
    """List the checkpoints that a training goes on from, or that its result is made of."""
    with closing(Checkpoints(folder, only_read=True)) as checkpoints:
        damage = {step: checkpoints.damage(step) for step in checkpoints.steps}
        progress = {step: checkpoints.progress(step) for step in damage if not damage[step]}
    why = reasons(progress, training)
    for step in damage:
        yield ListedCheckpoint(
            name=str(step),
            progress=progress.get(step),
            size=folder_size(folder / FOLDER / str(step)),
            reasons=why.get(step, ()),
            damage=damage[step],
        )


def _aside(path: Path) -> ListedCheckpoint:
    """Return the entry of a corrupt checkpoint that a training has set aside."""
    return ListedCheckpoint(
        name=path.name,
        size=folder_size(path),
        reasons=("to be looked at",),
        damage="it is corrupt",
        aside=True,
    )
