"""An ensemble: several models whose probabilities are averaged."""

import functools
from collections.abc import Iterable
from typing import Any, Self

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.mask import Padding
from attnjax.data.examples import Examples
from attnjax.data.vocabularies import Side
from attnjax.models.base import logits
from attnjax.models.sequence_model import SequenceModel
from attnjax.models.shapes import Features, NextWord, Source, Step, Words
from attnjax.models.sown_attention import Attentions
from attnjax.nn.length_limit import MaxLength
from attnjax.nn.lift import clone_template


class Ensemble(SequenceModel):
    """p(word) = the mean over members of p_member(word): the logits are the mean's logarithm.

    Members share only the vocabularies: each has its own parameters, memory, cache and state. The
    members are trained models; the ensemble itself is not trained.

    Source: Sutskever et al. 2014, section 3.6; the mean is that of fairseq's `SequenceGenerator`.
    """

    text = ()

    members: tuple[SequenceModel, ...]

    @staticmethod
    def params(members: Any) -> dict[str, Any]:
        """Return the parameters of an ensemble, from those of its members in their order."""
        return {f"models_{number}": member for number, member in enumerate(members)}

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        members = (member.with_vocabularies(source, target) for member in self.members)
        return self.clone(members=tuple(members))

    @nn.nowrap
    def max_length(self, side: Side) -> MaxLength | None:
        limits = [member.max_length(side) for member in self.members]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def predicts_label(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.members[0].predicts_label

    @nn.nowrap
    def check_examples(self, examples: Examples, where: str) -> None:
        for member in self.members:
            member.check_examples(examples, where)

    @nn.nowrap
    def max_words(self, positions: Any) -> Any:
        limits = (member.max_words(positions) for member in self.members)
        limits = [limit for limit in limits if limit is not None]
        return functools.reduce(jnp.minimum, limits) if limits else None

    @nn.nowrap
    def alignment(self, params: Any, source: Source, decoder_input: Words) -> Array:
        alignments = [
            member.alignment(params[f"models_{number}"], source, decoder_input)
            for number, member in enumerate(self.members)
        ]
        return jnp.stack(alignments).mean(0)

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Source, decoder_input: Words) -> Attentions:
        for number, member in enumerate(self.members):
            name = f"models_{number}"
            for attention in member.attentions_in(tree.get(name, {}), source, decoder_input):
                yield attention._replace(name=f"{name}.{attention.name}")

    def setup(self) -> None:
        self.models = [clone_template(member) for member in self.members]

    def encode(self, source: Source, *, deterministic: bool) -> tuple[tuple[Any, ...], Padding]:
        """Return every member's memory and mask, and the first member's mask."""
        encoded = [model.encode(source, deterministic=deterministic) for model in self.models]
        return tuple(encoded), encoded[0][1]

    def features(self, source: Source, decoder_input: Words, *, deterministic: bool) -> Features:
        """Return the logits, and as output embedding the identity [V, V]."""
        mean = _mean(
            logits(*model.features(source, decoder_input, deterministic=deterministic))
            for model in self.models
        )
        return mean, jnp.eye(mean.shape[-1], dtype=mean.dtype)

    def start(self, memory: tuple[Any, ...], mask: Padding, *, length: int, beams: int) -> Any:
        started = [
            model.start(*encoded, length=length, beams=beams)
            for model, encoded in zip(self.models, memory, strict=True)
        ]
        return tuple(zip(*started, strict=True))

    def grow_cache(self, cache: Any, state: Any, *, length: int) -> Any:
        members = zip(self.models, cache, state, strict=True)
        grown = [model.grow_cache(*own, length=length) for model, *own in members]
        return tuple(zip(*grown, strict=True))

    def step(self, constants: Any, cache: Any, state: Any, word: Words, step: Step) -> NextWord:
        members: Any = zip(self.models, constants, cache, state, strict=True)
        stepped = [model.step(*own, word, step) for model, *own in members]
        words, cache, state = zip(*stepped, strict=True)
        return _mean(words), cache, state


def _mean(members: Iterable[Array]) -> Float[Array, "B T V"]:
    """Return the logarithm of the mean of the members' probabilities, from their logits."""
    logs = jnp.stack([jax.nn.log_softmax(member) for member in members])
    return jax.nn.logsumexp(logs, axis=0) - jnp.log(float(len(logs)))
