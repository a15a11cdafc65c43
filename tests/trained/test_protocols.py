"""One set of answers, scored as papers do; oracles are sacrebleu itself and small counts."""

from typing import get_args

import pytest
from sacrebleu import corpus_bleu, corpus_chrf

from attnjax.data.corpora.parallel_text import JsonLines, ParallelText, TabSeparated
from attnjax.data.generated.sequences import Copy
from attnjax.data.moses import Language, MosesWords
from attnjax.data.vocabulary import SplitWords
from attnjax.data.with_test import WithTest
from attnjax.errors import UserError
from attnjax.lab.cli.main import main
from attnjax.lab.trained.open_run import open
from attnjax.lab.trained.protocols import (
    LANGUAGES,
    _english,
    _target_language,
    named_language,
    protocol_scores,
    protocols,
)

ANSWERS = ["The well-known man isn't here, he said.", "A dog runs in the green park today ."]
REFERENCES = ["The well-known man isn't there, he said.", "a dog runs in the green park today."]


def test_plain_text_is_scored_as_by_sacrebleu():
    scores = protocol_scores(ANSWERS, REFERENCES, tokenized=False, language="en")
    assert scores["sacreBLEU"] == pytest.approx(corpus_bleu(ANSWERS, [REFERENCES]).score)
    lower = corpus_bleu(ANSWERS, [REFERENCES], lowercase=True).score
    assert scores["mteval-v13a"] == pytest.approx(lower)
    assert lower > scores["sacreBLEU"]
    assert scores["chrF"] == pytest.approx(corpus_chrf(ANSWERS, [REFERENCES]).score)
    assert scores["exact match"] == 0
    # a compound that is right is three right tokens more
    assert scores["multi-bleu, compounds"] > scores["multi-bleu"]


def test_tokens_are_joined_before_they_are_split_again():
    tokens = ["a dog is n't here , he said ."], ["a dog is n't here , he said ."]
    assert protocol_scores(*tokens, tokenized=True, language="en")["exact match"] == 1
    spaced = protocol_scores(["x , y ."], ["x, y ."], tokenized=True, language="en")
    assert spaced["exact match"] == 1
    assert spaced["multi-bleu"] == 0


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("fr", "fr"),
        ("tok.fr", "fr"),
        ("lc.norm.tok.fr", "fr"),
        ("tags.de-en.en", "en"),
        ("fr.bpe32k", "fr"),
        ("fr_CA", "fr"),
        ("pt-BR", "pt"),
        ("fra_Latn", "fr"),
        ("DE", "de"),
        ("tok.zh", "zh"),
        ("tok", None),
        ("target", None),
        ("", None),
    ],
)
def test_the_language_is_the_one_that_a_name_has(name, language):
    assert named_language(name) == language


def test_every_language_of_moses_words_has_protocols():
    assert {*get_args(Language.__value__), "ja", "ko", "zh"} == LANGUAGES.keys()


def test_the_language_of_a_task_is_that_of_its_vocabulary_or_its_targets():
    words, french = SplitWords().learn(["a"]), MosesWords(language="fr").learn(["a"])
    task = ParallelText(source="tok.en", target="tok.fr")
    assert _target_language(task, words) == "fr"
    assert _target_language(WithTest(task=task, test=ParallelText()), words) == "fr"
    assert _target_language(TabSeparated(), words) is None
    assert _target_language(TabSeparated(), french) == "fr"
    assert _target_language(ParallelText(target="mt"), french) == "fr"


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (JsonLines(target="le francais"), "their name, 'le francais', is of none"),
        (WithTest(task=ParallelText(target="mt"), test=ParallelText()), "name, 'mt', is of none"),
        (Copy(), "they have no name"),
    ],
)
def test_an_unknown_language_is_said(task, why, capsys):
    """A target that names no language was scored as English without a word."""
    assert _english(task) == "en"
    said = capsys.readouterr().err
    assert "the language of the targets is unknown" in said
    assert why in said
    assert "rules of English; --language takes one of ca, cs, de" in said


def test_chinese_and_japanese_have_tokens_without_spaces():
    zh, ja = "今天天气很不错我们去公园散步", "これはとても長い文です"
    for text, language in ((zh, "zh"), (ja, "ja")):
        scores = protocol_scores([text[:-1]], [text], tokenized=False, language=language)
        assert scores["sacreBLEU"] == scores["mteval-v13a"] > 80
    assert protocol_scores([zh[:-1]], [zh], tokenized=False, language="en")["sacreBLEU"] == 0


def test_a_compound_is_any_two_signs_that_a_hyphen_joins():
    # as in the authors' get_ende_bleu.sh: s/(\S)-(\S)/$1 ##AT##-##AT## $2/g
    answers, references = ["zu je 5%-Zinsen ,"], ["zu je 5%-Raten ,"]
    scores = protocol_scores(answers, references, tokenized=True, language="de")
    assert scores["multi-bleu"] == 0
    assert scores["multi-bleu, compounds"] > 50


def test_what_is_no_text_is_refused(tiny_runs, capsys, tmp_path):
    folder = tiny_runs / "tiny" / "scaled" / "seed-0"
    with pytest.raises(UserError, match="protocols score sentences of text"):
        protocols(open(folder))
    with pytest.raises(UserError, match="unknown language 'xx'"):
        protocols(open(folder), language="xx")
    assert main(["evaluate", str(folder), "--language", "fr"]) == 2
    assert "--language goes with --protocols" in capsys.readouterr().err
    answers = tmp_path / "answers"
    capsys.readouterr()
    words = ["evaluate", str(folder), "--answers", str(answers), "measures:perplexity"]
    assert main(words) == 0
    assert "word_perplexity: " in capsys.readouterr().out
    assert answers.read_text() == (folder / "hypotheses.txt").read_text()
