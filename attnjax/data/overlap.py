"""Test sources that training has too: they test what a model remembers."""

from dataclasses import replace

from attnjax.data.corpus import Corpus
from attnjax.errors import UserError


def with_overlap(corpus: Corpus) -> Corpus:
    """The corpus, with a note that counts the test sources that the training split has too.

    Only texts are compared, letter by letter.
    """
    tested = corpus.sources.get("test", [])
    # only test sources are kept apart, since a training split may have millions
    wanted = set(tested)
    seen = {source for source in corpus.sources.get("train", ()) if source in wanted}
    count = sum(source in seen for source in tested)
    if not count:
        return corpus
    if count == len(tested):
        raise UserError(
            f"each of the {count:,} test sources is one of the training split too, as "
            f"{tested[0][:60]!r} is, so nothing unseen is tested: take another test split"
        )
    note = (
        f"{count:,} of {len(tested):,} test sources are in the training split too: a model may "
        "remember their answers"
    )
    return replace(corpus, notes=(*corpus.notes, note))
