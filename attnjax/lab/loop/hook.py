"""What a training does beside its steps."""

from typing import Any

import numpy as np


class Hook:
    """Something that a training does beside its steps; by default nothing.

    The hooks of a training are called in their order. Values are arrays with an entry for each run.
    """

    def before(self, step: int) -> None:
        """Act before update number `step`, from 1, is dispatched to the devices."""

    def dispatched(self, metrics: Any) -> None:
        """Act once an update is dispatched; the devices may still compute `metrics`."""

    def after(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        """Use the metrics of update number `step`, while the next update runs."""

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        """Use the means over the validation split after each epoch; a hook may add to them."""

    def pause(self) -> None:
        """Act between two updates: after each epoch, and where a save was requested."""

    def close(self) -> None:
        """Release what is held, at the end of the training or after an error."""
