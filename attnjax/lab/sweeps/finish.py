"""Finishing trained runs: their test splits are decoded, scored and measured."""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from attnjax.config.console import print_line
from attnjax.config.serialize import to_json
from attnjax.data.corpus import Corpus
from attnjax.evaluation.attention_record import attention_record
from attnjax.evaluation.measurement import Measurement, MeasurementRecord
from attnjax.evaluation.measures.base import SPLIT, EvalInputs
from attnjax.evaluation.sentence_stats import Sentences, sentences
from attnjax.evaluation.unknown_words import before_replacement
from attnjax.experiment import Experiment
from attnjax.files import in_a_line, write_atomically
from attnjax.lab.log import metrics_log
from attnjax.lab.loop.run_state import TrainResult
from attnjax.lab.loop.validation import ValidationScore
from attnjax.lab.reporting.number import number
from attnjax.lab.runs import failures
from attnjax.lab.runs.json_files import write_json
from attnjax.lab.runs.lease import Leases
from attnjax.lab.runs.result import RunResult
from attnjax.lab.runs.run_folder import ATTENTION, HYPOTHESES, REFERENCES, write_result
from attnjax.lab.sweeps.groups import Group, Trainable, TrainedGroup
from attnjax.lab.sweeps.plan import RunSpec
from attnjax.nn.parameter_kinds import number_trained
from attnjax.training.train_setup import TrainSetup


def finish(group: Group, trained: TrainedGroup, leases: Leases, console: Console) -> None:
    """Write the result of each run of a group: a seed's is decoded and measured, a tuning's is not.

    result.json is written last: with it the run is finished.
    """
    variant = group.stage.variant.name
    for run, outcome in zip(group.runs, trained.outcomes, strict=True):
        result = replace(RunResult.of(outcome, run.manifest), code=trained.code)
        if group.stage.tunes:
            write_result(run.folder, result)
            continue
        with console.status(f"{variant}: decoding and measuring seed {run.seed}"):
            result = _measured(run, group.trainable, trained.setup, outcome, result)
        leases.check()
        cost = replace(group.trainable.cost, steps=result.step)
        write_result(run.folder, replace(result, cost=cost))
        failures.forget(run.folder)
        point = run.folder.parent.name
        where = variant if point == variant else f"{variant}, {point}"
        scores = [score for score in map(Measurement.of, result.metrics) if score.better]
        shown = ", ".join(f"{score.key} {number(score.value)}" for score in scores)
        print_line(console, f"{where}, seed {run.seed}: {shown}")


def _measured(
    run: RunSpec,
    trainable: Trainable,
    setup: TrainSetup,
    outcome: TrainResult,
    result: RunResult,
) -> RunResult:
    """Decode, score and measure a trained run; its folder gets the answers and some weights."""
    folder, seed, experiment = run.folder, run.seed, trainable.experiment
    corpus = trainable.data.of_seed(seed)
    initial = setup.initial_state(seed).params if experiment.measures else None
    begun = time.perf_counter()
    statistics, measurements, details = _answer(folder, experiment, corpus, outcome.params)

    def inputs(params: Any) -> EvalInputs:
        batching = experiment.training.batching
        log = partial(metrics_log.read, folder)
        return EvalInputs(experiment.model, params, corpus, batching, statistics, seed, log)

    measured: dict[str, Any] = {}
    for measure in experiment.measures:
        measurements += measure.at_init(inputs(initial))
        trained, more = measure.with_details(inputs(outcome.params))
        measurements += trained
        measured |= more
    if recorded := attention_record(inputs(outcome.params)):
        write_json(folder / ATTENTION, to_json(recorded))
    score = _best_score(experiment, outcome.best)
    return replace(
        result,
        metrics=tuple(MeasurementRecord(**item.record()) for item in measurements),
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
    """Return the best validation score by its key in result.json; {}: the loss decided."""
    scoring, metric = experiment.training.scoring, experiment.metric
    if scoring is None or scoring.decides == "loss" or metric is None or best is None:
        return {}
    return {f"best_validation_{metric.name}": best if metric.better == "lower" else -best}


def validation_score(experiment: Experiment, corpus: Corpus) -> ValidationScore | None:
    """Return the score of the validation split during a training; None: it is not scored."""
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
    write_atomically(folder / HYPOTHESES, lines)
    lengths = None if source is None else [len(sentence) - 1 for sentence in sources]
    statistics = sentences(metric, texts, references, lengths)
    statistics.write(folder, {type(metric).__name__: type(metric)})
    write_json(folder / REFERENCES, [*zip(written or [""] * len(texts), references, strict=True)])
    scores = [Measurement(metric.key, statistics.value(), metric.better)]
    if experiment.unknown is not None:
        plain = sentences(
            metric, [target.decode(answer) for answer in answers], references, lengths
        )
        scores.append(Measurement(before_replacement(metric), plain.value(), metric.better))
    return statistics, scores, metric.details(statistics.totals)
