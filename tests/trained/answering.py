"""The answers of a run that is not opened by `attnjax.open`."""

from collections.abc import Sequence

from attnjax.lab.trained.open_run import OpenRun
from attnjax.lab.trained.trained_run import Trained


def translate(trained: Trained, lines: Sequence[str], *, beam: int | None = None) -> list[str]:
    return OpenRun(**vars(trained)).translate(lines, beam=beam)
