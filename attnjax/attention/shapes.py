"""The shapes of an attention's arrays, as types, in the letters of `attnjax`.

Leading axes, *B, broadcast: heads may share keys, and examples a mask. Tests check the shapes of
all arguments and results of a call against each other; elsewhere they cost nothing.
"""

from jaxtyping import Array, Bool, Float

Queries = Float[Array, "*#B T Q"]
OneQuery = Float[Array, "*#B 1 Q"]
Keys = Float[Array, "*#B S K"]
Values = Float[Array, "*#B S V"]
Logits = Float[Array, "*#B T S"]
Weights = Float[Array, "*#B T S"]
Contexts = Float[Array, "*#B T V"]
Allowed = Bool[Array, "*#B #T #S"]
"""True = attend; None, where it may be given, allows everything."""
