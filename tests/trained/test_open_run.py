"""`attnjax.open`, `attnjax.run` and `attnjax.lab.results`: what a notebook calls."""

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

import attnjax
from attnjax.config.serialize import parse_json
from attnjax.config.vary import vary
from attnjax.data.corpora.raw_text import RawText
from attnjax.data.generated.sequences import Copy
from attnjax.data.special_tokens import END, START
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SPECIAL, CharacterVocabulary, LabelVocabulary
from attnjax.decoding.label import Label
from attnjax.errors import UserError
from attnjax.experiment import Ablation, Claim, Experiment, Setting, Value, load
from attnjax.lab.reporting.runs import attention as kept_attention
from attnjax.lab.sweeps.run import _written
from attnjax.lab.trained.open_run import OpenRun
from attnjax.models.classifier import Classifier
from attnjax.models.language_model import LanguageModel
from attnjax.models.rnn_encoder import Encoder
from attnjax.training.settings import Training
from tests.jitted import apply, call, init
from tests.tiny import base

CHARACTERS = CharacterVocabulary((*SPECIAL, *"abc"))


@pytest.fixture(scope="module")
def run(tiny_runs) -> OpenRun:
    return attnjax.open(tiny_runs / "tiny" / "scaled" / "seed-0")


def untrained(experiment: Experiment, vocabularies: Vocabularies) -> OpenRun:
    """Return a run whose parameters are drawn."""
    experiment = experiment.with_vocabularies(vocabularies)
    ids = np.full((1, 1), END)
    params = init(experiment.model, jax.random.key(0), ids, ids, deterministic=True)["params"]
    return OpenRun(
        folder=Path("run"),
        manifest=None,
        experiment=experiment,
        vocabularies=vocabularies,
        params=params,
        finished=True,
    )


@pytest.fixture(scope="module")
def language_model() -> OpenRun:
    model = LanguageModel(width=8, num_layers=1)
    return untrained(Experiment(task=RawText(), model=model), Vocabularies(CHARACTERS, CHARACTERS))


@pytest.fixture(scope="module")
def classifier() -> OpenRun:
    model = Classifier(width=8, encoder=Encoder(width=4))
    labels = LabelVocabulary((*SPECIAL, "good", "very bad"))
    experiment = Experiment(
        task=Copy(), model=model, search=Label(), training=Training(batching=base.training.batching)
    )
    return untrained(experiment, Vocabularies(CHARACTERS, labels))


def test_every_layer_and_head_is_named_with_its_words(run):
    seen = run.attention("1 2 3", "3 2")
    own, across = "decoder_layers_0.self_attention", "decoder_layers_0.cross_attention"
    assert [*seen] == ["encoder_layers_0.self_attention", own, across]
    (sentence, *_) = kept_attention(run.folder)
    assert [layer.name for layer in sentence.layers] == [*seen], "as in the report"
    assert seen[across].rows == ("3", "2", "<end>")
    assert seen[across].columns == ("1", "2", "3", "<end>")
    assert seen[own].rows == seen[own].columns == ("<start>", "3", "2")
    assert seen[across].weights.shape == (2, 3, 4)
    source = np.asarray([run.experiment.task.ids("1 2 3", run.text("source"))])
    given = np.asarray([[START, *run.text("target").encode("3 2")]])
    (alignment,) = call(run.model, "alignment", run.params, source, given)
    np.testing.assert_allclose(seen[across].weights.mean(0), alignment, atol=1e-6)
    assert np.triu(seen[own].weights, 1).max() == 0
    html = seen[across]._repr_html_()
    assert html.count("<svg") == 2
    assert "head 1" in html


def test_without_a_target_the_attention_is_that_of_the_answer(run):
    (answer,) = run.translate(["1 2 3"])
    weights = run.attention("1 2 3")["decoder_layers_0.cross_attention"]
    assert " ".join(weights.rows).removesuffix("<end>").strip() == answer
    given = run.attention("1 2 3", answer)["decoder_layers_0.cross_attention"]
    np.testing.assert_array_equal(weights.weights, given.weights)


def test_the_best_answers_begin_with_the_answer_and_get_worse(run):
    lines = ["1 2", "", "3"]
    best = run.n_best(lines, 3, beam=3)
    assert [each[0].text if each else "" for each in best] == run.translate(lines, beam=3)
    assert len({answer.text for answer in best[0]}) == 3
    assert sorted(best[0], key=lambda answer: -answer.score) == best[0]
    with pytest.raises(UserError, match="3 answers want a search with as many hypotheses"):
        run.n_best(lines, 3)
    with pytest.raises(UserError, match="gives no labels: its answers are sentences"):
        run.classify(lines)


def test_fewer_possible_answers_are_fewer_answers(run, monkeypatch):
    search = Experiment.hypotheses

    def two_of_three(*arguments, **options):
        found = search(*arguments, **options)
        return [
            each._replace(scores=np.where(np.arange(3) < 2, each.scores, -np.inf)) for each in found
        ]

    monkeypatch.setattr(Experiment, "hypotheses", two_of_three)
    assert [len(best) for best in run.n_best(["1 2", "", "3"], 3, beam=3)] == [2, 0, 2]


def test_several_runs_act_as_their_ensemble(tiny_runs, run):
    folders = [tiny_runs / "tiny" / variant / "seed-0" for variant in ("scaled", "cosine")]
    both = attnjax.open(*folders)
    seen, own = both.attention("1 2", "2"), run.attention("1 2", "2")
    assert len(seen) == 2 * len(own)
    for name, weights in own.items():
        np.testing.assert_allclose(seen[f"models_0.{name}"].weights, weights.weights, atol=1e-6)
        assert seen[f"models_1.{name}"].rows == weights.rows
    members = [attnjax.open(folder).next("1 2", most=99) for folder in folders]
    for symbol, probability in both.next("1 2", most=99).items():
        mean = np.mean([member[symbol] for member in members])
        np.testing.assert_allclose(probability, mean, rtol=1e-4)


def test_a_language_model_says_what_comes_next(language_model):
    after = language_model.next("ab", most=3)
    ids = np.asarray([CHARACTERS.encode("ab")])
    model, params = language_model.model, language_model.params
    start = np.full((1, 1), START)
    logits = apply(model, {"params": params}, ids, start, deterministic=True)[0, 0]
    probabilities = np.exp(logits) / np.exp(logits).sum()
    wanted = dict(zip(CHARACTERS.pieces, probabilities.tolist(), strict=True))
    assert after == pytest.approx(dict(sorted(wanted.items(), key=lambda item: -item[1])[:3]))
    assert [*after] == sorted(after, key=lambda symbol: -after[symbol])
    (weights,) = language_model.attention("abc").values()
    assert weights.rows == weights.columns == ("a", "b", "c")
    (longer,) = language_model.attention("ab", "ca").values()
    assert longer.rows == ("a", "b", "c")
    np.testing.assert_allclose(longer.weights, weights.weights, atol=1e-6)
    with pytest.raises(UserError, match="a prompt that is not empty"):
        language_model.next("")


def test_texts_that_are_none_are_one_sentence(language_model, classifier):
    for answered in (language_model.translate, classifier.translate, classifier.classify):
        with pytest.raises(UserError, match="a list of texts was wanted; got one text, 'abc'"):
            answered("abc")
        with pytest.raises(UserError, match="a list of texts was wanted; got one that has None"):
            answered(["a", None])
        with pytest.raises(UserError, match="line 2 of the input has half a character, '.ud83d'"):
            answered(["a", "b\ud83d"])
        assert answered([]) == []
    assert language_model.translate(["", " "]) == ["", ""]
    with pytest.raises(UserError, match="line 1 of the source has no symbols"):
        language_model.attention("")
    with pytest.raises(UserError, match="the target has half a character"):
        language_model.attention("a", "\udc00")
    with pytest.raises(UserError, match="line 1 of the prompt has half a character"):
        language_model.next("\udc00")
    assert classifier.attention("")["attention"].columns == ("<end>",)


def test_a_classifier_gives_every_label_a_probability(classifier):
    lines = ["abc", "b"]
    rows = classifier.classify(lines)
    assert all(set(row) == {"good", "very bad"} for row in rows)
    assert [next(iter(row)) for row in rows] == classifier.translate(lines)
    assert classifier.classify(lines[1:])[0] == pytest.approx(rows[1])
    sources = [[*CHARACTERS.encode(line), END] for line in lines]
    found = classifier.experiment.hypotheses(classifier.params, sources)
    scores = [float(each.scores[0]) for each in found]
    np.testing.assert_allclose([max(row.values()) for row in rows], np.exp(scores), rtol=1e-5)
    assert classifier.attention("ab")["attention"].rows in (("good",), ("very bad",))


def test_a_drawing_wants_a_word_for_each_row_and_column():
    drawn = attnjax.show([[0.5, 0.5]], ["a"], ["<b>", "c"])._repr_html_()
    assert "&lt;b&gt;" in drawn
    assert "<b>" not in drawn
    assert "--accent: #" in drawn
    with pytest.raises(UserError, match="want 1 rows and 2 columns; got 1 and 1 words"):
        attnjax.show([[0.5, 0.5]], ["a"], ["b"])
    with pytest.raises(UserError, match=r"must be \[T, S\] or \[H, T, S\]; got \[2\]"):
        attnjax.show([0.5, 0.5])


def test_an_ablation_runs_and_is_read_again(tmp_path):
    plain = vary(base, {"training.steps": 2})
    claim = Claim(text="It learns.", estimand=Value("exact_match", "plain"), low=0.0)
    ablation = Ablation(base=plain, variants={"plain": plain}, claims=(claim,), first_seed=3)
    summary = attnjax.run(ablation, name="first", runs=tmp_path)
    assert summary.rows[0].seeds == (3,)
    assert summary.claims[0].text == "It learns."
    kept = parse_json((tmp_path / "first" / "summary.json").read_text())
    assert kept["rows"][0]["columns"][0]["mean"] == summary.rows[0].columns[0].mean
    again = attnjax.run(tmp_path / "first" / "first.py", runs=tmp_path)
    assert replace(again, command="") == replace(summary, command="")
    (row,) = attnjax.results.rows(tmp_path)
    assert (row["variant"], row["seed"], row["steps"]) == ("plain", 3, 2)
    assert row["exact match"] == summary.rows[0].columns[0].mean
    assert attnjax.open(row["run"]).translate([""]) == [""]
    with pytest.raises(UserError, match="an override is --path value, or path:part; got 'steps'"):
        attnjax.run(ablation, "steps 3", runs=tmp_path)


def test_an_ablation_is_written_whole(tmp_path):
    larger = Setting(changes={"training.steps": 3}, variants={"more": base})
    ablation = Ablation(
        base=base,
        variants={"plain": base},
        seeds=5,
        looks=(5, 10),
        tune={"optimizer.schedule.value": (0.1, 0.2)},
        tune_seeds=2,
        settings={"larger": larger},
    )
    assert load(_written(ablation, tmp_path / "first.py")).ablation == ablation


def test_no_run_is_a_sentence():
    with pytest.raises(UserError, match="give the folder of at least one run"):
        attnjax.open()
    with pytest.raises(AttributeError, match="no attribute 'opened'"):
        attnjax.opened  # noqa: B018
    assert {"open", "run", "show", "results"} <= {*dir(attnjax)}


def test_an_open_run_is_shown_in_a_line(tiny_runs):
    folder = tiny_runs / "tiny" / "scaled" / "seed-0"
    shown = repr(attnjax.open(folder))
    assert shown == f"<OpenRun {str(folder)!r}: tiny, scaled, seed 0; finished>"
