from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.position import Learned
from attnjax.attention.score.base import Location
from attnjax.data.corpora.parallel_text import ParallelText, TabSeparated
from attnjax.data.examples import Encoded, Examples
from attnjax.data.generated.sequences import Copy
from attnjax.data.special_tokens import END
from attnjax.data.vocabulary import SplitWords
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.label import Label
from attnjax.errors import UserError
from attnjax.evaluation import Accuracy, Alignment, MetricKey, Saturation
from attnjax.experiment import Ablation, Claim, Experiment, Published, Setting, Value, vary
from attnjax.experiment.estimands import RunMetrics
from attnjax.lab.cli.commands.show import describe
from attnjax.lab.cli.main import main
from attnjax.models.classifier import Classifier
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer

BASE = Experiment(task=Copy(train=20, valid=4, test=4, longest=5), model=Transformer(width=16))


def test_what_an_ablation_names_must_be_there():
    claim = Claim(text="", estimand=Value("x", "unscald"), low=0)
    figure = Published(paper="", table="", variant="unscald", metric="x", value=0)
    for wrong in ({"claims": (claim,)}, {"published": (figure,)}):
        with pytest.raises(UserError, match="unknown variant 'unscald'; did you mean unscaled"):
            Ablation(base=BASE, variants={"unscaled": BASE}, **wrong)
    with pytest.raises(UserError, match="at least one variant"):
        Ablation(base=BASE, variants={})
    with pytest.raises(
        UserError, match="Ablation.seeds: wanted int above 0 and at most 10000; got int 0"
    ):
        Ablation(base=BASE, variants={"a": BASE}, seeds=0)
    with pytest.raises(UserError, match="the name of a folder"):
        Ablation(base=BASE, variants={"../a": BASE})
    with pytest.raises(UserError, match="wanted Claim; got str 'it helps'"):
        Ablation(base=BASE, variants={"a": BASE}, claims=("it helps",))  # pyright: ignore
    with pytest.raises(UserError, match="wanted Experiment; got int 3"):
        Ablation(base=BASE, variants={"a": 3})  # pyright: ignore
    with pytest.raises(UserError, match="'it helps' allows every value: give low or high"):
        Claim(text="it helps", estimand=Value("bleu", "a"))


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("accuracy", True),
        ("accuracy_before_replacement", True),
        ("exact_match", True),
        ("exact_match_before_replacement", True),
        ("alignment_error", True),
        ("bleu", False),
        ("logit_variance", False),
    ],
)
def test_numbers_that_are_shares_are_judged_as_shares(name, share):
    """Student's t of these is -0.22 to 0.50; `Alignment` measures a share, `Saturation` none."""
    results = {
        "a": {seed: RunMetrics({MetricKey(name): x}) for seed, x in enumerate((0.02, 0.1, 0.3))}
    }
    metric = None if name.startswith("exact_match") else Accuracy()
    variant = replace(BASE, metric=metric, measures=(Alignment(), Saturation()))
    ablation = Ablation(base=BASE, variants={"a": variant}, seeds=3)
    found = ablation.judge(Claim(text="", estimand=Value(name, "a"), low=-1), results)
    assert found is not None
    assert (found.low > 0) == share


def test_resolving_fills_the_vocabulary_and_checks_the_lengths():
    corpus = BASE.task.load()
    resolved = BASE.resolve(corpus)
    assert resolved.model.vocabulary == corpus.vocabularies.target.size
    assert BASE.model.vocabulary is None
    longest = max(len(e.source) for split in corpus.splits.values() for e in split)
    enough = Experiment(task=BASE.task, model=Transformer(position=Learned(max_length=longest)))
    enough.resolve(corpus)
    short = Experiment(task=BASE.task, model=Transformer(position=Learned(max_length=longest - 1)))
    split, number = next(
        (split, number)
        for split, examples in corpus.splits.items()
        for number, example in enumerate(examples, start=1)
        if len(example.source) == longest
    )
    with pytest.raises(UserError) as error:
        short.resolve(corpus)
    assert f"sentence {number} of the {split} split has {longest} symbols" in str(error.value)
    assert f"at most {longest - 1} (model.position.max_length)" in str(error.value)


def test_a_score_by_place_has_columns_for_the_longest_sentence():
    corpus = BASE.task.load()
    score = "model.decoder_layer.cross_attention.head.score"
    vary(BASE, {score: Location(max_length=6)}).resolve(corpus)
    with pytest.raises(UserError, match=rf"has 6 symbols .* takes at most 5 \({score}.max_length"):
        vary(BASE, {score: Location(max_length=5)}).resolve(corpus)


def test_shared_embeddings_want_one_vocabulary_however_large_two_are(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text("a b\tc d\n")
    task = TabSeparated(folder=str(tmp_path), valid=None)
    replace(BASE, task=task).resolve(task.load())
    two = replace(task, target_vocabulary=SplitWords())
    with pytest.raises(UserError, match="one vocabulary of both sides"):
        replace(BASE, task=two).resolve(two.load())
    tied = vary(BASE, {"task": two, "model.embeddings": "tied"}).resolve(two.load()).model
    assert isinstance(tied, Transformer)
    assert tied.source_vocabulary == tied.vocabulary


def test_a_label_is_not_searched_for_as_a_sentence(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text("a b\tc\n")
    task = TabSeparated(folder=str(tmp_path), valid=None, target_vocabulary=SplitWords())
    experiment = replace(BASE, task=task, model=Classifier())
    replace(experiment, search=Label()).resolve(task.load())
    with pytest.raises(UserError, match="found by search:label; got Greedy, which would repeat"):
        replace(experiment, search=Greedy()).resolve(task.load())


def test_a_sentence_is_not_searched_for_as_a_label(tmp_path, capsys):
    with pytest.raises(UserError, match="^a Transformer writes sentences, and search:label finds"):
        replace(BASE, search=Label()).resolve(BASE.task.load())
    tiny, runs = Path(__file__).parents[1] / "tiny.py", tmp_path / "runs"
    assert main(["run", str(tiny), "--runs", str(runs), "search:label"]) == 2
    assert "a Transformer writes sentences" in capsys.readouterr().err
    assert not runs.exists()


def test_answers_are_no_longer_than_the_positions_are_many():
    corpus = BASE.task.load()
    most = max(len(side) for split in corpus.splits.values() for e in split for side in e[:2])
    model = Transformer(
        width=8, num_encoder_layers=1, num_decoder_layers=1, position=Learned(max_length=most)
    )
    experiment = replace(BASE, model=model, search=Greedy()).resolve(corpus)
    ids = jnp.ones((1, 2), jnp.int32)
    init = jax.jit(partial(experiment.model.init, deterministic=True))
    params = init(jax.random.key(0), ids, ids)["params"]
    # END is never the most probable
    table = params["embedding"].at[END].set(0.0)
    answers = experiment.answers(params | {"embedding": table}, [corpus.splits["test"][0].source])
    assert len(answers[0]) <= most


def test_columns_are_for_the_keys_side():
    corpus = replace(BASE.task.load(), splits={"train": Examples.of([Encoded([4] * 3, [4] * 6)])})
    attends = LuongDecoder(attention=Attention(score=Location(max_length=3)))
    recurrent = replace(BASE, model=Seq2Seq(decoder=attends))
    recurrent.resolve(corpus)
    assert recurrent.model.max_length("target") is None
    assert recurrent.model.max_length("source") == (3, "model.decoder.attention.score.max_length")
    own = vary(BASE, {"model.decoder_layer.self_attention.head.score": Location(max_length=5)})
    with pytest.raises(UserError, match="the target of sentence 1 of the train split has 6"):
        own.resolve(corpus)


def test_another_setting_changes_every_variant_and_claims_nothing_but_its_own():
    claim, other = (Claim(text="", estimand=Value(name, "a"), low=0) for name in ("x", "y"))
    extra = vary(BASE, {"training.steps": 7})
    ablation = Ablation(
        base=BASE,
        variants={"a": BASE, "b": vary(BASE, {"training.average": 2})},
        claims=(claim,),
        settings={
            "long": Setting(changes={"training.steps": 9}),
            "own": Setting(changes={}, variants={"c": extra}, claims=(other,), published=()),
            "paper": Setting(
                changes={"training.steps": 9},
                variants={"a": extra},
                differs={"updates": ("8", "9")},
            ),
        },
    )
    long, own = ablation.at("long"), ablation.at("own")
    assert [one.training.steps for one in (long.base, *long.variants.values())] == [9, 9, 9]
    assert long.variants["b"].training.average == 2
    assert (long.claims, own.claims) == ((), (other,))
    assert own.variants == {**ablation.variants, "c": extra}
    # the base of the file is its variant a; that of the setting is, too
    assert ablation.at("paper").base == extra
    assert ablation.at("paper").differs == {"updates": ("8", "9")}
    with pytest.raises(UserError, match="unknown setting 'lang'; did you mean long"):
        ablation.at("lang")
    with pytest.raises(UserError, match="unknown setting 'long'; there is none"):
        long.at("long")
    with pytest.raises(UserError, match=r"\['paper'\]: wanted Setting; got dict {}"):
        Ablation(base=BASE, variants={"a": BASE}, settings={"paper": {}})  # pyright: ignore


def test_show_tells_what_it_can_without_the_corpus_and_refuses_what_is_wrong(monkeypatch):
    monkeypatch.delenv("ATTNJAX_DATA", raising=False)
    here = ParallelText(folder="nowhere", source="en", target="de")
    *_, last = describe(replace(BASE, task=here))
    assert str(last).startswith("parameters and FLOPs depend on the data: there is no folder")
    with pytest.raises(UserError, match=r"task.train: wanted int above 0"):
        list(describe(replace(BASE, task=replace(BASE.task, train=0))))


def test_a_size_that_the_data_have_is_not_given():
    wrong = replace(BASE, model=BASE.model.clone(vocabulary=3))
    with pytest.raises(
        UserError, match=r"model.vocabulary is set from the data .\d+.; remove the 3"
    ):
        wrong.resolve(BASE.task.load())
