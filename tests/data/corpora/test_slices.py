"""A part of a split is cut where its name says, lies within it, and is no part of another split."""

import pytest

from attnjax.data.corpora.labeled_file import LabeledFile
from attnjax.data.corpora.parallel_text import TabSeparated
from attnjax.data.corpora.slices import check_apart, sliced
from attnjax.data.corpus import Example
from attnjax.errors import UserError

EXAMPLES = [Example(str(place), "") for place in range(36)]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("x.csv", slice(None)),
        ("x.csv[:]", slice(None)),
        ("x.csv[:36]", slice(None)),
        ("x.csv[24:]", slice(24, None)),
        ("x.csv[5:7]", slice(5, 7)),
        ("x.csv[007:]", slice(7, None)),
    ],
)
def test_a_part_is_cut_at_the_places_in_its_name(name, places):
    assert [*sliced({"x.csv": EXAMPLES}.__getitem__)(name)] == EXAMPLES[places]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.csv[:500]", r"x\.csv\[:500\] reaches beyond the end; x\.csv has 36 examples"),
        ("x.csv[30:37]", r"x\.csv\[30:37\] reaches beyond the end; x\.csv has 36 examples"),
        ("x.csv[36:]", r"x\.csv\[36:\] holds nothing; x\.csv has 36 examples"),
        (f"x.csv[{10**20}:]", r"holds nothing; x\.csv has 36 examples"),
        (f"x.csv[:{10**20}]", r"reaches beyond the end; x\.csv has 36 examples"),
        (f"x.csv[{'9' * 5_000}:]", r"holds nothing; x\.csv has 36 examples"),
        ("x.csv[7:5]", r"x\.csv\[7:5\] holds nothing; x\.csv has 36 examples"),
        ("x.csv[:10%]", r"is written train\[4000:\] or train\[:4000\]; got x\.csv\[:10%\]"),
    ],
)
def test_a_part_that_is_not_there_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        list(sliced({"x.csv": EXAMPLES}.__getitem__)(name))


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("x.csv[:24]", "x.csv[20:]"),
        ("x.csv[20:]", "x.csv[:24]"),
        ("x.csv[:24]", "x.csv[3:5]"),
        ("x.csv", "x.csv[20:]"),
        ("x.csv", "x.csv"),
    ],
)
def test_parts_that_share_examples_are_refused(train, test):
    with pytest.raises(UserError) as error:
        check_apart(train=train, valid="y.csv", test=test)
    expected = f"task.train and task.test must share no example; got {train} and {test}"
    assert str(error.value) == expected
    with pytest.raises(UserError, match=r"task\.train and task\.valid must share no example"):
        check_apart(train=train, valid=test, test=None)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("x.csv[:24]", "x.csv[24:]"),
        ("x.csv[24:]", "x.csv[:24]"),
        ("x.csv", "y.csv"),
        ("x.csv[:24]", "y.csv[20:]"),
        # tensorflow-datasets reads these itself
        ("train[:10%]", "train[10%:]"),
    ],
)
def test_parts_that_share_nothing_pass(train, test):
    check_apart(train=train, valid=None, test=test)


def test_the_corpora_look_before_they_read(tmp_path):
    for task in (LabeledFile, TabSeparated):
        with pytest.raises(UserError, match=r"task\.train and task\.test must share no example"):
            task(folder=str(tmp_path), train="x.tsv[:24]", test="x.tsv[20:]").load()
