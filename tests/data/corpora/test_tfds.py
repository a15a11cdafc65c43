"""A corpus that tensorflow-datasets prepared is read without TensorFlow and without a network."""

import shutil
import socket
import sys
from dataclasses import replace

import pytest
from tensorflow_datasets.core import DatasetInfo, SequentialWriter, Version
from tensorflow_datasets.core.data_sources.array_record import ArrayRecordDataSource
from tensorflow_datasets.core.dataset_info import DatasetIdentity
from tensorflow_datasets.core.features import (
    ClassLabel,
    FeaturesDict,
    Text,
    Translation as Languages,
)

from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.corpora.tfds import (
    DOWNLOADS,
    NEED_TENSORFLOW,
    Translation,
    open_prepared,
    read_split,
)
from attnjax.data.corpora.tfds_texts import LabeledTfds, RawTfds
from attnjax.data.files import read_lines
from attnjax.data.generated.sequences import Copy
from attnjax.data.preparation import prepared as prepare_corpus
from attnjax.data.prepared import VARIABLE
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.shuffled import Shuffled
from attnjax.data.vocabulary import SplitWords
from attnjax.data.with_test import WithTest
from attnjax.errors import NoCorpus, UserError

PAIRS = {
    "train": [("größe eins", "size one"), ("zwei", "two"), ("drei", "three")],
    "validation": [("eins", "one")],
    "test": [("zwei", "two")],
}


def build(name, folder, features, splits):
    """Write rows as a corpus of tensorflow-datasets, without TensorFlow or a network."""
    corpus, _, configuration = name.partition("/")
    version = folder / name / "1.0.0"
    version.mkdir(parents=True)
    identity = DatasetIdentity(
        name=corpus,
        version=Version("1.0.0"),
        data_dir=str(version),
        module_name=__name__,
        config_name=configuration or None,
    )
    info = DatasetInfo(builder=identity, features=features)
    # unlike tensorflow-datasets' builders, it keeps the order of the rows
    writer = SequentialWriter(info, max_examples_per_shard=100, file_format="array_record")
    writer.initialize_splits(list(splits))
    writer.add_examples(splits)
    writer.close_all()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tfds")
    pairs = {
        split: [dict(zip(("de", "en"), pair, strict=True)) for pair in PAIRS[split]]
        for split in PAIRS
    }
    build("tiny/de-en", folder, Languages(languages=("de", "en")), pairs)
    labeled = FeaturesDict({"sentence": Text(), "label": ClassLabel(names=["bad", "good"])})
    rows = [{"sentence": f"so\n{number}", "label": number % 2} for number in range(8)]
    hidden = [{"sentence": "who knows", "label": -1}]
    build("labels", folder, labeled, {"train": rows[:6], "validation": rows[6:], "test": hidden})
    build(
        "raw", folder, FeaturesDict({"text": Text()}), {"train": [{"text": "größe"}, {"text": "b"}]}
    )
    # an older version, which must not be chosen
    (folder / "tiny" / "de-en" / "0.9.0").mkdir()
    (folder / "tiny" / "de-en" / "0.9.0" / "dataset_info.json").write_text("{}")
    return folder


@pytest.fixture
def task(prepared, monkeypatch):
    def refuse(*_):
        raise AssertionError("looked on the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return Translation(name="tiny/de-en", folder=str(prepared), vocabulary=SplitWords())


def test_pairs_come_as_text(task):
    corpus = task.load()
    for split, name in (("train", "train"), ("valid", "validation"), ("test", "test")):
        pairs = {
            (
                corpus.vocabularies.target.decode(example.source),
                corpus.vocabularies.target.decode(example.target),
            )
            for example in corpus.splits[split]
        }
        assert pairs == {(english, german) for german, english in PAIRS[name]}
    assert "tensorflow" not in sys.modules


def test_prepared_it_is_the_same(task, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    task = replace(task, test=None)
    loaded, mapped = task.load(), prepare_corpus(task)
    assert mapped.splits == loaded.splits
    assert [*mapped.references["train"]] == loaded.references["train"]


def test_a_part_of_a_split_and_the_folder_of_the_environment(task, prepared, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(prepared))
    part = replace(task, folder=None, train="train[:2]", valid=None, test=None)
    assert [len(split) for split in part.load().splits.values()] == [2]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"name": "tiny/fr-en"},
            r"tiny/fr-en is not in .*, which has labels, raw, tiny/de-en\. .* prepare it by python "
            r".*download_and_prepare\(\)",
        ),
        ({"source": "fr"}, "tiny/de-en has de, en, and no 'fr'"),
        ({"valid": "valid"}, r"split 'valid' .*it has train, validation, test\): Unknown split"),
        ({"train": "train[x"}, r"no split 'train\[x'"),
        ({"train": "train[:0]"}, r"no split 'train\[:0\]'"),
    ],
)
def test_what_is_not_there(task, fields, message):
    with pytest.raises(UserError, match=message):
        replace(task, **fields).load()


def test_a_message_has_the_size_and_who_needs_tensorflow(tmp_path):
    for name in DOWNLOADS:
        with pytest.raises(NoCorpus) as error:
            Translation(name=name, folder=str(tmp_path)).load()
        message = str(error.value)
        assert str(tmp_path) in message
        assert f"(it downloads {DOWNLOADS[name]})" in message
        needs = name.partition("/")[0] in ("coco_captions", "lm1b")
        assert ("with TensorFlow (pip install tensorflow)" in message) == needs
    assert "tensorflow" not in sys.modules


def test_who_needs_tensorflow_is_who_uses_it():
    import tensorflow_datasets as tfds
    import tensorflow_datasets.text
    import tensorflow_datasets.translate

    for name in {corpus.partition("/")[0] for corpus in DOWNLOADS} | {"multi_nli"}:
        modules = {kind.__module__ for kind in tfds.builder_cls(name).__mro__}
        uses = any(
            hasattr(sys.modules[module], "tf")
            for module in modules
            if module.startswith("tensorflow_datasets") and ".core." not in module
        )
        assert uses == (name in NEED_TENSORFLOW), name


def test_splits_have_the_names_of_their_origin():
    wmt = Translation(name="wmt14_translate/de-en", train="train[:99]")
    names = {split: wmt.split_name(split) for split in ("train", "valid", "test")}
    assert names == {
        "train": "wmt14_translate/de-en train[:99]",
        "valid": "wmt14_translate/de-en validation (newstest2013)",
        "test": "wmt14_translate/de-en test (newstest2014)",
    }
    flickr = ParallelText(folder="multi30k", test="test2016")
    shuffled = Shuffled(task=WithTest(task=wmt, test=flickr))
    assert shuffled.split_name("test") == "multi30k/test2016"
    assert shuffled.split_name("train") == names["train"]
    assert Copy().split_name("test") == "test"


def test_labels_are_words(prepared):
    task = LabeledTfds(name="labels", folder=str(prepared), valid=2)
    corpus = task.load()
    assert corpus.sources["test"] == ["so 6", "so 7"]
    assert corpus.references["test"] == ["bad", "good"]
    assert sum(len(corpus.splits[split]) for split in ("train", "valid")) == 6
    with pytest.raises(
        UserError, match="example 1 of labels test has the label -1; labels are 0 t"
    ):
        replace(task, test="test").load()
    with pytest.raises(UserError, match=r"labels has .*, and no 'text' \(task.text\)"):
        replace(task, text="text").load()


def test_raw_text_is_a_text_a_line(prepared):
    task = RawTfds(name="raw", folder=str(prepared), train="train", valid="train[:1]", test=None)
    assert task.texts() == {"train": "größe\nb\n", "valid": "größe\n"}
    assert task.load().references == {"train": ["größe\nb\n"], "valid": ["größe\n"]}


def test_a_corpus_of_tfds_is_that_of_its_files(data, tmp_path):
    for split, name, count in (
        ("train", "train", 300),
        ("valid", "val", 9),
        ("test", "test2016", 9),
    ):
        for side in ("en", "de"):
            lines = read_lines(data / "multi30k" / f"{name}.{side}")[:count]
            (tmp_path / f"{split}.{side}").write_text("".join(f"{line}\n" for line in lines))
    words = SentencePiece(size=300)
    files = ParallelText(folder=str(tmp_path), vocabulary=words)
    splits = {"train": "train", "validation": "valid", "test": "test"}
    rows = {
        split: [{"en": pair.source, "de": pair.target} for pair in files.reader()(name)]
        for split, name in splits.items()
    }
    build("mine/de-en", tmp_path, Languages(languages=("de", "en")), rows)
    prepared = Translation(name="mine/de-en", folder=str(tmp_path), vocabulary=words)
    assert files.load() == prepared.load()


def test_rows_are_read_several_at_once(tmp_path, monkeypatch):
    rows = [{"text": str(number)} for number in range(7)]
    build("raw", tmp_path, FeaturesDict({"text": Text()}), {"train": rows})
    monkeypatch.setattr("attnjax.data.corpora.tfds.AT_ONCE", 3)
    asked = []

    def several(source, places):
        asked.append([*places])
        return original(source, places)

    original = ArrayRecordDataSource.__getitems__
    monkeypatch.setattr(ArrayRecordDataSource, "__getitems__", several)
    read = read_split(open_prepared("raw", str(tmp_path), {"text": "text"}), "train")
    assert [row["text"].decode() for row in read] == [*"0123456"]
    assert asked == [[0, 1, 2], [3, 4, 5], [6]]


def test_files_in_another_format(task, prepared, tmp_path):
    copy = tmp_path / "tiny" / "de-en" / "1.0.0"
    shutil.copytree(prepared / "tiny" / "de-en" / "1.0.0", copy)
    info = copy / "dataset_info.json"
    info.write_text(info.read_text().replace("array_record", "tfrecord"))
    with pytest.raises(UserError, match=r"has files in the format tfrecord, not array_record"):
        replace(task, folder=str(tmp_path)).load()
