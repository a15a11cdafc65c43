"""Commands and actions as the files have them, and a part of train held out."""

from collections import Counter

import pytest

from attnjax.data.corpora.held_out import hold_out
from attnjax.data.corpora.scan import Scan, ScanByActions
from attnjax.data.special_tokens import END, UNKNOWN
from attnjax.errors import UserError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "length_train.txt").write_text(
        "IN: jump OUT: I_JUMP\nIN: walk left OUT: I_TURN_LEFT I_WALK \nIN: run OUT: I_RUN\n"
    )
    (tmp_path / "length_test.txt").write_text("IN: jump thrice OUT: I_JUMP I_JUMP I_JUMP\n")
    return tmp_path


def test_commands_and_actions(folder):
    corpus = Scan(folder=str(folder), split="length", valid=1).load()
    commands = Counter(corpus.sources["train"] + corpus.sources["valid"])
    assert commands == Counter(["jump", "walk left", "run"])
    assert len(corpus.sources["valid"]) == 1
    for split, examples in corpus.splits.items():
        for example, reference in zip(examples, corpus.references[split], strict=True):
            assert example.source[-1] == example.target[-1] == END
            if UNKNOWN not in example.target:
                assert corpus.vocabularies.target.decode(example.target) == reference
    # "thrice" is in test alone
    assert corpus.splits["test"][0].source[1:] == [UNKNOWN, END]
    assert corpus.references["test"] == ["I_JUMP I_JUMP I_JUMP"]


def test_all_commands_are_cut_by_their_actions(folder):
    for part in ("train", "test"):
        (folder / f"length_{part}.txt").rename(folder / f"simple_{part}.txt")
    train, test = ScanByActions(folder=str(folder), longest=1, valid=1).read()
    assert [example.source for example in train] == ["jump", "run"]
    assert [example.source for example in test] == ["walk left", "jump thrice"]
    corpus = ScanByActions(folder=str(folder), longest=2, valid=1).load()
    assert [len(corpus.splits[split]) for split in ("train", "valid", "test")] == [2, 1, 1]
    with pytest.raises(UserError, match=r"task\.longest must be below 3, .*; got 3"):
        ScanByActions(folder=str(folder), longest=3).load()


def test_the_seed_alone_decides_what_is_held_out():
    drawn, kept = hold_out(range(10), "numbers", seed=1, valid=3)
    assert (drawn, kept) == (sorted(drawn), sorted(kept))
    assert sorted(drawn + kept) == list(range(10))
    assert hold_out(range(10), "numbers", seed=1, valid=3) == (drawn, kept)
    assert hold_out(range(10), "numbers", seed=2, valid=3) != (drawn, kept)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"valid": 3}, r"task\.valid=3 must be less than the number of training examples, 3"),
        ({"valid": 0}, r"task\.valid: wanted .*; got .*0"),
        ({"seed": -1}, r"task\.seed: wanted .*; got .*-1"),
    ],
)
def test_fields_out_of_range(folder, load, fields, message):
    with pytest.raises(UserError, match=message):
        load(Scan(folder=str(folder), split="length", **({"valid": 1} | fields)))


def test_every_split_of_a_checkout_is_found_by_its_name(tmp_path):
    files = {
        "simple_split/tasks_train_simple": "run",
        "simple_split/size_variations/tasks_train_simple_p1": "jump",
        "add_prim_split/tasks_train_addprim_jump": "walk",
        "few_shot_split/tasks_train_fewshot_num1_rep1": "look",
    }
    for name, command in files.items():
        for part in (name, name.replace("train", "test")):
            path = tmp_path / f"{part}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"IN: {command} OUT: A\n" * 2)
    for name, command in files.items():
        split = name.partition("tasks_train_")[2]
        corpus = Scan(folder=str(tmp_path), split=split, valid=1).load()
        assert corpus.sources["train"] == [command]
        assert corpus.sources["test"] == [command] * 2
    with pytest.raises(UserError, match=r"'addprim_jum'; did you mean addprim_jump"):
        Scan(folder=str(tmp_path), split="addprim_jum", valid=1).load()
    with pytest.raises(UserError, match=r"tasks_train_.*'mcd1'; choose from addprim_jump, "):
        Scan(folder=str(tmp_path), split="mcd1", valid=1).load()


@pytest.mark.parametrize(
    ("split", "train", "test"), [("simple", 16_228, 4_182), ("length", 16_490, 3_920)]
)
def test_real_files(data, monkeypatch, split, train, test):
    monkeypatch.setenv("ATTNJAX_DATA", str(data))
    corpus = Scan(split=split).load()
    assert {name: len(examples) for name, examples in corpus.splits.items()} == {
        "train": train,
        "valid": 500,
        "test": test,
    }
    assert corpus.vocabularies.sizes == (4 + 13, 4 + 6)
    commands = [command for split in corpus.sources.values() for command in split]
    assert len(set(commands)) == len(commands) == 20_910
    if split == "length":
        lengths = {name: {len(e.target) - 1 for e in corpus.splits[name]} for name in corpus.splits}
        assert max(lengths["train"] | lengths["valid"]) == 22
        assert (min(lengths["test"]), max(lengths["test"])) == (24, 48)
