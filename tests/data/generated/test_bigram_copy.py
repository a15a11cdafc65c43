"""Bigrams with copies after triggers, by a program that counts the text's pairs one by one."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from attnjax.data.generated.bigram_copy import BigramBackcopy, count_bigrams
from attnjax.errors import UserError

TEXT = "the cat sat on the mat, then the rat ate the hat;\n" * 3 + "a tattered net\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture(scope="module")
def task(file) -> BigramBackcopy:
    return BigramBackcopy(
        file=file, triggers=2, shortest=40, longest=40, train=1_500, valid=20, test=30
    )


def most_frequent(count: int) -> list[str]:
    ordered = sorted(Counter(TEXT).items(), key=lambda pair: (-pair[1], pair[0]))
    return [character for character, _ in ordered[:count]]


def test_the_text_is_counted():
    bigrams = count_bigrams(TEXT)
    assert bigrams.characters == tuple(sorted(set(TEXT)))
    assert dict(zip(bigrams.characters, bigrams.counts, strict=True)) == Counter(TEXT)
    pairs, successors = Counter(zip(TEXT, TEXT[1:] + TEXT[:1], strict=True)), [*bigrams.successors]
    for one in bigrams.characters:
        own, successors = successors[: TEXT.count(one)], successors[TEXT.count(one) :]
        found = Counter((one, bigrams.characters[number]) for number in own)
        assert found == {pair: count for pair, count in pairs.items() if pair[0] == one}


def test_copies_come_after_triggers_and_bigrams_elsewhere(task):
    corpus = task.load()
    pieces = corpus.vocabularies.source.pieces
    triggers, first = most_frequent(2), Counter()
    followed: dict[str, Counter] = defaultdict(Counter)
    for example in corpus.splits["train"]:
        words = [pieces[word] for word in example.source]
        asked = {int(place): pieces[label] for place, label in example.target}
        assert words[0] == "<start>"
        assert len(words) == len(asked) == 40
        assert [asked[place] for place in range(39)] == words[1:]
        first[words[1]] += 1
        text = [*words, asked[39]]
        for before, word, after in zip(text[:-2], text[1:-1], text[2:], strict=True):
            if word in triggers:
                assert after == before
            else:
                followed[word][after] += 1
    others = sorted(set(TEXT) - set(triggers))
    assert set(first) == set(others)
    assert max(abs(first[one] / 1_500 - 1 / len(others)) for one in others) < 0.03
    counted = Counter(zip(TEXT, TEXT[1:] + TEXT[:1], strict=True))
    for one in others:
        total, number = sum(followed[one].values()), TEXT.count(one)
        for other in set(TEXT):
            share = counted[one, other] / number
            deviation = (share * (1 - share) / total) ** 0.5
            assert abs(followed[one][other] / total - share) <= 5 * deviation + 1e-12


def test_the_test_split_asks_after_triggers_alone(task):
    corpus = task.load()
    pieces, triggers = corpus.vocabularies.source.pieces, most_frequent(2)
    for example in corpus.splits["test"]:
        words = [pieces[word] for word in example.source]
        asked = {int(place): pieces[label] for place, label in example.target}
        assert [*asked] == [place for place, word in enumerate(words) if word in triggers]
        assert all(asked[place] == words[place - 1] for place in asked)
    assert all(len(example.target) == 40 for example in corpus.splits["valid"])


def test_shorter_sources_end_earlier(file):
    task = BigramBackcopy(
        file=file, triggers=1, shortest=3, longest=6, test_longest=9, train=80, valid=9, test=30
    )
    splits = task.load().splits
    assert {len(example.source) for example in splits["train"]} == {3, 4, 5, 6}
    assert {len(example.source) for example in splits["test"][15:]} == {7, 8, 9}
    assert all(len(example.target) == len(example.source) for example in splits["train"])


def test_triggers_that_leave_nothing_are_refused(file):
    with pytest.raises(UserError, match=rf"fewer than the {len(set(TEXT))} characters .* got 40"):
        BigramBackcopy(file=file, triggers=40).load()
    with pytest.raises(UserError, match="nowhere"):
        BigramBackcopy(file="nowhere.txt").load()


def test_the_seed_alone_decides(task):
    one, other = task.of_seed(1).load(), task.of_seed(2).load()
    assert one.splits == task.of_seed(1).load().splits
    sources = [np.asarray(corpus.splits["train"].source.values) for corpus in (one, other)]
    assert (sources[0] != sources[1]).mean() > 0.5
