"""What each head of each layer does, as numbers: where it looks, and what it is needed for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.align import Uniform
from attnjax.attention.attention import Attention
from attnjax.config.constraints import PositiveInt
from attnjax.config.vary import vary
from attnjax.config.walk import walk
from attnjax.data.batching import Batch
from attnjax.data.corpus import Corpus
from attnjax.data.special_tokens import END, PAD
from attnjax.errors import UserError
from attnjax.evaluation.attention_numbers import agreement, distance, mass
from attnjax.evaluation.gold_alignment import (
    alignment_error_rate,
    links,
    read_pharaoh,
    words_of,
)
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure
from attnjax.evaluation.measures.perplexity import negative_log_likelihood
from attnjax.evaluation.measures.saturation import check_attentions, entropy
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model
from attnjax.nn.paths import flat, unflat
from attnjax.training.objectives.base import shifted

MEANS = {"entropy": "head_entropy", "distance": "head_distance", "end": "head_mass_on_end"}
"""The numbers of a head whose means over all heads are measurements, with the names of these."""


@dataclass(frozen=True, kw_only=True)
class Heads(Measure):
    """The numbers of every head of every layer, in result.json under "heads".

        entropy      of the weights, in nats, see `entropy`
        distance     mean number of places between query and key
        end          share of the weights that falls on END
        padding      share that falls on padding: 0, unless an attention forgets its mask
        importance   nats a symbol that the loss grows by if this head alone is taken out
        alignment_error_rate    of the head's strongest links, if there is a gold alignment

    For each attention: `agreement` of its heads. For each field of the model that holds an
    attention, "uniform" has the nats a symbol that the loss grows by if its weights are uniform, a
    baseline of Jain & Wallace 2019 (section 4.2.1); that of Wiegreffe & Pinter 2019 (section 3.1)
    is trained with uniform weights: a variant with the align `Uniform`.

    "head_entropy", "head_distance" and "head_mass_on_end" are means over all heads,
    "head_agreement" over all attentions.

    Attributes:
        examples: the number of test sentences, the first ones.
        gold: a file of gold alignments in Pharaoh's form, a line for each test sentence; None: the
            alignment error rate is not measured.

    Source: Michel et al. 2019 (a head taken out); Voita et al. 2019.
    """

    examples: PositiveInt = 64
    gold: str | None = None

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        return [MetricKey(name) for name in (*MEANS.values(), "head_agreement")]

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_attentions(self, model, corpus)
        count = len(corpus.splits[SPLIT])
        if self.gold is not None and len(read_pharaoh(self.gold)) != count:
            raise UserError(f"{self.gold} must have a line for each of {count:,} test sentences")

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        batch = inputs.first(self.examples)
        table = _statistics(inputs.model, inputs.params, batch).values()
        means = [
            Measurement(MetricKey(MEANS[name]), float(np.mean([row[name].mean() for row in table])))
            for name in MEANS
        ]
        alike = float(np.mean([row["agreement"] for row in table]))
        return [*means, Measurement(MetricKey("head_agreement"), alike)]

    def details(self, inputs: EvalInputs) -> Mapping[str, Any]:
        batch = inputs.first(self.examples)
        table = {
            name: {key: np.asarray(value).tolist() for key, value in row.items()}
            for name, row in _statistics(inputs.model, inputs.params, batch).items()
        }
        loss = partial(_loss, batch=batch)
        least = loss(inputs.model, inputs.params)
        for name, row in table.items():
            without = [loss(inputs.model, params) for params in _without(inputs.params, name)]
            row |= {"importance": [other - least for other in without]} if without else {}
        if self.gold is not None:
            for name, rates in self._rates(inputs, batch).items():
                table[name]["alignment_error_rate"] = rates
        uniform = {
            f"model.{path}": loss(vary(inputs.model, {f"{path}.align": Uniform()}), inputs.params)
            - least
            for path, part in walk(inputs.model)
            if isinstance(part, Attention)
        }
        return {"heads": table, "uniform": uniform}

    def _rates(self, inputs: EvalInputs, batch: Batch) -> dict[str, list[float]]:
        """The alignment error rate of each head that attends to the source."""
        source, target = inputs.corpus.vocabularies
        if source is None or target is None or self.gold is None:
            raise UserError("an alignment error rate needs text on both sides")
        sides = (source, batch.source), (target, batch.target)
        words = [
            [words_of(names, [word for word in row if word not in (PAD, END)]) for row in rows]
            for names, rows in ((names, ids.tolist()) for names, ids in sides)
        ]
        gold, rates = read_pharaoh(self.gold), {}
        decoder_input = shifted(jnp.asarray(batch.target))
        arrays = inputs.params, jnp.asarray(batch.source), decoder_input
        for layer in inputs.model.attentions(*arrays):
            if layer.to_source:
                heads = np.asarray(layer.weights).swapaxes(0, 1)
                rates[layer.name] = [
                    alignment_error_rate(
                        (links(weights, *own), each)
                        for weights, *own, each in zip(head, *words, gold, strict=False)
                    )
                    for head in heads
                ]
        return rates


def _statistics(model: Any, params: Any, batch: Batch) -> dict[str, dict[str, np.ndarray]]:
    """The numbers of each attention by its name; those of its heads are [H]."""
    return jax.device_get(_jitted_statistics(model, params, batch))


@partial(jax.jit, static_argnames=("model",))
def _jitted_statistics(model: Any, params: Any, batch: Batch) -> dict[str, dict[str, jax.Array]]:
    table = {}
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
    return table


def _loss(model: Any, params: Any, batch: Batch) -> float:
    """The mean negative log-likelihood of the batch's symbols, in nats."""
    total, count = negative_log_likelihood(model, params, batch)
    return float(total / count)


def _without(params: Any, attention: str) -> list[Any]:
    """The parameters without each head of an attention; []: its heads are not put together."""
    arrays, path = flat(params), f"{attention.removesuffix('.head')}.out.kernel"
    if path not in arrays:
        return []
    kernel = jnp.asarray(arrays[path])
    return [unflat({**arrays, path: kernel.at[head].set(0)}) for head in range(len(kernel))]
