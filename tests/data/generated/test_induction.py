"""Induction heads and recall from a dictionary, by programs that read examples word by word."""

from collections import Counter

import jax
import numpy as np
import pytest

from attnjax.attention.heads.multihead import MultiHead
from attnjax.data.examples import Encoded
from attnjax.data.generated.induction import DictionaryRecall, InductionHead, NextWords
from attnjax.errors import UserError
from attnjax.models.feed_forward import NoFeedForward
from attnjax.models.labeler import Labeler
from attnjax.models.transformer_layers import DecoderLayer

INDUCTION = InductionHead(train=6_000, valid=40, test=60)
RECALL = DictionaryRecall(train=6_000, valid=40, test=60)
SPECIAL = ["<pad>", "<start>", "<end>", "<unknown>"]
PIECES = {
    InductionHead: [*SPECIAL, "=>", ".", *map(str, range(18))],
    DictionaryRecall: [*SPECIAL, "=>", ".", *(f"{kind}{n}" for kind in "ab" for n in range(4))],
}
RECALL_CHANCE = 0.25
RECALL_TEST = DictionaryRecall(train=9, valid=9, test=2_000)


@pytest.fixture(scope="module", params=[INDUCTION, RECALL], ids=["induction", "recall"])
def corpus(request):
    return request.param.load()


def read(example: Encoded, task: NextWords) -> tuple[list[str], dict[int, str]]:
    """The words of an example, and the word that is asked for at each place."""
    pieces = PIECES[type(task)]
    asked = {place: pieces[label] for place, label in np.asarray(example.target).tolist()}
    return [pieces[word] for word in example.source], asked


def uniform(counts: Counter, kinds: int) -> bool:
    """Whether so many kinds are equally frequent: chi-squared within five deviations."""
    total = sum(counts.values())
    expected = total / kinds
    statistic = sum((counts[kind] - expected) ** 2 / expected for kind in counts)
    statistic += (kinds - len(counts)) * expected
    return len(counts) <= kinds and statistic < kinds - 1 + 5 * (2 * (kinds - 1)) ** 0.5


def test_the_induction_head():
    corpus = INDUCTION.load()
    places, symbols, answers = Counter(), Counter(), Counter()
    for example in corpus.splits["train"]:
        words, asked = read(example, INDUCTION)
        assert len(words) == 31
        assert words[-1] == "=>"
        assert words.count("=>") == 2
        first = words.index("=>")
        assert [asked[place] for place in range(30)] == words[1:]
        assert asked[30] == words[first + 1]
        places[first] += 1
        answers[asked[30]] += 1
        symbols.update(word for word in words if word != "=>")
    assert "." not in symbols
    assert uniform(places, 28)
    assert set(places) == set(range(28))
    assert uniform(symbols, 18)
    assert uniform(answers, 18)


def test_recall_from_a_dictionary():
    corpus = RECALL.load()
    values, keys, asked_after, ranks = Counter(), Counter(), Counter(), Counter()
    for example in corpus.splits["train"]:
        words, asked = read(example, RECALL)
        assert len(words) == 22
        assert words[20] == "=>"
        dictionary: dict[str, str] = {}
        for key, value in zip(words[:20:2], words[1:20:2], strict=True):
            assert (key[0], value[0]) == ("a", "b")
            assert dictionary.setdefault(key, value) == value
            keys[key] += 1
        assert asked[21] == dictionary[words[21]]
        assert [asked[place] for place in range(21)] == words[1:]
        values.update(dictionary.values())
        asked_after[asked[21]] += 1
        if len(dictionary) == 4:
            # the rarest key is asked for as often as the most frequent one
            ordered = sorted(dictionary, key=lambda key: (words[:20].count(key), key))
            ranks[ordered.index(words[21])] += 1
    assert uniform(keys, 4)
    assert uniform(values, 4)
    assert uniform(ranks, 4)
    # "random 25.0" in Table 1
    assert max(asked_after.values()) / 6_000 == pytest.approx(RECALL_CHANCE, abs=0.03)


def test_validation_and_test_ask_at_the_last_place_alone(corpus):
    for split, count in (("valid", 40), ("test", 60)):
        examples = corpus.splits[split]
        assert len(examples) == count
        for example in examples:
            (place,) = example.target[:, 0]
            assert place == len(example.source) - 1
    last = [example.target[-1].tolist() for example in INDUCTION.load().splits["train"][:50]]
    alone = InductionHead(train=6_000, valid=40, test=60, asked="last").load().splits["train"]
    assert [example.target.tolist() for example in alone[:50]] == [[pair] for pair in last]


@pytest.mark.parametrize(
    ("task", "first", "chance"),
    # Table 1 has 5.0 for a random guess at induction, one of 20 words, and 25.0 at recall, one of
    # four values; guesses are those among all words, and among values
    [(InductionHead(train=9, valid=9, test=2_000), 4, 1 / 20), (RECALL_TEST, 10, RECALL_CHANCE)],
    ids=["induction", "recall"],
)
def test_an_untrained_network_is_at_chance(task, first, chance):
    corpus = task.load()
    examples = corpus.splits["test"]
    source = examples.source.padded(np.arange(2_000), (2_000, len(examples[0].source)))
    asked = examples.target.padded(np.arange(2_000), (2_000, 1))
    layer = DecoderLayer(
        self_attention=MultiHead(heads=1), cross_attention=None, feed_forward=NoFeedForward()
    )
    model = Labeler(width=8, num_layers=1, layer=layer).with_vocabularies(
        *corpus.vocabularies.sizes
    )

    def guess(key):
        variables = model.init(key, source[:1], asked[:1], deterministic=True)
        return model.apply(variables, source, asked, deterministic=True)[:, 0, first:].argmax(-1)

    draws = jax.jit(lambda: jax.lax.map(guess, jax.random.split(jax.random.key(0), 12)))
    right = np.asarray(draws()) + first == asked[:, 0, 1]
    assert np.mean(right) == pytest.approx(chance, abs=0.025)


def test_lengths_beyond_those_of_training():
    task = InductionHead(
        symbols=5, shortest=4, longest=9, test_longest=21, test_every=6, train=300, valid=9, test=40
    )
    splits = task.load().splits
    assert {len(example.source) for example in splits["train"]} == set(range(4, 10))
    beyond = Counter(len(example.source) for example in splits["test"][20:])
    assert beyond == {15: 10, 21: 10}
    for example in splits["test"]:
        words = [*example.source]
        assert words.count(4) == 2
        assert words[-1] == 4
        assert example.target[0, 1] == words[words.index(4) + 1]


def test_pairs_of_several_numbers():
    task = DictionaryRecall(shortest=4, longest=12, keys=3, values=7, train=400, valid=9, test=40)
    found = Counter()
    for example in task.load().splits["train"]:
        words = [*example.source]
        found[len(words)] += 1
        dictionary = dict(zip(words[:-2:2], words[1:-2:2], strict=True))
        assert words[-2] == 4
        assert example.target[-1].tolist() == [len(words) - 1, dictionary[words[-1]]]
    assert uniform(found, 5)


def test_the_seed_alone_decides():
    one, other = (InductionHead(train=50, valid=5, test=5, seed=seed) for seed in (1, 2))
    assert one.load().splits == one.load().splits
    assert one.load().digest("train") != other.load().digest("train")
    sources = [np.asarray(task.load().splits["train"].source.values) for task in (one, other)]
    assert (sources[0] != sources[1]).mean() > 0.8


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"shortest": 7, "longest": 8}, "shortest must be even"), ({"shortest": 24}, "longest")],
)
def test_what_contradicts_itself_is_refused(fields, message):
    with pytest.raises(UserError, match=message):
        DictionaryRecall(**fields).load()
