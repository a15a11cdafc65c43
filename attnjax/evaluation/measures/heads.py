"""What each head of each layer does, as numbers: where it looks, and what it is needed for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.align.base import Uniform
from attnjax.attention.attention import Attention
from attnjax.config.constraints import PositiveInt
from attnjax.config.vary import vary
from attnjax.config.walk import walk
from attnjax.data.batch_plan import Batch
from attnjax.data.corpus import Corpus
from attnjax.data.special_tokens import END, PAD
from attnjax.errors import UserError
from attnjax.evaluation.attention_numbers import agreement, distance, entropy, mass
from attnjax.evaluation.gold_alignment import (
    GoldLinks,
    alignment_error_rate,
    links,
    read_pharaoh,
    words_of,
)
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Numbers, totals
from attnjax.evaluation.measures.perplexity import LIKELIHOOD
from attnjax.evaluation.measures.saturation import check_attentions
from attnjax.models.base import Model
from attnjax.nn.paths import flat, unflat
from attnjax.training.objectives.base import shifted

MEANS = {
    "entropy": "head_entropy",
    "distance": "head_distance",
    "end": "head_mass_on_end",
    "agreement": "head_agreement",
}
"""The names of the measurements that are means of these numbers, over heads or attentions."""


@dataclass(frozen=True, kw_only=True)
class Heads(Measure):
    """The numbers of every head of every layer, in result.json under "heads".

        entropy      of the weights, in nats, see `entropy`
        distance     mean number of positions between query and key
        end          share of the weights that falls on END
        padding      share that falls on padding: 0, unless an attention forgets its mask
        importance   nats a symbol that the loss grows by if this head alone is taken out
        alignment_error_rate    of the head's strongest links, if there is a gold alignment

    For each attention: `agreement` of its heads. For each field of the model that holds an
    attention, "uniform" has the nats a symbol that the loss grows by if its weights are uniform.
    The baseline of Wiegreffe & Pinter 2019 (section 3.1) is trained with uniform weights, too: a
    variant with the align `Uniform`.

    "head_entropy", "head_distance" and "head_mass_on_end" are means over all heads,
    "head_agreement" over all attentions.

    Attributes:
        examples: the number of test sentences, the first ones.
        gold: a file of gold alignments in Pharaoh's form, a line for each test sentence; None: the
            alignment error rate is not measured.

    Source: Michel et al. 2019 (a head taken out); Voita et al. 2019.
    """

    numbers: ClassVar[Numbers] = dict.fromkeys(MEANS.values())

    examples: PositiveInt = 64
    gold: str | None = None

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_attentions(self, model, corpus)
        if self.gold is not None:
            _gold(self.gold, corpus)

    def with_details(self, inputs: EvalInputs) -> tuple[Sequence[Measurement], Mapping[str, Any]]:
        batch = inputs.first(self.examples)
        arrays, to_source = jax.device_get(_statistics(inputs.model, inputs.params, batch))
        means = [float(np.mean([row[name].mean() for row in arrays.values()])) for name in MEANS]
        table = jax.tree.map(np.ndarray.tolist, arrays)

        def loss(model: Model, params: Any) -> float:
            ((total, count),) = totals(LIKELIHOOD, model, params, batch, ("nll",))
            return float(total / count)

        least = loss(inputs.model, inputs.params)
        for name, row in table.items():
            if without := _without(inputs.params, name):
                row["importance"] = [loss(inputs.model, params) - least for params in without]
        if self.gold is not None:
            pairs = [*islice(_gold(self.gold, inputs.corpus), self.examples)]
            for name, heads in to_source.items():
                table[name]["alignment_error_rate"] = [
                    alignment_error_rate(
                        (links(weights, *words), gold)
                        for weights, (*words, gold) in zip(head, pairs, strict=False)
                    )
                    for head in heads
                ]
        uniform = {
            f"model.{path}": loss(vary(inputs.model, {f"{path}.align": Uniform()}), inputs.params)
            - least
            for path, part in walk(inputs.model)
            if isinstance(part, Attention)
        }
        return self.measured(*means), {"heads": table, "uniform": uniform}


def _gold(file: str, corpus: Corpus) -> Iterator[tuple[list[int], list[int], GoldLinks]]:
    """Return the word of each piece, of both sides, and the gold alignment of each test sentence.

    A file that does not fit the corpus is refused at once, not during the iteration.
    """
    gold, examples = read_pharaoh(file), corpus.splits[SPLIT]
    source, target = corpus.vocabularies
    if source is None or target is None:
        raise UserError("an alignment error rate needs text on both sides")
    if len(gold) != len(examples):
        raise UserError(f"{file} must have a line for each of {len(examples):,} test sentences")
    return (
        (words_of(source, [*example.source[:-1]]), words_of(target, [*example.target[:-1]]), pair)
        for example, pair in zip(examples, gold, strict=True)
    )


@partial(jax.jit, static_argnames=("model",))
def _statistics(
    model: Any, params: Any, batch: Batch
) -> tuple[dict[str, dict[str, jax.Array]], dict[str, jax.Array]]:
    """Compute each attention's numbers by its name, of its heads [H]; and weights to the source."""
    table, to_source = {}, {}
    source, decoder_input = jnp.asarray(batch.source), shifted(jnp.asarray(batch.target))
    for layer in model.attentions(params, source, decoder_input):
        heads = layer.weights.swapaxes(0, 1)
        masks = jnp.broadcast_to(layer.mask, layer.weights.shape).swapaxes(0, 1)
        row = {
            "entropy": jax.vmap(entropy)(heads, masks),
            "distance": jax.vmap(distance)(heads, masks),
            "agreement": agreement(layer.weights, layer.mask),
        }
        keys = layer.words[1]
        for name, symbol in (("end", END), ("padding", PAD)):
            placed = jnp.zeros((1, 1, 1), bool) if keys is None else (keys == symbol)[:, None]
            row[name] = jax.vmap(mass, (0, 0, None))(heads, masks, placed)
        table[layer.name] = row
        to_source |= {layer.name: heads} if layer.to_source else {}
    return table, to_source


def _without(params: Any, attention: str) -> list[Any]:
    """Return the parameters without each head of an attention; []: its heads are not projected."""
    arrays, path = flat(params), f"{attention}.out.kernel"
    if path not in arrays:
        return []
    kernel = jnp.asarray(arrays[path])
    return [unflat({**arrays, path: kernel.at[head].set(0)}) for head in range(len(kernel))]
