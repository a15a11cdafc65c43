"""Library calls for a trained run: score it on a split or on files, and predict answers.

run = attnjax.open("runs/luong2015/dot/seed-0")
evaluate(run, split="valid").metrics        {"exact_match": 0.98}
predict(run, ["1 2 3"])                     ["3 2 1"]
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.override import Override, override
from attnjax.data.batching import in_order
from attnjax.data.corpora.parallel_text import read_pairs
from attnjax.data.corpus import Corpus, Encoded
from attnjax.data.files import find_file
from attnjax.data.special_tokens import END, START
from attnjax.data.vocabulary import SPECIAL
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import EXTRA
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.label import Label
from attnjax.decoding.search import Search
from attnjax.errors import UserError, unknown
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.base import SPLIT, EvalInputs
from attnjax.evaluation.metric import Metric
from attnjax.evaluation.sentence_stats import Sentences, sentences
from attnjax.models.sequence_model import SequenceModel
from attnjax.trained.trained_run import Trained

MAX_SYMBOLS = 1_000
"""The default limit on the symbols of a line: the time and memory of a search grow with the square
of the length."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The scores of a run's answers.

    Attributes:
        on: the name of the split, or the file of the sources.
        sentences: the number of answers.
        metrics: the scores by the names of their metrics.
        details: details of the scores, such as BLEU's signature.
        answers: the answer to each source; (): nothing is decoded.
    """

    on: str
    sentences: int
    metrics: dict[str, float]
    details: Mapping[str, Any]
    answers: Sequence[str] = ()


def evaluate(
    trained: Trained, *, split: str = "test", beam: int | None = None, measured: bool = False
) -> Evaluation:
    """Score a run's answers to a split of its task; if nothing is decoded, take its measures there.

    Args:
        trained: the run.
        split: "train", "valid" or "test".
        beam: the number of hypotheses, 1 is greedy; None: the run's own search.
        measured: whether to take the measures in any case.

    Raises:
        UserError: the task has no such split, its data are missing, or the run has neither a metric
            nor a measure.
    """
    experiment = trained.experiment
    if not experiment.measures:
        _metric(trained)
    corpus = experiment.task.load(trained.vocabularies)
    if not corpus.splits.get(split):
        raise unknown("split", split, corpus.splits)
    if experiment.metric is None:
        return _measured(trained, split, corpus, None)
    sources = [example.source for example in corpus.splits[split]]
    if trained.vocabularies.source is not None:
        lengths = corpus.splits[split].source.lengths
        trained.experiment.model.check_lengths(lengths, f"of the {split} split", "source")
    written, references = corpus.sources.get(split, []), corpus.references[split]
    scored = _scored(trained, split, written, sources, references, beam)
    if not measured:
        return scored
    lengths = None if trained.vocabularies.source is None else [len(each) - 1 for each in sources]
    kept = sentences(experiment.metric, scored.answers, references, lengths)
    more = _measured(trained, split, corpus, kept)
    metrics, details = scored.metrics | more.metrics, {**scored.details, **more.details}
    return replace(scored, metrics=metrics, details=details)


def evaluate_files(
    trained: Trained,
    source: str | Path,
    reference: str | Path,
    *,
    beam: int | None = None,
    max_symbols: int = MAX_SYMBOLS,
) -> Evaluation:
    """Score a run's answers to the lines of a file.

    Args:
        trained: the run.
        source: a file with a source in each line; its path is as given, or relative to the folder
            ATTNJAX_DATA.
        reference: a file with the right answer to each source, found in the same way.
        beam: as in `evaluate`.
        max_symbols: the largest number of symbols of a line.

    Raises:
        UserError: a file is missing or not UTF-8, their numbers of lines differ, a line is too
            long, or the run's task has no metric.
    """
    _metric(trained)
    path = find_file(source)
    examples = [*read_pairs(path, find_file(reference))]
    written = [example.source for example in examples]
    sources = encoded(trained, enumerate(written, start=1), str(path), max_symbols)
    references = [trained.text("target").plain(example.target) for example in examples]
    return _scored(trained, str(path), written, sources, references, beam)


def predict(
    trained: Trained,
    lines: Sequence[str],
    *,
    beam: int | None = None,
    max_symbols: int = MAX_SYMBOLS,
    extra: int = EXTRA,
    origin: str = "the input",
) -> list[str]:
    """A run's answer to each line; an empty line has an empty answer.

    The answer of a language model is what comes after the line, which is a prompt.

    Args:
        trained: the run.
        lines: the sources as text.
        beam: as in `evaluate`.
        max_symbols: the largest number of symbols of a line.
        extra: how many more symbols than its line an answer may have.
        origin: the lines' origin in words, for error messages.

    Raises:
        UserError: a line is too long, or the source or the target of the run's task is not text.
    """
    options: dict[str, Any] = {"beam": beam, "max_symbols": max_symbols, "extra": extra}
    answers = n_best(trained, lines, 1, **options, origin=origin)
    return [best[0].text if best else "" for best in answers]


class Answer(NamedTuple):
    """An answer and its score: a log-probability over its length penalty, or that of a label."""

    text: str
    score: float


def n_best(
    trained: Trained,
    lines: Sequence[str],
    most: int,
    *,
    beam: int | None = None,
    max_symbols: int = MAX_SYMBOLS,
    extra: int = EXTRA,
    origin: str = "the input",
    first: int = 1,
) -> list[list[Answer]]:
    """The `most` best answers to each line, the best first; an empty line has none.

    `first` is the number of the first line, for error messages.

    Raises:
        UserError: as `predict`; or the search has fewer hypotheses.
    """
    asked = [(number, line) for number, line in enumerate(lines, start=first) if line.strip()]
    written = [line for _, line in asked]
    sources = encoded(trained, asked, origin, max_symbols)
    answers = iter(_answers(trained, written, sources, beam, most=most, extra=extra))
    return [next(answers) if line.strip() else [] for line in lines]


def label_probabilities(trained: Trained, lines: Sequence[str]) -> list[dict[str, float]]:
    """The probability of each label for each line, the most probable label first.

    They add up to 1 with those of PAD, START, END and UNKNOWN, which no line is given.

    Raises:
        UserError: the model gives no labels, or a line is too long.
    """
    if not _gives_labels(trained):
        raise UserError(f"{trained.folder} gives no labels: its answers are sentences")
    return _labels(trained, encoded(trained, enumerate(lines, start=1)))


def _labels(trained: Trained, sources: Sequence[Any]) -> list[dict[str, float]]:
    """The probability of each label for each source, the most probable label first."""
    labels, first = trained.text("target").pieces, len(SPECIAL)
    rows = [dict(zip(labels, row.tolist(), strict=True)) for row in next_symbols(trained, sources)]
    return [dict(sorted([*row.items()][first:], key=lambda item: -item[1])) for row in rows]


def next_symbols(trained: Trained, sources: Sequence[Any]) -> list[np.ndarray]:
    """The probabilities [V] of the first symbol of each source's target."""
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
    return jax.nn.softmax(model.apply({"params": params}, source, start, deterministic=True)[:, 0])


def _gives_labels(trained: Trained) -> bool:
    model = trained.experiment.model
    return isinstance(model, SequenceModel) and model.predicts_label


def with_overrides(trained: Trained, overrides: Sequence[Override]) -> Trained:
    """Apply overrides that do not change parameters: of the search, of ablated heads.

    Raises:
        UserError: an override has an unknown path or value, or the search does not fit the model.
    """
    experiment = override(trained.experiment, overrides)
    if isinstance(experiment.model, SequenceModel):
        experiment.search.check(experiment.model)
    return replace(trained, experiment=experiment)


def _metric(trained: Trained) -> Metric:
    """The metric of a run's answers."""
    metric = trained.experiment.metric
    if metric is None:
        raise UserError(
            f"{trained.folder} has no decoded answers to score: its numbers are in its result.json"
        )
    return metric


def encoded(
    trained: Trained,
    lines: Iterable[tuple[int, str]],
    origin: str = "the input",
    max_symbols: int = MAX_SYMBOLS,
) -> list[list[int]]:
    """Encode numbered lines.

    Raises:
        UserError: a line is too long, or the source of the run's task is not text.
    """
    vocabulary, task = trained.text("source"), trained.experiment.task
    limit = trained.experiment.model.max_length("source")
    sources = []
    for number, line in lines:
        ids = task.ids(line, vocabulary)
        sentence = f"line {number} of {origin} has {len(ids):,} symbols (END counted)"
        if limit is not None and len(ids) > limit.words:
            raise UserError(f"{sentence}; the model takes at most {limit.words:,} ({limit.path})")
        if len(ids) > max_symbols:
            raise UserError(
                f"{sentence}; at most {max_symbols:,} are answered: --max-symbols raises the limit"
            )
        sources.append(ids)
    return sources


def _scored(
    trained: Trained,
    on: str,
    written: Sequence[str],
    sources: Sequence[Any],
    references: Sequence[str],
    beam: int | None,
) -> Evaluation:
    answers = [best.text for best, *_ in _answers(trained, written, sources, beam)]
    metric = _metric(trained)
    totals = sentences(metric, answers, references, None).totals
    return Evaluation(
        on=on,
        sentences=len(answers),
        metrics={metric.name: metric.value(totals)},
        details=metric.details(totals),
        answers=answers,
    )


def _measured(trained: Trained, split: str, corpus: Corpus, kept: Sentences | None) -> Evaluation:
    """The measures of a run on a split, as those of its result are on the test split."""
    experiment, metrics, details = trained.experiment, {}, {}
    parts = (corpus.splits, corpus.sources, corpus.references)
    splits, sources, references = ({SPLIT: part[split]} if split in part else {} for part in parts)
    corpus = replace(corpus, splits=splits, sources=sources, references=references)
    inputs = EvalInputs(
        experiment.model,
        trained.params,
        corpus,
        experiment.training.batching,
        kept,
        seed=trained.manifest.seed,
    )
    for measure in experiment.measures:
        measure.check(experiment.model, corpus)
        for measurement in measure.after_training(inputs):
            whole = measurement.key == MetricKey(measurement.key.name)
            metrics[measurement.key.name if whole else str(measurement.key)] = measurement.value
        details |= measure.details(inputs)
    return Evaluation(on=split, sentences=len(splits[SPLIT]), metrics=metrics, details=details)


def _answers(
    trained: Trained,
    written: Sequence[str],
    sources: Sequence[Any],
    beam: int | None,
    *,
    most: int = 1,
    extra: int = EXTRA,
) -> list[list[Answer]]:
    """The `most` best answers to each source."""
    search = _search(trained.experiment.search, beam)
    if _gives_labels(trained):
        labels = _labels(trained, sources)
        return [[Answer(*item) for item in islice(row.items(), most)] for row in labels]
    if most > search.width:
        raise UserError(
            f"{most} answers want a search with as many hypotheses, such as a beam of {most}; "
            f"{type(search).__name__} has {search.width}"
        )
    experiment = replace(trained.experiment, search=search)
    each = experiment.hypotheses(trained.params, sources, extra=extra)
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


def _search(own: Search, beam: int | None) -> Search:
    """The run's own search, or one with a beam of this size."""
    if beam is None:
        return own
    if isinstance(own, Label):
        raise UserError("--beam is for sentences; this run answers with one label")
    if isinstance(own, Beam):
        return replace(own, size=beam)
    return Greedy() if beam == 1 else Beam(size=beam)
