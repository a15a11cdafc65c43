"""One set of answers, scored as papers do; oracles are sacrebleu itself and small counts."""

import pytest
from sacrebleu import corpus_bleu, corpus_chrf

from attnjax.cli.main import main
from attnjax.errors import UserError
from attnjax.trained.open_run import open
from attnjax.trained.protocols import protocol_scores, protocols

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


def test_what_is_no_text_is_refused(tiny_runs, capsys, tmp_path):
    folder = tiny_runs / "tiny" / "scaled" / "seed-0"
    with pytest.raises(UserError, match="protocols score sentences of text"):
        protocols(open(folder))
    answers = tmp_path / "answers"
    capsys.readouterr()
    words = ["evaluate", str(folder), "--answers", str(answers), "measures:perplexity"]
    assert main(words) == 0
    assert "word_perplexity: " in capsys.readouterr().out
    assert answers.read_text() == (folder / "hypotheses.txt").read_text()
