"""Moses' words: punctuation apart, by the language's rules; scored as tokenized text."""

import pytest

from attnjax.data.corpora.parallel_text import TabSeparated
from attnjax.data.moses import MosesVocabulary, MosesWords, tokenize
from attnjax.data.special_tokens import UNKNOWN
from attnjax.data.vocabularies import Vocabularies, load_vocabularies
from attnjax.errors import UserError


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "It's late, Mr. Smith.", "It 's late , Mr. Smith ."),
        ("fr", "C'est l'heure, d'accord ?", "C' est l' heure , d' accord ?"),
        ("de", "Das ist z.B. spät.", "Das ist z.B. spät ."),
        ("en", 'a & b <c> "d" | [e]', 'a & b < c > " d " | [ e ]'),  # nothing is escaped
        ("en", "", ""),
    ],
)
def test_words_and_punctuation(language, text, words):
    assert tokenize(text, language) == tuple(words.split())


def test_punctuation_is_no_part_of_a_word():
    learned = MosesWords(language="en").learn(["it's late,", "late ."])
    assert learned.pieces[4] == "late"
    assert UNKNOWN not in learned.encode("late, it's late.")
    ids = learned.encode("it's late.")
    # an answer and its reference are both tokenized text
    assert learned.decode(ids) == learned.plain("it's late.") == "it 's late ."
    assert learned.decode(learned.encode("a@@ b")).split()[0] != "b"


def test_the_language_is_saved_and_told_apart(tmp_path):
    english, french = (MosesWords(language=language).learn(["a ."]) for language in ("en", "fr"))
    assert english.pieces == french.pieces
    assert english.digest != french.digest
    Vocabularies(english, french).save(tmp_path)
    loaded = load_vocabularies(tmp_path)
    assert loaded == Vocabularies(english, french)
    assert isinstance(loaded.target, MosesVocabulary)
    path = tmp_path / "target" / "vocabulary.json"
    path.write_text(path.read_text().replace('"fr"', '"xx"'))
    with pytest.raises(UserError, match="damaged .*no language 'xx'"):
        load_vocabularies(tmp_path)


def test_long_sentences_are_counted_in_tokens_and_said_to_be_left_out(tmp_path):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.tsv").write_text("it's late.\tc'est tard.\nno\tnon\n")
    fields = {"folder": str(tmp_path), "vocabulary": MosesWords(language="en")}
    fields["target_vocabulary"] = MosesWords(language="fr")
    corpus = TabSeparated(**fields, max_length=3).load()
    assert corpus.sources["train"] == ["no"]
    assert len(corpus.splits["test"]) == 2
    (note,) = corpus.notes
    assert note == "1 of 2 training examples are left out: a side has more than 3 words"
    corpus = TabSeparated(**fields, max_length=4).load()
    assert corpus.notes == ()
    assert corpus.references["test"] == ["c' est tard .", "non"]
