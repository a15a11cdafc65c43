"""Text without spaces between words: its length is counted, and a reader is told."""

from dataclasses import dataclass

import pytest

from attnjax.config.vary import vary
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.corpora.sentences import LearnedFrom
from attnjax.data.corpus import Corpus, Example, Task, build
from attnjax.data.loaded import Corpora
from attnjax.data.moses import MosesWords
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.unspaced import counted_words, is_unspaced
from attnjax.data.vocabularies import SavedVocabulary, joint
from attnjax.data.vocabulary import Characters, Labels, SplitWords, VocabularyPart

CHINESE = "今天天气很不错我们去公园散步"
SEGMENTED = "今天 天气 很 不错 我们 去 公园 散步"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a well-known man , here", ["a", "well-known", "man", ",", "here"]),
        ("GPT很好。 ok", ["GPT", "很", "好", "。", "ok"]),
        ("カメラは 高い", [*"カメラは高い"]),
        ("ไปไหน", [*"ไปไหน"]),
        ("학교에 갔다", ["학교에", "갔다"]),
        ("", []),
    ],
)
def test_letters_of_scripts_without_spaces_are_words(text, words):
    assert counted_words(text) == words


@pytest.mark.parametrize(
    ("texts", "unspaced"),
    [
        ([CHINESE, "你好世界"], True),
        (["これはとても長い文です。", "はい"], True),
        (["วันนี้อากาศดีมาก เราไปเดินเล่นที่สวนสาธารณะ"], True),
        ([SEGMENTED], False),
        (["คน ไทย ชอบ กิน ข้าว"], False),
        (["Donaudampfschifffahrtsgesellschaftskapitän", "a" * 40], False),
        (["the word 今天天气很不错 is Chinese, as a reader of it knows"], False),
        ([], False),
    ],
)
def test_whether_spaces_are_missing(texts, unspaced):
    assert is_unspaced(texts) is unspaced


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        (Characters(), ["你好", "再见", "我去"]),
        (
            SentencePiece(size=46, algorithm="bpe"),
            ["你好", "再见", "我去", "a short one, of seven"],
        ),
        (SplitWords(), ["你好", "再见", "我去", "a short one, of seven", CHINESE]),
        (MosesWords(), ["你好", "再见", "我去"]),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, VocabularyPart) else "",
)
def test_long_texts_without_spaces_are_left_out(tmp_path, part, kept):
    lines = ["你好", "再见", "我去", "a short one, of seven", CHINESE, SEGMENTED]
    for side in ("zh", "en"):
        (tmp_path / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    task = ParallelText(
        folder=str(tmp_path), source="zh", target="en", valid=None, test=None, max_length=5
    )
    corpus = vary(task, {"vocabulary": part}).load()
    assert corpus.sources["train"] == kept
    learned = part.learn(lines)
    joint(learned).save(tmp_path / "vocabulary")
    saved = SavedVocabulary(folder=str(tmp_path / "vocabulary"))
    for vocabulary in (learned, saved, LearnedFrom(vocabulary=part, tasks=(task,))):
        assert [*map(vocabulary.words, lines)] == [*map(part.words, lines)]


@dataclass(frozen=True, eq=False)
class Given(Task):
    """A task whose corpus and kind of answers are given."""

    corpus: Corpus
    kind: str | None = "text"

    @property
    def answers(self):
        return self.kind

    def load(self, vocabularies=None) -> Corpus:
        return self.corpus


@pytest.mark.parametrize(
    ("reference", "part", "kind", "noted"),
    [
        (CHINESE, Characters(), "text", True),
        (CHINESE, SplitWords(), "text", True),
        (CHINESE, Characters(), None, True),
        (SEGMENTED, SplitWords(), "text", False),
        (CHINESE, Labels(), "exact", False),
        ("a dog", Characters(), "text", False),
    ],
)
def test_a_note_says_what_metrics_that_split_at_spaces_see(reference, part, kind, noted):
    examples = {
        split: [Example(f"{split} {number}", f"{reference}{number}") for number in range(3)]
        for split in ("train", "test")
    }
    texts = [text for pairs in examples.values() for pair in pairs for text in pair[:2]]
    corpus = build(examples, joint(part.learn(texts)))
    said: list[str] = []
    notes = Corpora(said.append).of(Given(corpus, kind)).notes
    assert said == [f"data: {note}" for note in notes]
    assert [note for note in notes if "written without spaces" in note and "zh" in note] == (
        [*notes] if noted else []
    )


@pytest.mark.parametrize(
    ("part", "held_out", "noted"),
    [
        (SplitWords(), CHINESE, True),
        (MosesWords(), CHINESE, False),
        (SplitWords(), f"a {SEGMENTED}", False),
        (SplitWords(), f"b c a {SEGMENTED}", False),
        (Characters(), CHINESE, False),
    ],
)
def test_a_note_says_that_most_held_out_words_are_unknown(part, held_out, noted):
    """Each sentence of Chinese was one unknown word, and a model learned nothing by them."""
    train = [Example(f"{CHINESE[number:]} {SEGMENTED}", "a dog") for number in range(3, 6)]
    splits = {"train": train, "valid": [Example(held_out, "a dog")]}
    corpus = build(splits, joint(part.learn([text for pair in train for text in pair[:2]])))
    notes = [note for note in Corpora().of(Given(corpus)).notes if "are unknown" in note]
    begins = "100% of the source words of the valid split are unknown"
    assert [note.startswith(begins) for note in notes] == [True] * noted
