"""What the layers of a stack hand on to those above."""

from dataclasses import dataclass, field
from typing import Any

import jax

from attnjax.errors import UserError


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class Carried:
    """What layers hand on: a layer is given it from below, and returns it for the layer above.

    A layer replaces the fields that it knows and passes on the others. It is an argument and a
    result, not a sown collection: that would be lost under `apply({"params": ...})`. Arrays lead
    with the axes of the layer's input, so that `jax.tree.map` cuts all of them to one word.

    Attributes:
        values: projected values [..., S, G, V] of the first layer that mixes them; None: no layer
            up to here does.
        share: of `values` in those of the attention that it is given to, which each layer sets for
            its own; None: the attention's values are its own.
    """

    values: jax.Array | None = None
    share: float | None = field(default=None, metadata={"static": True})

    def options(self) -> dict[str, Any]:
        """Return itself as an option of `prepare`; none for an attention that mixes nothing."""
        return {} if self.share is None else {"carried": self}

    def mixed_into(self, own: jax.Array) -> jax.Array:
        """Return (1 - share) own + share values, of one shape.

        Raises:
            UserError: the values are of other heads than its own.
        """
        if self.share is None or self.values is None:
            return own
        if self.values.shape != own.shape:
            raise UserError(
                "a value residual wants layers with as many heads of keys, as wide, as the first: "
                f"{list(self.values.shape[-2:])}; got {list(own.shape[-2:])}"
            )
        return (1 - self.share) * own + self.share * self.values
