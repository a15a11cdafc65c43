from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import Reversed, TabSeparated
from attnjax.data.corpus import Corpus
from attnjax.data.generated.sequences import Copy
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError
from attnjax.evaluation.unknown_words import CopyUnknown, Dictionary, replace_unknown, replaced
from attnjax.experiment import Experiment
from attnjax.models.base import Model
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.training.settings import Training
from tests.models.small import small

WORDS = ["der", "Hund", "Struppi", "bellt"]
PIECES = ["the", "<unknown>", "<unknown>", "barks", "<end>"]
ANSWER = [4, UNKNOWN, UNKNOWN, 5, END]
# four words, END, and two places of padding
WEIGHTS = np.array(
    [
        [0.9, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.1, 0.6, 0.3, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.2, 0.8, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    ]
)


def test_each_unknown_word_is_that_which_it_looks_at_most():
    assert replaced(ANSWER, PIECES, WORDS, WEIGHTS, {}) == ["the", "Hund", "Struppi", "barks"]
    translations = {"Hund": "dog", "der": "never asked"}
    found = replaced(ANSWER, PIECES, WORDS, WEIGHTS, translations)
    assert found == ["the", "dog", "Struppi", "barks"]


def test_neither_the_end_nor_padding_is_copied():
    weights = WEIGHTS.copy()
    weights[1] = [0.05, 0.1, 0.0, 0.0, 0.5, 0.2, 0.15]
    weights[2] = [0.0, 0.0, 0.0, 0.0, 0.6, 0.4, 0.0]
    found = replaced(ANSWER, PIECES, WORDS, weights, {})
    # "Hund" has the most of the words; where no word has any weight, nothing is known
    assert found == ["the", "Hund", "<unknown>", "barks"]
    assert replaced(ANSWER, PIECES, [], weights, {}) == ["the", "<unknown>", "<unknown>", "barks"]


def test_what_is_no_word_is_left_out_as_decoding_leaves_it_out():
    answer = [START, UNKNOWN, PAD, END, UNKNOWN, PAD]
    pieces = ["<start>", "<unknown>", "<pad>", "<end>", "<unknown>", "<pad>"]
    weights = np.full((6, 7), 1 / 7)
    assert replaced(answer, pieces, WORDS, weights, {}) == ["der"]


def test_a_dictionary_has_the_first_of_two_lines(tmp_path, monkeypatch):
    path = tmp_path / "words.tsv"
    path.write_text("Hund\tdog\nHund\thound\nbellt\tis barking\n")
    assert Dictionary(file=str(path)).translations() == {"Hund": "dog", "bellt": "is barking"}
    monkeypatch.setenv("ATTNJAX_DATA", str(tmp_path))
    assert Dictionary(file="words.tsv").translations()["Hund"] == "dog"
    with pytest.raises(UserError, match=r"no file .*other\.tsv"):
        Dictionary(file="other.tsv").translations()
    assert CopyUnknown().translations() == {}
    path.write_text("Hund dog\n")
    with pytest.raises(UserError, match="line 1, has 1 columns between tabs; wanted columns=2"):
        Dictionary(file="words.tsv").translations()


class Pointing(Model):
    """Looks at as many places before the source's END as it has words left, and nowhere else."""

    def __call__(self, source, decoder_input, *, deterministic):
        return decoder_input

    def with_vocabularies(self, source, target):
        return self

    def alignment(self, params, source, given):
        end = (source == END).argmax(-1)[:, None]
        place = end - 1 - jnp.arange(given.shape[1])[None]
        return params["weight"] * jax.nn.one_hot(place, source.shape[1])


TARGET = SplitWords().learn(["the dog barks ."])
SOURCE = SplitWords().learn(["der Hund bellt ."])
THE, DOG = TARGET.encode("the dog")


def texts(*answers: list[int], written: list[str], weight: float = 1.0) -> list[str]:
    return replace_unknown(
        Pointing(),
        {"weight": jnp.asarray(weight)},
        words=[SOURCE.split(text) for text in written],
        sources=[[*SOURCE.encode(text), END] for text in written],
        answers=answers,
        vocabulary=TARGET,
        replacement=CopyUnknown(),
        # too few places for one sentence: it gets those that it needs
        batching=Batching(max_tokens=8, batch_size_multiple=2),
    )


def test_the_text_of_a_source_word_that_is_unknown_itself_is_copied():
    # Pointing reads from the source's end: answers are in the reverse order
    written = ["Struppi bellt", ". Rex Hund der", "Hund bellt"]
    answers = [
        [DOG, UNKNOWN, END, PAD, PAD],
        [THE, DOG, UNKNOWN, UNKNOWN, END, PAD],
        [DOG, THE, END],
    ]
    assert UNKNOWN in SOURCE.encode(written[0])
    assert texts(*answers, written=written) == ["dog Struppi", "the dog Rex .", "dog the"]
    assert texts(*answers, written=written, weight=0.0) == [
        "dog <unknown>",
        "the dog <unknown> <unknown>",
        "dog the",
    ]


def test_an_answer_without_an_end_or_any_symbol_is_one():
    written = ["Struppi bellt", "Hund", ""]
    answers = [[UNKNOWN, UNKNOWN], [], [UNKNOWN, END]]
    assert texts(*answers, written=written) == ["bellt Struppi", "", "<unknown>"]
    assert texts([THE, END, UNKNOWN], written=["Hund"]) == ["the"]
    with pytest.raises(ValueError, match="each of the 1 source symbols needs a word"):
        replace_unknown(
            Pointing(),
            {"weight": jnp.asarray(1.0)},
            words=[["Hund", "bellt"]],
            sources=[[*SOURCE.encode("Hund"), END]],
            answers=[[UNKNOWN, END]],
            vocabulary=TARGET,
            replacement=CopyUnknown(),
            batching=Batching(),
        )


def test_the_weights_are_the_models_own_for_the_finished_answer():
    model = small(layers=1)
    vocabulary = SplitWords().learn(["a b c d e f g h"])
    assert vocabulary.size == model.vocabulary
    written = ["a b x y c", "h g", "d z"]
    sources = [[*vocabulary.encode(text), END] for text in written]
    answers = [[5, UNKNOWN, UNKNOWN, END], [7, 8, END], [UNKNOWN, 9, UNKNOWN, END]]
    symbols = jnp.ones((1, 2), jnp.int32)
    init = partial(model.init, deterministic=True, mutable=["params"])
    params = jax.jit(init)(jax.random.key(3), symbols, symbols)["params"]
    alignment = jax.jit(model.alignment)
    expected = []
    for text, source, answer in zip(written, sources, answers, strict=True):
        if UNKNOWN not in answer:
            expected.append(vocabulary.decode(answer))
            continue
        given = jnp.asarray([[START, *answer[:-1]]])
        weights = np.asarray(alignment(params, jnp.asarray([source]), given))[0]
        spelled = vocabulary.tokens(answer)
        expected.append(" ".join(replaced(answer, spelled, text.split(), weights, {})))
    found = replace_unknown(
        model,
        params,
        words=[text.split() for text in written],
        sources=sources,
        answers=answers,
        vocabulary=vocabulary,
        replacement=CopyUnknown(),
        batching=Batching(max_tokens=64, batch_size_multiple=1),
    )
    assert found == expected
    assert "<unknown>" not in " ".join(found)


def test_an_experiment_replaces_in_the_order_in_which_it_reads(tmp_path):
    (tmp_path / "train.tsv").write_text("der Hund bellt .\tthe dog barks .\n")
    task = TabSeparated(
        folder=str(tmp_path),
        valid=None,
        test=None,
        target_vocabulary=SplitWords(),
        source_order=Reversed(),
    )
    experiment = Experiment(
        task=task, model=Pointing(), training=Training(batching=Batching(batch_size_multiple=1))
    )
    vocabularies = task.load().vocabularies
    text, found = "Struppi bellt", [[UNKNOWN, UNKNOWN, END]]
    sources = [task.ids(text, SOURCE)]
    assert task.words(text, SOURCE) == ["bellt", "Struppi"]
    params = {"weight": jnp.asarray(1.0)}
    assert experiment.texts(params, vocabularies, [text], sources, found) == ["<unknown> <unknown>"]
    copying = Experiment(
        task=task, model=Pointing(), training=experiment.training, unknown=CopyUnknown()
    )
    # what is read last is looked at first
    assert copying.texts(params, vocabularies, [text], sources, found) == ["Struppi bellt"]


def test_what_cannot_be_copied_is_refused_before_it_is_trained():
    corpus = Copy(train=4, valid=1, test=1).load()
    CopyUnknown().check(small(layers=1), corpus)
    with pytest.raises(UserError, match="no file"):
        Dictionary(file="none.tsv").check(small(layers=1), corpus)
    pieces = SentencePiece(size=20).learn(["a man rides a horse", "the dog runs fast"] * 20)
    for vocabularies in (Vocabularies(None, TARGET), joint(pieces)):
        with pytest.raises(UserError, match="CopyUnknown replaces unknown words"):
            CopyUnknown().check(small(layers=1), Corpus(vocabularies=vocabularies, splits={}))
    encoder = Encoder(width=4, direction="forward")
    decoder = LuongDecoder(attention=None, width=4)
    fixed = Seq2Seq(width=4, encoder=encoder, decoder=decoder).with_vocabularies(
        *corpus.vocabularies.sizes
    )
    with pytest.raises(UserError, match="an alignment needs attention to the source"):
        CopyUnknown().check(fixed, corpus)
