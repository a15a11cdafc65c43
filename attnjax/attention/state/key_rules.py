"""What a mask says of keys alone, for an attention that computes no weights."""

from functools import reduce
from operator import and_, or_
from typing import NamedTuple

import jax
import jax.numpy as jnp

from attnjax.attention.mask import Causal, Mask, Padding, Segments
from attnjax.errors import UserError


class KeyRules(NamedTuple):
    """What a mask says.

    Attributes:
        present: the keys [..., S] that are not padding; None: all.
        starts: the words [..., S] that begin another sentence of the row; None: there is one.
        causal: whether a query sees the words up to its own alone.
    """

    present: jax.Array | None
    starts: jax.Array | None
    causal: bool


def key_rules(mask: Mask, owner: str, *, packs: bool) -> KeyRules:
    """Return what a mask says, or refuse it in its owner's name.

    The rules are `Padding` and `Causal`, and `Segments` if the owner `packs`.
    """
    present, starts, causal = [], [], False
    for rule in mask.rules():
        match rule:
            case Padding():
                present.append(rule.present)
            case Segments() if packs:
                starts.append(_starts(rule))
            case Causal():
                causal = True
            case _:
                takes = "Padding, Causal and Segments" if packs else "Padding and Causal"
                raise UserError(
                    f"{owner} takes the masks {takes}, which need no weights; "
                    f"got {type(rule).__name__}: use Attention"
                )
    return KeyRules(
        reduce(and_, present) if present else None, reduce(or_, starts) if starts else None, causal
    )


def _starts(rule: Segments) -> jax.Array:
    """Return booleans [..., S], True for the first word of each segment but the row's first."""
    segment = rule.key
    return jnp.pad(segment[..., 1:] != segment[..., :-1], [*[(0, 0)] * (segment.ndim - 1), (1, 0)])
