"""Finishing a trained run: its test split is decoded, scored and measured."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnjax.config.serialize import to_json
from attnjax.data.corpus import Corpus
from attnjax.evaluation.attention_record import attention_record
from attnjax.evaluation.measurement import Measurement, MeasurementRecord
from attnjax.evaluation.measures.base import SPLIT, EvalInputs
from attnjax.evaluation.sentence_stats import Sentences, sentences
from attnjax.evaluation.unknown_words import before_replacement
from attnjax.experiment import Experiment
from attnjax.files import in_a_line
from attnjax.nn.parameter_kinds import number_trained
from attnjax.runs.json_files import write_json
from attnjax.runs.manifest import Manifest
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import ATTENTION, HYPOTHESES, REFERENCES
from attnjax.training.loop.run_state import TrainResult
from attnjax.training.loop.validation import ValidationScore


def finish(
    folder: Path,
    manifest: Manifest,
    experiment: Experiment,
    corpus: Corpus,
    outcome: TrainResult,
    initial: Any,
) -> RunResult:
    """Decode, score and measure a trained run of a resolved experiment.

    The run's folder gets the answers, their statistics, and weights. The `initial` parameters are
    needed only if the experiment has measures.
    """
    begun = time.perf_counter()
    kept, measurements, details = _answer(folder, experiment, corpus, outcome.params)

    def inputs(params: Any) -> EvalInputs:
        batching = experiment.training.batching
        return EvalInputs(experiment.model, params, corpus, batching, kept, manifest.seed)

    measured: dict[str, Any] = {}
    for measure in experiment.measures:
        measurements += measure.at_init(inputs(initial))
        trained, more = measure.with_details(inputs(outcome.params))
        measurements += trained
        measured |= more
    if recorded := attention_record(inputs(outcome.params)):
        write_json(folder / ATTENTION, to_json(recorded))
    result = RunResult.of(outcome, manifest)
    score = _best_score(experiment, outcome.best)
    return replace(
        result,
        metrics=tuple(MeasurementRecord(**each.record()) for each in measurements),
        notes=corpus.notes,
        test_set=corpus.digest(SPLIT),
        data={split: corpus.digest(split) for split in corpus.splits},
        splits={
            split: f"{experiment.task.split_name(split)}: {len(examples):,} examples"
            for split, examples in corpus.splits.items()
        },
        decoding_seconds=time.perf_counter() - begun,
        parameters=number_trained(outcome.params),
        best_validation_loss=None if score else result.best_validation_loss,
        details={**details, **score, **measured},
    )


def _best_score(experiment: Experiment, best: float | None) -> dict[str, float]:
    """The best score on the validation split, by its key in result.json; {}: the loss decided."""
    scoring, metric = experiment.training.scoring, experiment.metric
    if scoring is None or scoring.decides == "loss" or metric is None or best is None:
        return {}
    return {f"best_validation_{metric.name}": best if metric.better == "lower" else -best}


def validation_score(experiment: Experiment, corpus: Corpus) -> ValidationScore | None:
    """The score of the validation split during the training; None: the experiment wants none."""
    metric, scoring = experiment.metric, experiment.training.scoring
    if metric is None or scoring is None:
        return None

    def score(params: Any, seed: int) -> float:
        data = corpus.of_seed(seed)
        sources = [example.source for example in data.splits["valid"][: scoring.sentences]]
        written = data.sources.get("valid", [])[: scoring.sentences]
        answers = experiment.answers(params, sources)
        texts = experiment.texts(params, data.vocabularies, written, sources, answers)
        return metric.score(texts, data.references["valid"][: scoring.sentences])

    return ValidationScore(
        name=metric.name, sign=1 if metric.better == "higher" else -1, score=score
    )


def _answer(
    folder: Path, experiment: Experiment, corpus: Corpus, params: Any
) -> tuple[Sentences | None, list[Measurement], Mapping[str, str]]:
    """Decode the test split and write the answers: their statistics, their scores, details."""
    metric, (source, target) = experiment.metric, corpus.vocabularies
    examples = corpus.splits.get(SPLIT)
    if metric is None or target is None or not examples:
        return None, [], {}
    sources, references = [example.source for example in examples], corpus.references[SPLIT]
    answers = experiment.answers(params, sources)
    written = corpus.sources.get(SPLIT, [])
    texts = experiment.texts(params, corpus.vocabularies, written, sources, answers)
    lines = "".join(f"{in_a_line(text)}\n" for text in texts)
    (folder / HYPOTHESES).write_text(lines, encoding="utf-8")
    lengths = None if source is None else [len(sentence) - 1 for sentence in sources]
    kept = sentences(metric, texts, references, lengths)
    kept.write(folder, {type(metric).__name__: type(metric)})
    write_json(folder / REFERENCES, [*zip(written or [""] * len(texts), references, strict=True)])
    scores = [Measurement(metric.key, kept.value(), metric.better)]
    if experiment.unknown is not None:
        plain = sentences(
            metric, [target.decode(answer) for answer in answers], references, lengths
        )
        scores.append(Measurement(before_replacement(metric), plain.value(), metric.better))
    return kept, scores, metric.details(kept.totals)
