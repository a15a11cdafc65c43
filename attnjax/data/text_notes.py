"""Notes on texts that are empty or repeated, and on test sources that are in training, too."""

from array import array
from collections.abc import Iterator

import numpy as np

from attnjax.data.corpus import Corpus
from attnjax.errors import UserError


def text_notes(corpus: Corpus) -> tuple[str, ...]:
    """Count empty texts, repeated pairs, and test sources that are also in training, in notes.

    Only texts are compared, and must be equal. It is an error if every test source is in training.
    """
    return (*_empty_or_repeated(corpus), *_overlap(corpus))


def _empty_or_repeated(corpus: Corpus) -> Iterator[str]:
    for split, sources in corpus.sources.items():
        empty, hashes = 0, array("q")  # of millions of pairs only the hashes are in memory
        for pair in zip(sources, corpus.references.get(split, sources), strict=True):
            empty += not all(map(str.strip, pair))
            hashes.append(hash(pair))
        of = f"of {len(hashes):,} {split} examples"
        if empty:
            yield f"{empty:,} {of} have an empty source or target"
        if split == "train" and (repeated := len(hashes) - len(np.unique(hashes))):
            yield f"{repeated:,} {of} repeat an earlier one"


def _overlap(corpus: Corpus) -> Iterator[str]:
    tested = corpus.sources.get("test", [])
    # a set of the test sources alone: a training split may have millions
    wanted = set(tested)
    seen = {source for source in corpus.sources.get("train", ()) if source in wanted}
    count = sum(source in seen for source in tested)
    if count and count == len(tested):
        raise UserError(
            f"each of the {count:,} test sources is one of the training split too, as "
            f"{tested[0][:60]!r} is, so nothing unseen is tested: take another test split"
        )
    if count:
        yield (
            f"{count:,} of {len(tested):,} test sources are in the training split too: a model may "
            "remember their answers"
        )
