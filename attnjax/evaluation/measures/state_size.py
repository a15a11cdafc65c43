"""How many numbers a layer keeps of the words that it has read."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.attention import AttentionBase
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import EvalInputs, Measure, Numbers
from attnjax.models.base import Model
from attnjax.models.layer_stack import kinds_from_below
from attnjax.models.transformer_layers import DecoderLayer, Interleaved


@dataclass(frozen=True, kw_only=True)
class StateSize(Measure):
    """The numbers that a layer keeps to read one more word, the mean over a model's layers.

    "state_numbers" are those of a state, however long the text is, and "cache_numbers" those that
    every word adds: keys and values. A layer has one of both. They are counted by the shapes of
    `AttentionBase.start` and `prepare`; no seed changes them.

    Source: Arora et al. 2024 (Based), section 3, compares models by the size of the state.
    """

    numbers: ClassVar[Numbers] = dict.fromkeys(("state_numbers", "cache_numbers"))

    def check(self, model: Model, corpus: Corpus) -> None:
        """Refuse a model without a stack of causal layers; the corpus does not matter."""
        del corpus
        self._attentions(model)

    def at_init(self, inputs: EvalInputs) -> Sequence[Measurement]:
        width: Any = getattr(inputs.model, "width", None)
        kept = [kept_numbers(attention, width) for attention in self._attentions(inputs.model)]
        return self.measured(*np.mean(kept, axis=0))

    def _attentions(self, model: Model) -> list[AttentionBase]:
        """Return the self-attention of each layer, from below."""
        layer: Any = getattr(model, "layer", None)
        interleaved: Interleaved | None = getattr(model, "interleaved", None)
        if not isinstance(layer, DecoderLayer):
            raise UserError(
                "StateSize wants a model with a stack of causal layers, such as a LanguageModel; "
                f"got {type(model).__name__}"
            )
        number: int = getattr(model, "num_layers", 1)
        kinds = kinds_from_below(layer, interleaved, number)
        return [kind.self_attention for kind in kinds]


def kept_numbers(attention: AttentionBase, width: int) -> tuple[int, int]:
    """Return the numbers of a state, and of the memory of a word, of D = `width` features.

    One of both is 0.
    """

    def memory_and_state(module: Any, word: jax.Array) -> Any:
        memory = module.prepare(word, word)
        return memory, module.start(memory)

    def call(word: jax.Array) -> Any:
        init = attention.init_with_output
        return init(jax.random.key(0), word, method=memory_and_state, mutable=["params"])[0]

    memory, state = jax.eval_shape(call, jax.ShapeDtypeStruct((1, 1, width), jnp.float32))
    if state is None:
        return 0, _size(memory)
    return _size(state), 0


def _size(tree: Any) -> int:
    return sum(prod(leaf.shape) for leaf in jax.tree.leaves(tree))
