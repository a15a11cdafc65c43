"""The corpora of tasks, each of which is loaded once."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from attnjax.data.corpus import Corpus, Task
from attnjax.data.text_notes import text_notes
from attnjax.data.unspaced import is_unspaced
from attnjax.data.vocabularies import Vocabularies


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
            notes = *corpus.notes, *counted, *_without_spaces(task, corpus)
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
