"""Trained runs as a command names them: several as one, with the overrides applied."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnjax.config.override import Override
from attnjax.errors import UserError, warn

if TYPE_CHECKING:
    from attnjax.runs.trained import Trained


def open_runs(folders: Sequence[Path], trust: bool, overrides: Sequence[Override]) -> "Trained":
    """Open trained runs as one, with a warning if a training is not finished."""
    heads = [one for one in overrides if one.path.split(".")[-1] == "heads_out"]
    search = [one for one in overrides if one not in heads]
    for one in search:
        if one.path.split(".")[0] != "search":
            raise UserError(
                f"a trained run takes overrides of its search and of heads_out alone; got {one}"
            )
    from attnjax.runs.ensemble import ensemble
    from attnjax.runs.evaluate import overridden
    from attnjax.runs.trained import open_trained

    runs = [overridden(open_trained(folder, trust=trust), heads) for folder in folders]
    for run in runs:
        if not run.finished:
            warn(f"the training of {run.folder} is not finished; these are its results so far:")
    return overridden(ensemble(runs), search)
