"""Text goes to ids and comes back; a saved vocabulary is the same one or is refused."""

import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from attnjax.config.constraints import check_fields
from attnjax.data import vocabulary as module
from attnjax.data.moses import MosesWords
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.data.vocabularies import Vocabularies, joint, load_vocabularies
from attnjax.data.vocabulary import SPECIAL, Characters, CharacterVocabulary, Labels, SplitWords
from attnjax.errors import UserError

# no spaces within a word, and no continuation mark at its end
words = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1).filter(
    lambda word: word.split() == [word] and not word.endswith("@@")
)
SYLLABLES = ("ba", "co", "di", "fe", "gu", "la", "mo", "ni", "pe", "ru")
WORDS = [f"{first}{second}{first}" for first in SYLLABLES for second in SYLLABLES if first < second]
TEXTS = [" ".join(WORDS[start::7] + WORDS[start::11]) for start in range(20)]
PARTS = [Characters(), SplitWords(), SentencePiece(size=40)]


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_characters_come_back(texts):
    vocabulary = Characters().learn(texts)
    for text in texts:
        ids = vocabulary.encode(text)
        assert vocabulary.decode(ids) == vocabulary.plain(text) == text
        assert not set(ids) & {PAD, START, END, UNKNOWN}


@given(st.lists(st.lists(words, min_size=1), min_size=1))
def test_words_come_back(sentences):
    texts = [" ".join(sentence) for sentence in sentences]
    vocabulary = SplitWords().learn(texts)
    for text in texts:
        ids = vocabulary.encode(text)
        assert vocabulary.decode(ids) == vocabulary.plain(text) == text
        assert not set(ids) & {PAD, START, END, UNKNOWN}


@given(st.lists(words, min_size=1), st.integers(1, 3))
def test_words_come_back_from_subwords(sentence, size):
    cut = "@@ ".join
    text = " ".join(
        cut(word[at : at + size] for at in range(0, len(word), size)) for word in sentence
    )
    vocabulary = SplitWords().learn([text])
    assert vocabulary.decode(vocabulary.encode(text)) == " ".join(sentence)


LONG = [part.learn(TEXTS) for part in (*PARTS, MosesWords())]


@pytest.mark.parametrize("vocabulary", LONG, ids=lambda each: type(each).__name__)
@given(
    text=st.lists(st.sampled_from([*WORDS[:9], *". \n\r\x1c\u2028@\ud800😀"])).map("".join),
)
@example(text=f"{WORDS[0]}.\n{WORDS[1]}")  # Moses: no sentence ends before a small letter
def test_a_long_text_has_the_ids_of_any_text(vocabulary, text):
    """Spaces, all kinds of line ends, unknown characters; blocks shorter than the text."""
    if not isinstance(vocabulary, CharacterVocabulary):
        text = text.replace("\ud800", "")  # half a character: no text of a file has it
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "BLOCK", 3)
        ids = vocabulary.encode_long(text)
    assert ids.tolist() == vocabulary.encode(text)
    assert ids.dtype == np.uint8


@pytest.mark.parametrize("size", [255, 256, 257, 300, 511, 512, 65_536, 65_537])
def test_the_type_of_ids_holds_every_id(size):
    vocabulary = CharacterVocabulary((*SPECIAL, *map(chr, range(0x10000, 0x10000 + size - 4))))
    assert vocabulary.size == size
    assert np.iinfo(vocabulary.dtype).max >= size - 1
    assert vocabulary.dtype.itemsize == (1 if size < 256 else 2 if size < 65_536 else 4)
    text = "".join(vocabulary.pieces[4:])
    assert vocabulary.encode_long(text).tolist() == [*range(4, size)]


def test_pieces_of_sentencepiece_come_back():
    vocabulary = SentencePiece(size=40).learn(TEXTS)
    assert vocabulary.size == 40
    for text in TEXTS:
        assert vocabulary.decode([START, *vocabulary.encode(text), END, PAD]) == text
        assert UNKNOWN not in vocabulary.encode(text)
    assert UNKNOWN in vocabulary.encode("日")
    assert vocabulary.encode("a\ud83d") == vocabulary.encode("a\ufffd")  # half a character
    assert SentencePiece(size=40).learn(TEXTS).digest == vocabulary.digest


RESERVED = "\0\x1f\u2585"
"""What sentencepiece writes with: UNKNOWN in a text."""
SPACED = SentencePiece(size=14, algorithm="bpe").learn(["ab\tba\n b", "\u00a0a\u3000"])
# any other characters, but halves of surrogate pairs, which no file holds
anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=RESERVED))


@given(st.lists(anything, min_size=1, max_size=4).filter("".join))
@pytest.mark.parametrize("algorithm", ["unigram", "bpe"])
def test_texts_of_any_characters_come_back_from_sentencepiece(algorithm, texts):
    spaced = [re.sub("[ \u2581]+", " ", text).strip(" ") for text in texts]
    assume("".join(spaced).strip())
    letters = sorted({*"".join(texts)})  # also apart, since "<end>" as a whole is not learned from
    part = SentencePiece(algorithm=algorithm, size=len(SPECIAL) + len({*letters, " "}) + 1)
    learned_from = [*texts, " ".join(letters)]
    try:
        vocabulary = part.learn(learned_from)
    except UserError as error:
        fits = re.search(r"(?:gives|need) (\d+)", str(error))
        assert fits
        vocabulary = replace(part, size=int(fits[1])).learn(learned_from)
    for text, expected in zip(texts, spaced, strict=True):
        assert vocabulary.decode([*vocabulary.encode(text), END]) == expected


# few characters, so that spaces and their marks meet each other, and reserved and unknown ones
@given(st.text("ab \u2581\n\t\u00a0\u3000日" + RESERVED, max_size=9))
@settings(max_examples=200)
def test_references_have_the_spaces_that_pieces_of_sentencepiece_give_back(text):
    assert SPACED.plain(text) == SPACED.merge(SPACED.split(text))
    if UNKNOWN not in SPACED.encode(text):
        assert SPACED.plain(text) == SPACED.decode(SPACED.encode(text))


@pytest.mark.parametrize("reserved", RESERVED)
def test_a_reserved_character_is_unknown_and_the_others_of_its_text_are_not(reserved):
    vocabulary = SentencePiece(size=9).learn([f"ab{reserved}cd"])
    assert vocabulary.decode(vocabulary.encode(f"ab{reserved}cd")) == "ab \u2047 cd"


def test_pieces_are_learned_from_a_sample_of_the_texts():
    texts = [f"a text of number {number}" for number in range(300)]
    part = SentencePiece(size=30, sample=100)
    drawn = part.learn(iter(texts)).digest
    assert drawn == part.learn(texts).digest
    assert drawn != replace(part, sample=None).learn(texts).digest
    assert replace(part, sample=300).learn(texts) == replace(part, sample=None).learn(texts)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("brea@@ king a stick", "breaking a stick"),
        ("an@@ trie@@ b@@ s@@ rad@@ system .", "antriebsradsystem ."),
        ("at the end@@", "at the end"),
        ("user @@ host", "user host"),  # what the sed of these corpora makes of it
        ("a@@b stays", "a@@b stays"),
    ],
)
def test_continued_words_are_joined(text, joined):
    vocabulary = SplitWords().learn([text])
    assert vocabulary.decode(vocabulary.encode(text)) == joined
    assert vocabulary.plain(text) == joined
    assert vocabulary.tokens(vocabulary.encode(text)) == text.split()


def test_a_label_is_the_same_with_spaces_at_its_ends_unless_it_was_learned_with_them():
    vocabulary = Labels().learn(["good", "very bad", "odd "])
    assert [*map(vocabulary.plain, [" good", "very bad\t", "odd ", "new "])] == [
        "good",
        "very bad",
        "odd ",
        "new",
    ]


def test_a_no_break_space_is_a_letter_of_its_word():
    text = "costs 10\u00a0000\t\u3000 a\u2028b\x85c\x1fd\r\ne"
    words = ["costs", "10\u00a0000", "\u3000", "a\u2028b\x85c\x1fd", "e"]
    vocabulary = SplitWords().learn([text])
    assert SplitWords().words(text) == vocabulary.split(text) == words
    assert vocabulary.plain(text) == " ".join(words)
    assert vocabulary.encode_long(text).tolist() == vocabulary.encode(text)
    assert UNKNOWN not in vocabulary.encode(text)
    assert vocabulary.decode(vocabulary.encode(text)) == vocabulary.plain(text)


def test_words_by_frequency_then_alphabet_and_rare_ones_unknown():
    vocabulary = SplitWords(min_count=2).learn(["b a c", "a b", "c d c"])
    assert vocabulary.pieces[4:] == ("c", "a", "b")
    assert vocabulary.encode("d a") == [UNKNOWN, 5]
    with pytest.raises(UserError, match=r"no word occurs 9 times.*of 4 words occurs 3 times"):
        SplitWords(min_count=9).learn(["b a c", "a b", "c d c"])
    with pytest.raises(UserError, match="min_count: wanted"):
        check_fields(SplitWords(min_count=0))


def test_decode_stops_at_end_and_text_cannot_spell_a_special_symbol():
    vocabulary = SplitWords().learn(["a b <end>"])
    a, b = vocabulary.encode("a b")
    assert vocabulary.decode([START, a, PAD, b, END, a]) == "a b"
    (spelled,) = vocabulary.encode("<end>")
    assert spelled >= 4
    assert vocabulary.encode("<pad>") == [UNKNOWN]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_a_saved_vocabulary_is_the_same(part, tmp_path):
    vocabulary = part.learn(TEXTS)
    joint(vocabulary).save(tmp_path / "vocabulary")
    loaded, target = load_vocabularies(tmp_path / "vocabulary", vocabulary.digest)
    assert loaded == vocabulary == target
    assert [loaded.encode(text) for text in TEXTS] == [vocabulary.encode(text) for text in TEXTS]


def test_two_vocabularies_one_and_none(tmp_path):
    words, letters = SplitWords().learn(TEXTS), Characters().learn(TEXTS)
    for number, sides in enumerate(((words, letters), (words, words), (None, words), (None, None))):
        vocabularies = Vocabularies(*sides)
        vocabularies.save(tmp_path / str(number))
        found = load_vocabularies(tmp_path / str(number), vocabularies.digest)
        assert found == vocabularies
        assert found.sizes == tuple(None if side is None else side.size for side in sides)
    swapped = Vocabularies(letters, words).digest
    assert swapped != Vocabularies(words, letters).digest
    with pytest.raises(UserError, match="another run"):
        load_vocabularies(tmp_path / "0", swapped)


def test_only_the_most_frequent_words():
    learned = SplitWords(max_size=2).learn(["a b b c c c", "d c"])
    assert learned.pieces[4:] == ("c", "b")
    with pytest.raises(UserError, match="max_size: wanted"):
        check_fields(SplitWords(max_size=0))


def test_another_or_a_damaged_vocabulary_is_refused(tmp_path):
    learned = Characters().learn(TEXTS)
    with pytest.raises(UserError, match="is missing"):
        load_vocabularies(tmp_path)
    learned.save(tmp_path)
    other = SplitWords().learn(TEXTS).digest
    with pytest.raises(UserError, match=f"another run: .*{learned.digest[:12]}, not {other[:12]}"):
        load_vocabularies(tmp_path, other)
    path = tmp_path / "vocabulary.json"
    content = json.loads(path.read_text())
    content["pieces"][5], content["pieces"][6] = content["pieces"][6], content["pieces"][5]
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match="was changed"):
        load_vocabularies(tmp_path)
    path.write_text(path.read_text()[:50])
    with pytest.raises(UserError, match="damaged"):
        load_vocabularies(tmp_path)


def test_a_kind_with_the_same_pieces_is_another_vocabulary():
    characters, words = Characters().learn(["ab"]), SplitWords().learn(["a b"])
    assert characters.pieces == words.pieces
    assert characters.digest != words.digest


def test_the_model_of_sentencepiece_belongs_to_its_pieces(tmp_path):
    SentencePiece(size=40).learn(TEXTS).save(tmp_path)
    other = SentencePiece(size=41).learn(TEXTS)
    (tmp_path / "sentencepiece.model").write_bytes(other.model)
    with pytest.raises(UserError, match=r"damaged.*not as it was written"):
        load_vocabularies(tmp_path)
    path = tmp_path / "vocabulary.json"
    content = json.loads(path.read_text())
    del content["sentencepiece.model"]
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"damaged.*'sentencepiece.model'"):
        load_vocabularies(tmp_path)
    content["sentencepiece.model"] = hashlib.sha256(other.model).hexdigest()
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"damaged.*other pieces"):
        load_vocabularies(tmp_path)
    (tmp_path / "sentencepiece.model").write_bytes(b"no model")
    content["sentencepiece.model"] = hashlib.sha256(b"no model").hexdigest()
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match="damaged.*not a model of sentencepiece"):
        load_vocabularies(tmp_path)
    (tmp_path / "sentencepiece.model").unlink()
    with pytest.raises(UserError, match=r"sentencepiece\.model is missing"):
        load_vocabularies(tmp_path)


def test_a_bit_of_the_model_of_sentencepiece_is_noticed(tmp_path):
    """Its pieces stay the same; sentencepiece itself would crash of some of these bits."""
    vocabulary = SentencePiece(size=40).learn(TEXTS)
    joint(vocabulary).save(tmp_path)
    for place in range(0, len(vocabulary.model), 7):
        damaged = bytearray(vocabulary.model)
        damaged[place] ^= 1
        (tmp_path / "sentencepiece.model").write_bytes(damaged)
        with pytest.raises(UserError, match=r"sentencepiece\.model is not as it was written"):
            load_vocabularies(tmp_path, vocabulary.digest)


def test_sizes_that_sentencepiece_cannot_make():
    with pytest.raises(UserError, match=r"size=8000: the corpus gives \d+ pieces at most") as most:
        SentencePiece(size=8000).learn(TEXTS)
    largest = int(str(most.value).split("gives ")[1].split()[0])
    assert SentencePiece(size=largest).learn(TEXTS).size == largest
    with pytest.raises(UserError, match=r"size=5: its characters alone need \d+"):
        SentencePiece(size=5).learn(TEXTS)
    with pytest.raises(UserError, match="size=8000: the texts to learn from are empty"):
        SentencePiece(size=8000).learn(["", " "])
    with pytest.raises(UserError, match="coverage: wanted"):
        check_fields(SentencePiece(coverage=2))
