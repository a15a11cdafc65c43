"""The corpora of tasks, each of which is loaded once."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from attnjax.data.corpus import Corpus, Task
from attnjax.data.special_tokens import END, UNKNOWN
from attnjax.data.text_notes import text_notes
from attnjax.data.unspaced import is_unspaced
from attnjax.data.vocabularies import SIDES, Vocabularies
from attnjax.data.vocabulary import WordVocabulary

READ = 1_000
"""The number of examples of a split, the first ones, whose unknown words are counted."""


class Corpora:
    """The corpora of tasks; the notes on a corpus are printed once."""

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self._say = say
        self._loaded: dict[Task, Corpus] = {}

    def of(self, task: Task, vocabularies: Vocabularies | None = None) -> Corpus:
        """Return the corpus of a task; if each seed has its own, `Corpus.of_seed` draws them.

        The corpora of all seeds share these vocabularies; None: they are learned.
        """
        if task not in self._loaded:
            corpus = task.load(vocabularies)
            # those of a prepared corpus were counted when it was prepared
            counted = text_notes(corpus) if corpus.text_notes is None else corpus.text_notes
            notes = *corpus.notes, *counted, *_without_spaces(task, corpus), *_unknown(corpus)
            corpus = replace(corpus, notes=notes)
            for note in corpus.notes:
                self._say(f"data: {note}")
            if task.of_seed(0) != task:
                corpus = replace(
                    corpus, drawn=lambda seed: self.of(task.of_seed(seed), corpus.vocabularies)
                )
            self._loaded[task] = corpus
        return self._loaded[task]


def _without_spaces(task: Task, corpus: Corpus) -> Iterator[str]:
    """Yield a note where the words of the test references cannot be found by spaces."""
    if task.answers != "exact" and is_unspaced(corpus.references.get("test", ())):
        yield (
            "the test references are written without spaces between words: what splits at spaces, "
            "such as BLEU (unless metric.tokenize is zh or char) and word_perplexity, takes a "
            "whole sentence for one word"
        )


def _unknown(corpus: Corpus) -> Iterator[str]:
    """Yield a note where most words of a split that is not trained on are unknown."""
    for split in ("valid", "test"):
        for side, vocabulary in zip(SIDES, corpus.vocabularies, strict=True):
            examples = corpus.splits.get(split)
            if not examples or not isinstance(vocabulary, WordVocabulary):
                continue
            read = [getattr(examples[number], side) for number in range(min(READ, len(examples)))]
            words = np.concatenate(read)
            words = words[words != END]
            if words.size and (share := np.mean(words == UNKNOWN)) > 0.5:
                yield (
                    f"{share:.0%} of the {side} words of the {split} split are unknown, because "
                    "they are not among those of the training split: of text without spaces "
                    "between words task.vocabulary:characters or task.vocabulary:sentence-piece "
                    "knows the parts"
                )
