"""The objective of self-attentive sentence embeddings, with a penalty on redundant hops."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from attnjax.config.constraints import DropoutRate, NonNegativeFloat
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.nn.lift import sown
from attnjax.training.objectives.base import CrossEntropy, Key, Totals, features_of, streams


@dataclass(frozen=True, kw_only=True)
class RedundancyPenalty(CrossEntropy):
    """The cross entropy of labels plus a penalty on hops that attend to the same words.

        loss = cross entropy + penalty ||A A^T - I||_F^2

    A are a text's weights, a row a hop. The mean over texts of ||A A^T - I||_F^2, without the
    factor, is given beside as "redundancy".

    Raises:
        UserError: no attention of the model sows its redundancy, as `SelfAttentive` does.

    Source: Lin et al. 2017, section 2.2, eq. 8.
    """

    smoothing: DropoutRate = 0.0
    penalty: NonNegativeFloat = 1.0

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        (hidden, table), seen = features_of(
            model, params, batch, streams(key), mutable=["objective"]
        )
        totals = self.totals(hidden, table, batch.target)
        redundancies = sown(seen, "objective", "redundancy")
        if not redundancies:
            raise UserError(
                "RedundancyPenalty wants an attention with several hops, such as SelfAttentive; "
                f"{type(model).__name__} has none"
            )
        loss, labels = totals["loss"]
        present = (batch.target != PAD).astype(loss.dtype)
        redundancy = sum((rows * present).sum() for rows in redundancies)
        totals["redundancy"] = jnp.asarray(redundancy), labels
        return totals | {"loss": (loss + self.penalty * redundancy, labels)}
