"""Two runs are compared sentence by sentence."""

import json
import math
from functools import partial

import jax
import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest
from scipy.special import rel_entr
from scipy.stats import chi2

from attnjax.errors import UserError
from attnjax.evaluation import Bleu, ExactMatch
from attnjax.evaluation.sentence_stats import sentences
from attnjax.lab.cli.main import main
from attnjax.lab.trained.comparison import (
    AnswerPair,
    attention_agreement,
    compare,
    most_different,
    paired,
)
from attnjax.lab.trained.trained_run import open_trained
from attnjax.training.objectives.base import shifted

random = np.random.default_rng(1)
WORDS = np.array(["a", "b", "c", "d", "e", "f", "g", "h"])
REFERENCES = [" ".join(random.choice(WORDS, 9)) for _ in range(60)]


def noisy(share: float) -> list[str]:
    """Return the references, with that share of words replaced."""
    draw = np.random.default_rng(round(share * 100))
    return [
        " ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split())
        for line in REFERENCES
    ]


def compared(metric, first, second):
    return paired(*(sentences(metric, each, REFERENCES, None) for each in (first, second)))


def test_bleu_is_compared_as_by_sacrebleu(monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "1")
    first, second = noisy(0.30), noisy(0.33)
    found = compared(Bleu(), first, second)
    systems = [("second", second), ("first", first)]
    _, scores = PairedTest(systems, {"BLEU": BLEU()}, [REFERENCES], "ar", 10_000)()
    wanted = scores["BLEU"]
    assert found.scores == pytest.approx((wanted[1].score, wanted[0].score))
    assert found.probability == pytest.approx(wanted[1].p_value, abs=0.02)
    estimate, low, high = found.difference
    assert estimate == pytest.approx(wanted[1].score - wanted[0].score)
    assert low < estimate < high
    assert found.discordant is None


def test_runs_that_answer_alike_do_not_differ():
    alike = compared(ExactMatch(), noisy(0.1), noisy(0.1))
    assert alike.difference == (0, 0, 0)
    assert alike.probability == 1
    assert alike.discordant == (0, 0, 1)


def test_mcnemar_is_near_its_chi_square():
    first = [line if number < 45 else "" for number, line in enumerate(REFERENCES)]
    second = [line if number % 2 else "" for number, line in enumerate(REFERENCES)]
    found = compared(ExactMatch(), first, second).discordant
    assert found is not None
    assert (found.first, found.second) == (23, 8)
    assert found.probability == pytest.approx(chi2.sf((23 - 8 - 1) ** 2 / (23 + 8), 1), rel=0.15)
    with pytest.raises(UserError, match="at least two sentences; got 1"):
        paired(*(sentences(ExactMatch(), ["a"], ["a"], None) for _ in range(2)))


def test_the_command(tiny_runs, capsys, monkeypatch):
    pair = AnswerPair(7, "0 1", "1 0", "1 0", "")
    monkeypatch.setattr("attnjax.lab.trained.comparison.most_different", lambda *_: [pair])
    scaled, cosine = (tiny_runs / "tiny" / name / "seed-0" for name in ("scaled", "cosine"))
    capsys.readouterr()
    words = ["compare", str(scaled), str(cosine), "--sentences", "2", "--attention"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    alike = attention_agreement(scaled, scaled)
    assert len(alike) == 3
    assert [*alike.values()] == pytest.approx([1, 1, 1], abs=1e-6)
    different = attention_agreement(scaled, cosine, examples=1)
    for name, number in different.items():
        assert 0 <= number < 1, "the cosine's heads attend otherwise"
        assert f"agreement of {name}: " in printed
    assert "exact_match: " in printed
    lines = "7", "  source     0 1", "  reference  1 0", "  scaled     1 0", "  cosine"
    assert printed.endswith("\n\n" + "\n".join(lines) + "\n")
    assert "with other seeds the variants may compare otherwise" in printed
    for words in ("95 % over sentences", "p = 1", "McNemar: 0 right in scaled alone, 0 in cosine"):
        assert words in printed
    other = tiny_runs / "tiny" / "scaled" / "seed-1"
    with pytest.raises(UserError, match="were tested on different sentences or metrics"):
        compare(scaled, other)


def test_agreement_is_1_less_the_divergence_in_units_of_ln_2(tiny_runs):
    """Against the Jensen-Shannon divergence written out, of a pair of runs."""
    pair = [tiny_runs / "tiny" / name / "seed-0" for name in ("scaled", "cosine")]
    trained = [open_trained(folder) for folder in pair]
    corpus = trained[0].experiment.task.load(trained[0].vocabularies)
    batch = trained[0].inputs(corpus).first(4)

    @partial(jax.jit, static_argnums=0)
    def attentions(model, params, source, target):
        layers = model.attentions(params, source, shifted(target))
        return {layer.name: (layer.weights, layer.mask) for layer in layers}

    seen = [
        jax.device_get(attentions(run.experiment.model, run.params, batch.source, batch.target))
        for run in trained
    ]
    found, gaps = attention_agreement(*pair, examples=4), []
    for name, agreement in found.items():
        p, q = (each[name][0].astype(np.float64).mean(1) for each in seen)
        rows = np.broadcast_to(seen[0][name][1][:, 0], p.shape).any(-1)
        halves = (rel_entr(one, (p + q) / 2).sum(-1)[rows] / 2 for one in (p, q))
        gap = sum(halves).mean() / math.log(2)
        assert 1 - agreement == pytest.approx(gap, rel=0.02, abs=2e-6)
        gaps.append(gap)
    assert max(gaps) > 1e-4


def test_the_sentences_that_differ_most(tmp_path):
    answers = {"first": ["abcdef", "abc", "x y"], "second": ["abcdxx", "xyz", "x y"]}
    for name, lines in answers.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "hypotheses.txt").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(UserError, match="first keeps no references"):
        most_different(tmp_path / "first", tmp_path / "second", 3)
    kept = [["1", "abcdef"], ["2", "abc"], ["3", "x y"]]
    (tmp_path / "first" / "references.json").write_text(json.dumps(kept))
    different = most_different(tmp_path / "first", tmp_path / "second", 3)
    assert different == [(2, "2", "abc", "abc", "xyz"), (1, "1", "abcdef", "abcdef", "abcdxx")]
    assert most_different(tmp_path / "first", tmp_path / "second", 1) == different[:1]
    # a carriage return is no line's end; a line break in an answer was written as it is, once
    (tmp_path / "second" / "hypotheses.txt").write_bytes(b"abcdxx\nx\ryz\nx y\n")
    assert most_different(tmp_path / "first", tmp_path / "second", 1)[0].first == "abc"
    (tmp_path / "second" / "hypotheses.txt").write_bytes(b"abc\ndxx\nxyz\nx y\n")
    with pytest.raises(UserError, match="second/.* it has 4 answers to 3 sentences"):
        most_different(tmp_path / "first", tmp_path / "second", 1)
