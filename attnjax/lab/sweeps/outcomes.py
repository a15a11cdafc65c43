"""What has become of the groups of a sweep: other processes hold them, or they have failed."""

from collections.abc import Callable, Iterable
from pathlib import Path

from attnjax.errors import Diverged, exhausted
from attnjax.lab.runs.failures import SweepFailures
from attnjax.lab.runs.lease import Lost, Taken
from attnjax.lab.runs.run_folder import has_progress
from attnjax.lab.sweeps.found import VariantRuns
from attnjax.lab.sweeps.groups import Group

type Say = Callable[[str], None]
"""Prints a sentence."""


class Outcomes:
    """What has become of groups that did not finish; those that did have results.

    Attributes:
        held: the runs that other processes train or must finish first, since the last look.
        failed: what has failed during the sweep, here or elsewhere; it is not tried again.
        together: by variant, the most new seeds that train together.
    """

    def __init__(self, failed: SweepFailures, say: Say, *, only: bool) -> None:
        """Begin without any; `only`: there is a single variant, whose only error is raised."""
        self.held: dict[Path, Taken] = {}
        self.failed = failed
        self.together: dict[str, int] = {}
        self._say, self._only = say, only

    def hold(self, folders: Iterable[Path], error: Taken) -> None:
        """Note that another process has runs, or must first finish what they begin with."""
        if isinstance(error, Lost):
            self._say(str(error))
        self.held |= dict.fromkeys(folders, error)

    def fail(self, group: Group, error: Exception) -> None:
        """Record why a group failed; halve the groups of a variant if memory was too small.

        The error is raised if there was nothing else to be run.
        """
        if group.stage.tunes:
            self.fail_tuning(group.stage.variant, error)
        elif not self._halve(group, error):
            folders = dict.fromkeys(group.folders, error)
            errors = error.errors if isinstance(error, Diverged) else folders
            alone = self._only and group.stage.left == errors.keys()
            self.failed.add(errors, aloud=not alone)
            if alone:
                raise error

    def fail_tuning(self, variant: VariantRuns, error: Exception) -> None:
        """Record why a tuning failed. The error is raised if there is no other variant."""
        self.failed.add({variant.folder: error}, aloud=not self._only)
        if self._only:
            raise error

    def _halve(self, group: Group, error: Exception) -> bool:
        """Halve the groups of a variant if one that has not begun needed too much memory."""
        count, variant = len(group.runs), group.stage.variant.name
        # a run that has begun keeps its group
        if not exhausted(error) or count == 1 or any(map(has_progress, group.folders)):
            return False
        self.together[variant] = count // 2
        self._say(
            f"{variant}: {count} seeds together need more memory than there is; {count // 2} are "
            "trained together"
        )
        return True
