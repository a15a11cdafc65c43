"""The shapes of a model's arrays, as types, in the letters of `attnjax`; tests check them.

In a step of a search T is K, the hypotheses of a sentence.
"""

from typing import Any

from jaxtyping import Array, Bool, Float, Int, Shaped

Source = Shaped[Array, "B ..."]
"""Words [B, S], points [B, S, D+1] or images [B, height, width, channels]."""
Text = Int[Array, "B S"]
Words = Int[Array, "B T"]
Present = Bool[Array, "B S"]
"""True = a word, False = padding."""
Embedded = Float[Array, "B S D"]
Features = tuple[Float[Array, "B T D"], Float[Array, "V D"]]
"""Hidden vectors and the output embedding, whose product is the logits."""
Step = Int[Array, ""]
"""The number of words before the last word."""
NextWord = tuple[Float[Array, "B T V"], Any, Any]
"""The logits of the next word, the new cache and the new state."""
