"""What a trained run answers to lines of text, with scores; see `attnjax.open`."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.constraints import shown
from attnjax.data.batching import in_order
from attnjax.data.corpus import Encoded
from attnjax.data.special_tokens import END, START
from attnjax.data.vocabulary import SPECIAL
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import EXTRA
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.label import Label
from attnjax.decoding.search import Search
from attnjax.errors import UserError, one_line
from attnjax.lab.trained.trained_run import Trained
from attnjax.models.base import MaskedWordModel, logits
from attnjax.models.sequence_model import SequenceModel

MAX_SYMBOLS = 1_000
"""The default limit on the symbols of a line: a search costs the square of the length."""

MOST = 10_000
"""The most answers to a line, and the most symbols that one may have more than its line."""


class Answer(NamedTuple):
    """An answer and its score: a log-probability over its length penalty, or that of a label."""

    text: str
    score: float


def label_probabilities(trained: Trained, sources: Sequence[Any]) -> list[dict[str, float]]:
    """Return the probability of each label for each source, the most probable label first.

    They add up to 1 with those of PAD, START, END and UNKNOWN, which no source is given.
    """
    labels, first = trained.text("target").pieces, len(SPECIAL)
    rows = [dict(zip(labels, row.tolist(), strict=True)) for row in next_symbols(trained, sources)]
    return [dict(sorted([*row.items()][first:], key=lambda item: -item[1])) for row in rows]


def next_symbols(trained: Trained, sources: Sequence[Any]) -> list[np.ndarray]:
    """Return the probabilities [V] of the first symbol of each source's target."""
    if not sources:
        return []
    experiment = trained.experiment
    examples = [Encoded(source, [END]) for source in sources]
    batching = experiment.training.batching.with_room(examples, shapes=1)
    rows = dict[int, np.ndarray]()
    for indices, batch in in_order(examples, batching):
        probabilities = _first(experiment.model, trained.params, batch.source)
        rows |= zip(indices.tolist(), np.asarray(probabilities, float), strict=True)
    return [rows[index] for index in range(len(sources))]


@partial(jax.jit, static_argnames="model")
def _first(model: Any, params: Any, source: Any) -> jax.Array:
    start = jnp.full((len(source), 1), START)
    # a pretrained BERT's call gives words, its features are the label's
    features = model.apply({"params": params}, source, start, deterministic=True, method="features")
    return jax.nn.softmax(logits(*features)[:, 0])


def gives_labels(trained: Trained) -> bool:
    """Return whether a run answers with one label."""
    model = trained.experiment.model
    return isinstance(model, SequenceModel) and model.predicts_label


def encoded(
    trained: Trained,
    lines: Iterable[tuple[int, str]],
    origin: str = "the input",
    max_symbols: int = MAX_SYMBOLS,
) -> list[list[int]]:
    """Encode numbered lines as ids; refuse a line that is too long."""
    vocabulary, task = trained.text("source"), trained.experiment.task
    limit = trained.experiment.model.max_length("source")
    sources = []
    for number, line in lines:
        where = f"line {number} of {origin}"
        check_text(line, where)
        ids = task.ids(line, vocabulary)
        if not ids:
            raise UserError(f"{where} has no symbols: there is nothing to go on from")
        sentence = f"{where} has {len(ids):,} symbols (END counted)"
        if limit is not None and len(ids) > limit.words:
            raise UserError(f"{sentence}; the model takes at most {limit.words:,} ({limit.path})")
        if len(ids) > max_symbols:
            raise UserError(
                f"{sentence}; at most {max_symbols:,} are answered: --max-symbols raises the limit"
            )
        sources.append(ids)
    return sources


def listed(lines: Iterable[str]) -> list[str]:
    """Return lines as a list; refuse one text in their place: its letters would be the lines."""
    if isinstance(lines, str):
        raise UserError(f"a list of texts was wanted; got one text, {lines[:60]!r}: give [text]")
    if not isinstance(lines, Iterable):
        raise UserError(f"a list of texts was wanted; got {shown(lines)}")
    texts = [*lines]
    for line in texts:
        if not isinstance(line, str):
            raise UserError(f"a list of texts was wanted; got one that has {shown(line)}")
    return texts


def check_count(value: int, name: str, least: int, most: int = MOST) -> None:
    """Refuse what is no number of answers or symbols."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise UserError(
            f"{name}: wanted a whole number from {least} to {most:,}; got {shown(value)}"
        )


def numbers(value: Any, where: str) -> np.ndarray:
    """Return real numbers as an array; refuse text, None, and rows of several lengths."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        several = f"{where} must be an array of numbers; got rows of several lengths"
        raise UserError(several) from error
    kinds = jnp.bool_, jnp.integer, jnp.floating
    if not any(jnp.issubdtype(array.dtype, kind) for kind in kinds):
        raise UserError(f"{where} must be an array of real numbers; got {one_line(shown(value))}")
    return array


def read_source(trained: Trained, source: Any) -> np.ndarray:
    """Return a source that is no text as the model reads it: numbers, or ids of its vocabulary."""
    array, vocabulary = numbers(source, "the source"), trained.vocabularies.source
    model = trained.experiment.model
    if vocabulary is None:
        return array
    # a model that predicts words of its source has an id more, of a word that is masked
    ids = len(vocabulary.pieces) + isinstance(model, MaskedWordModel)
    whole = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not whole or array.min() < 0 or array.max() >= ids:
        raise UserError(
            f"the source must be a text, or a row of ids from 0 to {ids - 1:,}; got "
            f"{one_line(shown(source))}"
        )
    limit = model.max_length("source")
    if limit is not None and array.size > limit.words:
        raise UserError(
            f"the source has {array.size:,} symbols; the model takes at most {limit.words:,} "
            f"({limit.path})"
        )
    return array


def check_text(text: str, where: str) -> None:
    """Refuse what is no text, and half a character, which nothing can write."""
    if not isinstance(text, str):
        raise UserError(f"{where} must be a text; got {shown(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise UserError(f"{where} has half a character, {half}: a text was cut there") from error


def answers(
    trained: Trained,
    written: Sequence[str],
    sources: Sequence[Any],
    beam: int | None,
    *,
    most: int = 1,
    extra: int = EXTRA,
    numbers: Sequence[int] | None = None,
) -> list[list[Answer]]:
    """Return the `most` best answers to each source; `numbers` as in `hypotheses`."""
    search = chosen_search(trained.experiment.search, beam)
    if gives_labels(trained):
        labels = label_probabilities(trained, sources)
        return [[Answer(*item) for item in islice(row.items(), most)] for row in labels]
    if most > search.width:
        raise UserError(
            f"{most} answers want a search with as many hypotheses, such as a beam of {most}; "
            f"{type(search).__name__} has {search.width}"
        )
    experiment = replace(trained.experiment, search=search)
    each = experiment.hypotheses(trained.params, sources, extra=extra, numbers=numbers)
    ranks = []
    for rank in range(most):
        answers = [hypotheses.tokens[rank].tolist() for hypotheses in each]
        texts = experiment.texts(trained.params, trained.vocabularies, written, sources, answers)
        scores = [float(hypotheses.scores[rank]) for hypotheses in each]
        ranks.append(map(Answer, texts, scores))
    return [
        [best, *(answer for answer in others if math.isfinite(answer.score))]
        for best, *others in zip(*ranks, strict=True)
    ]


def chosen_search(own: Search, beam: int | None) -> Search:
    """Return the run's own search, or one with a beam of this size."""
    if beam is None:
        return own
    if isinstance(own, Label):
        raise UserError("--beam is for sentences; this run answers with one label")
    if isinstance(own, Beam):
        return replace(own, size=beam)
    return Greedy() if beam == 1 else Beam(size=beam)
