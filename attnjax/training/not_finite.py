"""Losses and gradients that are not finite: the update is skipped, and its batch is kept."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batching import Batch
from attnjax.errors import UserError, first_line
from attnjax.files import replacing

FOLDER = "not_finite"
"""The folder of kept batches, in the run's folder: `step-<n>.npz`, for `attnjax replay RUN <n>`."""

MOST_IN_A_ROW = 10
"""The number of skipped updates in a row after which a run stops."""

MOST_KEPT = 20
"""The number of batches that are kept of a run."""


def skip_unless_finite(before: Any, after: Any, metrics: Mapping[str, jax.Array]) -> Any:
    """The state after an update, but with the values before it if the update is to be skipped.

    An update is skipped if the loss or the norm of the gradient is not finite. Whole numbers are
    always those after it: they are the counts that a schedule of the learning rate goes by.

    Returns:
        The state, and whether the update was skipped, 0.0 or 1.0.
    """
    finite = jnp.isfinite(metrics["loss"]) & jnp.isfinite(metrics["gradient_norm"])

    def keep(new: jax.Array, old: jax.Array) -> jax.Array:
        is_value = jnp.issubdtype(new.dtype, jnp.inexact)
        return jnp.where(finite, new, old) if is_value else new

    return jax.tree.map(keep, after, before), 1.0 - finite.astype(jnp.float32)


def keep_batch(folder: Path, step: int, batch: Batch) -> None:
    """Keep the batch of an update in the run's folder, unless many are there already."""
    kept = folder / FOLDER
    kept.mkdir(exist_ok=True)
    if len(list(kept.iterdir())) < MOST_KEPT:
        with replacing(kept / f"step-{step}.npz") as beside, beside.open("wb") as file:
            np.savez(file, **batch._asdict())


def kept_batch(folder: Path, step: int) -> Batch | None:
    """The batch of an update that was kept; None: it was not.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / FOLDER / f"step-{step}.npz"
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            batch = Batch(**arrays)
    except (OSError, ValueError, TypeError, KeyError, EOFError, zlib.error, BadZipFile) as error:
        raise UserError(f"{path} is damaged: it holds no batch ({first_line(error)})") from error
    if not all(array.dtype.kind in "biuf" for array in batch):
        raise UserError(f"{path} is damaged: its arrays are no numbers")
    return batch
