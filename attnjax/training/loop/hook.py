"""What a training does beside its steps."""

from typing import Any

import numpy as np


class Hook:
    """Something that a training does beside its steps; by default nothing.

    The hooks of a training are called in their order. Values are arrays with an entry for each run.
    """

    def before(self, step: int) -> None:
        """Before update number `step` is handed to the devices, from 1."""

    def dispatched(self, metrics: Any) -> None:
        """When an update was handed to the devices, which may still compute `metrics`."""

    def after(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        """With the metrics of update number `step`, while the next update runs."""

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        """After each epoch, with the means over the validation split; a hook may add to them."""

    def pause(self) -> None:
        """Between two updates, after each epoch and where a save was asked for."""

    def close(self) -> None:
        """At the end of the training, also after an error."""
