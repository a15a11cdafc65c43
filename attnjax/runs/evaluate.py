"""Use of a trained run: score it on a split or on files, and answer sentences with it.

trained = open_trained(Path("runs/luong2015/dot/seed-0"))
evaluate(trained, split="valid").metrics        {"exact_match": 0.98}
predict(trained, ["1 2 3"])                     ["3 2 1"]
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attnjax.data.corpora.parallel_text import read_pairs
from attnjax.data.files import find_file
from attnjax.decoding.beam import Beam
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.search import Search
from attnjax.errors import UserError, unknown
from attnjax.evaluation.metric import Metric
from attnjax.evaluation.sentence_stats import sentences
from attnjax.runs.trained import Trained

MAX_SYMBOLS = 1_000
"""The longest line that is answered unless more are asked for: a search's time and memory grow with
the square of its length."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The scores of a run's answers.

    Attributes:
        on: what was answered: a split's name, or the file of the sources.
        sentences: how many.
        metrics: each score by its name.
        details: how the scores came about, such as BLEU's signature.
    """

    on: str
    sentences: int
    metrics: dict[str, float]
    details: Mapping[str, str]


def evaluate(trained: Trained, *, split: str = "test", beam: int | None = None) -> Evaluation:
    """Score a run's answers to a split of its task.

    Args:
        trained: the run.
        split: "train", "valid" or "test".
        beam: the number of hypotheses, 1 is greedy; None: the run's own search.

    Raises:
        UserError: the task has no such split, it is scored by no metric, or its data are missing.
    """
    task = trained.experiment.task
    _metric(trained)
    corpus = task.load(trained.vocabularies)
    if not corpus.splits.get(split):
        raise unknown("split", split, corpus.splits)
    sources = [example.source for example in corpus.splits[split]]
    if trained.vocabularies.source is not None:
        trained.experiment.model.check_lengths(sources, f"of the {split} split", "source")
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
        source: a file with a source in each line, as it is given or under ATTNJAX_DATA.
        reference: likewise, the right answer to each.
        beam: as in `evaluate`.
        max_symbols: the most symbols of a line.

    Raises:
        UserError: a file is missing or not UTF-8, their numbers of lines differ, a line is too
            long, or the run's task is scored by no metric.
    """
    _metric(trained)
    path = find_file(source)
    examples = read_pairs(path, find_file(reference))
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
    origin: str = "the input",
) -> list[str]:
    """A run's answer to each line; an empty line has an empty answer.

    Args:
        trained: the run.
        lines: the sources as text.
        beam: as in `evaluate`.
        max_symbols: the most symbols of a line.
        origin: where the lines are from, in the words of an error.

    Raises:
        UserError: a line is too long, or source or target of the run's task is no text.
    """
    asked = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    written = [line for _, line in asked]
    sources = _encoded(trained, asked, origin, max_symbols)
    answers = iter(_answers(trained, written, sources, beam))
    return [next(answers) if line.strip() else "" for line in lines]


def _metric(trained: Trained) -> Metric:
    """The metric of a run's answers.

    Raises:
        UserError: nothing is decoded.
    """
    metric = trained.experiment.metric
    if metric is None:
        raise UserError(
            f"{trained.folder} gives no sentences to be scored: its figures are in its result.json"
        )
    return metric


def _encoded(
    trained: Trained, lines: Iterable[tuple[int, str]], origin: str, max_symbols: int
) -> list[list[int]]:
    """Numbered lines as ids.

    Raises:
        UserError: the number of the first line that is too long for the model or the limit.
    """
    vocabulary, task = trained.text("source"), trained.experiment.task
    limit = trained.experiment.model.max_length("source")
    encoded = []
    for number, line in lines:
        ids = task.ids(line, vocabulary)
        said = f"line {number} of {origin} has {len(ids):,} symbols (END counted)"
        if limit is not None and len(ids) > limit.words:
            raise UserError(f"{said}; the model takes at most {limit.words:,} ({limit.path})")
        if len(ids) > max_symbols:
            raise UserError(
                f"{said}; at most {max_symbols:,} are answered: --max-symbols raises the limit"
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


def _answers(
    trained: Trained, written: Sequence[str], sources: Sequence[Any], beam: int | None
) -> list[str]:
    """The answers to sources, as text."""
    experiment = replace(trained.experiment, search=_search(trained.experiment.search, beam))
    found = experiment.answers(trained.params, sources)
    return experiment.texts(trained.params, trained.vocabularies, written, sources, found)


def _search(own: Search, beam: int | None) -> Search:
    """The run's own search, or one with a beam of this size.

    Raises:
        UserError: the run searches for no sentences, or there is no such beam.
    """
    if beam is None:
        return own
    if own.finds_label:
        raise UserError("--beam is for sentences; this run answers with one label")
    if isinstance(own, Beam):
        return replace(own, size=beam)
    return Greedy() if beam == 1 else Beam(size=beam)
