"""What the processes of a training ask for between two steps: to save, or to end for a signal."""

from collections.abc import Callable

from attnjax.training.devices import hosts
from attnjax.training.loop.interruption import Interruption

NOTHING, SAVE = 0, 1
"""What a process asks for; a greater number is that of a signal, which means to save, too."""


class Requests:
    """What one process asks for, all processes do, at the same step.

    A process that is alone hears a signal at once. Several compare their requests after every step,
    and learn the result a step later: then nobody has waited for it.
    """

    def __init__(self, noticed: Interruption) -> None:
        self._noticed, self._heard = noticed, NOTHING
        self._asked: Callable[[], int] | None = None

    @property
    def signal(self) -> int | None:
        """The signal that all processes end for; None: they go on."""
        if hosts.count() == 1:
            return self._noticed.signal
        return self._heard if self._heard > SAVE else None

    @property
    def save(self) -> bool:
        """Whether all processes save now."""
        return self._heard != NOTHING or self.signal is not None

    def compare(self, *, save: bool, wait: bool) -> None:
        """Compare this process's requests with the others'; all processes call it.

        `save` asks for a save. Without `wait` the result is that of the call before.
        """
        asked = hosts.begin_to_agree(self._noticed.signal or (SAVE if save else NOTHING))
        if wait or hosts.count() == 1:
            before, self._asked = asked, None
        else:
            before, self._asked = self._asked, asked
        self._heard = NOTHING if before is None else before()

    def saved(self) -> None:
        """Forget the request for a save, which has been met."""
        self._asked = None
        if self._heard == SAVE:
            self._heard = NOTHING
