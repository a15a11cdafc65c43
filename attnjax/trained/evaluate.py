"""Library calls for a trained run: score it on a split or on files, and predict answers.

trained = open_trained(Path("runs/luong2015/dot/seed-0"))
evaluate(trained, split="valid").metrics        {"exact_match": 0.98}
predict(trained, ["1 2 3"])                     ["3 2 1"]
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attnjax.config.override import Override, override
from attnjax.data.corpora.parallel_text import read_pairs
from attnjax.data.corpus import Corpus
from attnjax.data.files import find_file
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import EXTRA
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.label import Label
from attnjax.decoding.search import Search
from attnjax.errors import UserError, unknown
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.base import SPLIT, EvalInputs
from attnjax.evaluation.metric import Metric
from attnjax.evaluation.sentence_stats import sentences
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
    """

    on: str
    sentences: int
    metrics: dict[str, float]
    details: Mapping[str, str]


def evaluate(trained: Trained, *, split: str = "test", beam: int | None = None) -> Evaluation:
    """Score a run's answers to a split of its task; if nothing is decoded, take its measures there.

    Args:
        trained: the run.
        split: "train", "valid" or "test".
        beam: the number of hypotheses, 1 is greedy; None: the run's own search.

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
        return _measured(trained, split, corpus)
    sources = [example.source for example in corpus.splits[split]]
    if trained.vocabularies.source is not None:
        lengths = corpus.splits[split].source.lengths
        trained.experiment.model.check_lengths(lengths, f"of the {split} split", "source")
    written = corpus.sources.get(split, [])
    return _scored(trained, split, written, sources, corpus.references[split], beam)


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
    sources = _encoded(trained, enumerate(written, start=1), str(path), max_symbols)
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
    asked = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    written = [line for _, line in asked]
    sources = _encoded(trained, asked, origin, max_symbols)
    answers = iter(_answers(trained, written, sources, beam, extra))
    return [next(answers) if line.strip() else "" for line in lines]


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


def _encoded(
    trained: Trained, lines: Iterable[tuple[int, str]], origin: str, max_symbols: int
) -> list[list[int]]:
    """Encode numbered lines."""
    vocabulary, task = trained.text("source"), trained.experiment.task
    limit = trained.experiment.model.max_length("source")
    encoded = []
    for number, line in lines:
        ids = task.ids(line, vocabulary)
        sentence = f"line {number} of {origin} has {len(ids):,} symbols (END counted)"
        if limit is not None and len(ids) > limit.words:
            raise UserError(f"{sentence}; the model takes at most {limit.words:,} ({limit.path})")
        if len(ids) > max_symbols:
            raise UserError(
                f"{sentence}; at most {max_symbols:,} are answered: --max-symbols raises the limit"
            )
        encoded.append(ids)
    return encoded


def _scored(
    trained: Trained,
    on: str,
    written: Sequence[str],
    sources: Sequence[Any],
    references: Sequence[str],
    beam: int | None,
) -> Evaluation:
    answers = _answers(trained, written, sources, beam)
    metric = _metric(trained)
    totals = sentences(metric, answers, references, None).totals
    return Evaluation(
        on=on,
        sentences=len(answers),
        metrics={metric.name: metric.value(totals)},
        details=metric.details(totals),
    )


def _measured(trained: Trained, split: str, corpus: Corpus) -> Evaluation:
    """The measures of a run on a split, as those of its result are on the test split."""
    experiment, metrics = trained.experiment, {}
    parts = (corpus.splits, corpus.sources, corpus.references)
    splits, sources, references = ({SPLIT: part[split]} if split in part else {} for part in parts)
    corpus = replace(corpus, splits=splits, sources=sources, references=references)
    inputs = EvalInputs(
        experiment.model,
        trained.params,
        corpus,
        experiment.training.batching,
        seed=trained.manifest.seed,
    )
    for measure in experiment.measures:
        measure.check(experiment.model, corpus)
        for measurement in measure.after_training(inputs):
            whole = measurement.key == MetricKey(measurement.key.name)
            metrics[measurement.key.name if whole else str(measurement.key)] = measurement.value
    return Evaluation(on=split, sentences=len(splits[SPLIT]), metrics=metrics, details={})


def _answers(
    trained: Trained,
    written: Sequence[str],
    sources: Sequence[Any],
    beam: int | None,
    extra: int = EXTRA,
) -> list[str]:
    """The answers to sources, as text."""
    experiment = replace(trained.experiment, search=_search(trained.experiment.search, beam))
    answers = experiment.answers(trained.params, sources, extra=extra)
    return experiment.texts(trained.params, trained.vocabularies, written, sources, answers)


def _search(own: Search, beam: int | None) -> Search:
    """The run's own search, or one with a beam of this size."""
    if beam is None:
        return own
    if isinstance(own, Label):
        raise UserError("--beam is for sentences; this run answers with one label")
    if isinstance(own, Beam):
        return replace(own, size=beam)
    return Greedy() if beam == 1 else Beam(size=beam)
