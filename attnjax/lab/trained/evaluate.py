"""The scores of a trained run, on a split of its task or on files.

run = attnjax.open("runs/luong2015/dot/seed-10")
evaluate(run, split="valid").metrics        {"exact_match": 0.98}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attnjax.data.corpora.parallel_text import read_pairs
from attnjax.data.corpus import Corpus
from attnjax.data.files import find_file_or_pipe
from attnjax.errors import UserError, unknown, warn
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.base import SPLIT
from attnjax.evaluation.metric import Metric
from attnjax.evaluation.sentence_stats import Sentences, sentences
from attnjax.lab.runs.data_digests import changed_splits
from attnjax.lab.trained.predict import MAX_SYMBOLS, answers, encoded
from attnjax.lab.trained.trained_run import Trained


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The scores of a run's answers `on` a split or a file, by the names of their metrics.

    `details` are such as BLEU's signature; there are no answers where nothing is decoded.
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

    `split` is "train", "valid" or "test"; `beam` is the number of hypotheses, 1 is greedy, None the
    run's own search; with `measured` the measures are taken in any case. A warning says
    if the split was changed after the run was started.

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
    if split in changed_splits(trained.folder, corpus):
        warn(f"the {split} split of {trained.folder} was changed after the run was started")
    if experiment.metric is None:
        return _measured(trained, split, corpus, None)
    sources = [example.source for example in corpus.splits[split]]
    if trained.vocabularies.source is not None:
        lengths = corpus.splits[split].source.lengths
        trained.experiment.model.check_lengths(lengths, f"of the {split} split", "source")
    written, references = corpus.sources.get(split, []), corpus.references[split]
    scored, kept = _scored(trained, split, written, sources, references, beam)
    if not measured:
        return scored
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
    """Score a run's answers to the lines of the file `source`; `reference` has the right ones.

    Both have the encoding of the task's own files (`Task.file_encoding`). Their paths are as given,
    or relative to the folder ATTNJAX_DATA; either may be a pipe. `beam` is as in `evaluate`,
    `max_symbols` the largest number of symbols of a line.

    Raises:
        UserError: a file is missing or has another encoding, their numbers of lines differ, a line
            is too long, or the run's task has no metric.
    """
    _metric(trained)
    path = find_file_or_pipe(source)
    encoding = trained.experiment.task.file_encoding
    examples = [*read_pairs(path, find_file_or_pipe(reference), encoding)]
    written = [example.source for example in examples]
    sources = encoded(trained, enumerate(written, start=1), str(path), max_symbols)
    references = [trained.text("target").plain(example.target) for example in examples]
    return _scored(trained, str(path), written, sources, references, beam)[0]


def _metric(trained: Trained) -> Metric:
    metric = trained.experiment.metric
    if metric is None:
        raise UserError(
            f"{trained.folder} has no decoded answers to score: its numbers are in its result.json"
        )
    return metric


def _scored(
    trained: Trained,
    on: str,
    written: Sequence[str],
    sources: Sequence[Any],
    references: Sequence[str],
    beam: int | None,
) -> tuple[Evaluation, Sentences]:
    """Score a run's answers; return the scores and the statistics of the answers."""
    texts = [best.text for best, *_ in answers(trained, written, sources, beam)]
    metric = _metric(trained)
    lengths = None if trained.vocabularies.source is None else [len(ids) - 1 for ids in sources]
    kept = sentences(metric, texts, references, lengths)
    evaluation = Evaluation(
        on=on,
        sentences=len(texts),
        metrics={metric.name: kept.value()},
        details=metric.details(kept.totals),
        answers=texts,
    )
    return evaluation, kept


def _measured(trained: Trained, split: str, corpus: Corpus, kept: Sentences | None) -> Evaluation:
    """Take a run's measures on a split, as those of its result are taken on the test split."""
    metrics, details = {}, {}
    parts = (corpus.splits, corpus.sources, corpus.references)
    splits, sources, references = ({SPLIT: part[split]} if split in part else {} for part in parts)
    corpus = replace(corpus, splits=splits, sources=sources, references=references)
    inputs = trained.inputs(corpus, kept)
    for measure in trained.experiment.measures:
        measure.check(inputs.model, corpus)
        measurements, more = measure.with_details(inputs)
        details |= more
        for measurement in measurements:
            whole = measurement.key == MetricKey(measurement.key.name)
            metrics[measurement.key.name if whole else str(measurement.key)] = measurement.value
    return Evaluation(on=split, sentences=len(splits[SPLIT]), metrics=metrics, details=details)
