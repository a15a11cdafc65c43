"""What surrounds the steps of a training: a log, saves, checks, a profile."""

from typing import Any

import numpy as np


class Hook:
    """Something that a training does beside its steps; by default nothing.

    The hooks of a training are called in their order. Values are arrays with one entry for each run
    of the group that trains.
    """

    def before(self, step: int) -> None:
        """Is called before update number `step` is handed to the devices, from 1."""

    def dispatched(self, metrics: Any) -> None:
        """Is called when an update was handed to the devices, which may still compute `metrics`."""

    def after(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        """Is called with the metrics of update number `step`, while the next update runs."""

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        """Is called after each epoch, with the means over the validation split, if there is one.

        A hook may add values, which the hooks after it get.
        """

    def pause(self) -> None:
        """Is called between two updates, after each epoch and where a save was asked for."""

    def close(self) -> None:
        """Is called at the end of the training, also after an error."""
