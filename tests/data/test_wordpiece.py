"""WordPiece: the pieces of transformers' tokenizer, and what is no vocabulary of BERT."""

import json
from itertools import product

import pytest
from hypothesis import given, strategies as st

from attnjax.data import UNKNOWN, WordPiece, WordPieceVocabulary, joint, load_vocabularies
from attnjax.data.vocabulary import SPECIAL
from attnjax.data.wordpiece import basic_words, order_of, pieces_of, read_pieces
from attnjax.errors import UserError
from tests.models.golden_bert import GOLDEN, ORDER, WORDS


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("".join(word + "\n" for word in WORDS), encoding="utf-8")
    return path


def test_pieces_are_those_of_transformers(file):
    vocabulary = WordPiece(file=str(file)).learn(())
    golden = json.loads(str(GOLDEN["pieces"]))
    assert len(golden) == 5
    for text, pieces in golden.items():
        found = vocabulary.split(text)
        known = [piece if piece in WORDS else "[UNK]" for piece in found]
        assert known == pieces
        expected = [
            UNKNOWN if piece == "[UNK]" else ORDER.index(WORDS.index(piece)) for piece in pieces
        ]
        assert vocabulary.encode(text) == expected


def test_case_and_accents_stay_where_they_are_to_stay(file):
    cased = WordPiece(file=str(file), lower=False).learn(())
    assert cased.encode("The cat") == [UNKNOWN, *cased.encode("cat")]
    assert WordPiece(file=str(file)).learn(()).encode("THE") == cased.encode("the")


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        # as transformers' BertTokenizer with do_lower_case, strip_accents, tokenize_chinese_chars
        ((True, None, True), "schon uber 你 好 !"),
        ((True, False, True), "schön über 你 好 !"),
        ((True, True, False), "schon uber 你好 !"),
        ((False, None, True), "Schön über 你 好 !"),
        ((False, True, True), "Schon uber 你 好 !"),
        ((False, False, False), "Schön über 你好 !"),
    ],
)
def test_case_accents_and_ideographs_are_chosen_apart(file, reading, words):
    fields = dict(zip(("lower", "strip_accents", "split_ideographs"), reading, strict=True))
    part = WordPiece(file=str(file), **fields)
    assert part.words("Schön über 你好!") == words.split()
    assert part.learn(()).words("Schön über 你好!") == words.split()


@given(st.text("abc", min_size=1, max_size=12), st.sets(st.text("abc", min_size=1, max_size=3)))
def test_pieces_make_the_word_and_each_is_the_longest(word, known):
    known = known | {f"##{piece}" for piece in known} | {"a", "##a", "##b"}
    pieces = pieces_of(word, dict.fromkeys(known))
    if pieces == [word]:
        return
    assert "".join(piece.removeprefix("##") for piece in pieces) == word
    rest = word
    for number, piece in enumerate(pieces):
        prefix = "##" if number else ""
        longer = {
            prefix + rest[:size] for size in range(len(piece) - len(prefix) + 1, len(rest) + 1)
        }
        assert piece in known
        assert not longer & known
        rest = rest[len(piece) - len(prefix) :]


def test_a_text_is_merged_from_its_pieces(file):
    vocabulary = WordPiece(file=str(file)).learn(())
    assert vocabulary.decode(vocabulary.encode("unwanted cats!")) == "unwanted cats !"


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_a_text_of_any_characters_comes_back_as_its_words(text, lower):
    words = basic_words(text, lower=lower, strip_accents=lower)
    letters = sorted({*"".join(words)})
    pieces = (*SPECIAL, *letters, *(f"##{letter}" for letter in letters))
    vocabulary = WordPieceVocabulary(pieces, lower)
    back = vocabulary.decode(vocabulary.encode(text))
    assert back == vocabulary.plain(text) == " ".join(words)
    assert basic_words(back, lower=lower, strip_accents=lower) == words


READINGS = [*product((True, False), (None, True, False), (True, False))]


@pytest.mark.parametrize("reading", READINGS)
def test_is_saved_and_restored(file, tmp_path, reading):
    fields = dict(zip(("lower", "strip_accents", "split_ideographs"), reading, strict=True))
    vocabulary = WordPiece(file=str(file), **fields).learn(())
    joint(vocabulary).save(tmp_path / "saved")
    found = load_vocabularies(tmp_path / "saved").source
    assert isinstance(found, WordPieceVocabulary)
    assert found == vocabulary
    assert (found.lower, found.strip_accents, found.split_ideographs) == reading


def test_every_reading_has_a_digest_of_its_own():
    pieces = (*SPECIAL, "a")
    digests = {WordPieceVocabulary(pieces, *reading).digest for reading in READINGS}
    assert len(digests) == len(READINGS)


def test_the_order_is_special_symbols_words_and_mask():
    assert order_of(WORDS) == ORDER


def test_what_is_no_vocabulary_of_bert_is_refused(file):
    file.write_text("a\nb\n[PAD]\na\n", encoding="utf-8")
    with pytest.raises(UserError, match="'a' stands there twice"):
        read_pieces(file)
    file.write_text("a\n[PAD]\n[CLS]\n[SEP]\n[UNK]\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"no vocabulary of BERT: it has no line \[MASK\]"):
        read_pieces(file)
