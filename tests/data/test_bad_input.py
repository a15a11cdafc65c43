"""Texts as they should not be: read as they are, or refused in one sentence; nothing is lost."""

import hashlib
from dataclasses import replace

import pytest
from hypothesis import example, given, strategies as st

from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.corpus import Corpus
from attnjax.data.loaded import Corpora
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import Characters
from attnjax.errors import UserError

CONTROLS = "".join(map(chr, (*range(1, 10), 11, 12, *range(14, 32), *range(127, 160))))
LONG = "la " * 350_000


def written(folder, *pairs):
    for side, texts in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        (folder / f"train.{side}").write_bytes("".join(f"{text}\n" for text in texts).encode())
    return {"folder": str(folder), "valid": None, "test": None}


def test_control_characters_are_characters(tmp_path):
    fields = written(tmp_path, (CONTROLS, f"a{CONTROLS}"), ("a\0b", "c"))
    corpus = ParallelText(**fields, vocabulary=Characters()).load()
    assert corpus.sources["train"] == [CONTROLS, "a\0b"]
    decode = corpus.vocabularies.source.decode
    assert [decode(example.target) for example in corpus.splits["train"]] == [f"a{CONTROLS}", "c"]


def test_a_line_of_a_megabyte_is_left_out_or_named(tmp_path):
    task = ParallelText(**written(tmp_path, ("a", "b"), (LONG, "b"), ("c", "d")))
    corpus = replace(task, max_length=50).load()
    assert corpus.sources["train"] == ["a", "c"]
    assert corpus.notes == ("1 of 3 training examples are left out: a side has more than 50 words",)
    with pytest.raises(UserError, match=r"^example 2 has 350,?001 source and 2 target") as error:
        Batching().check(task.load().splits["train"])
    assert len(str(error.value)) < 300
    pieces = SentencePiece(size=12, algorithm="bpe").learn(["a b", LONG])
    assert pieces.decode(pieces.encode(LONG)) == LONG.strip()


PAIRS = st.lists(st.tuples(st.text("a\n", max_size=3), st.text("a\n", max_size=3)), max_size=4)


def digest(pairs):
    sources, references = [[*side] for side in zip(*pairs, strict=True)] or ([], [])
    texts = {"sources": {"test": sources}, "references": {"test": references}}
    return Corpus(vocabularies=Vocabularies(None, None), splits={}, **texts).digest("test")


@given(PAIRS, PAIRS)
@example([("a", "a\na"), ("a", "a")], [("a", "a"), ("a\na", "a")])
@example([("a\n", "a")], [("a", "\na")])
def test_pairs_with_line_breaks_have_a_digest_of_their_own(pairs, others):
    assert (digest(pairs) == digest(others)) == (pairs == others)


def test_the_digest_of_pairs_in_lines_is_the_recorded_one():
    recorded = hashlib.sha256(b"a\nb c\nA\n\n").hexdigest()[:16]
    assert digest([("a", "A"), ("b c", "")]) == recorded


def test_empty_lines_and_repeated_pairs_are_kept_and_counted(tmp_path):
    pairs = [("a", "b"), ("", "b"), ("a", "b"), (" ", " "), ("a", "c"), ("a", "b")]
    said = []
    corpus = Corpora(said.append).of(ParallelText(**written(tmp_path, *pairs)))
    assert len(corpus.splits["train"]) == len(pairs)
    assert said == [
        "data: 2 of 6 train examples have an empty source or target",
        "data: 2 of 6 train examples repeat an earlier one",
    ]
